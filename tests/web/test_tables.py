"""Rows of a table stand alone; nothing else is touched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.web.tables import spell_out_tables

ALBUMS = """Studio albums
| Year | Album | Chart |
|---|---|---|
| 2014 | Brine Hymns | 19 |
| 2017 | Lantern Tax | |
After the table."""


def test_each_row_says_what_its_cells_are():
    assert spell_out_tables(ALBUMS).split("\n") == [
        "Studio albums",
        "Year: 2014; Album: Brine Hymns; Chart: 19.",
        "Year: 2017; Album: Lantern Tax.",
        "After the table.",
    ]


def test_a_head_with_an_empty_corner_and_rows_of_other_lengths():
    text = "| | Length |\n|---|---|\n| Female | 41.2 | kept |\n| Male |"
    assert spell_out_tables(text).split("\n") == ["Female; Length: 41.2; kept.", "Male."]


def test_two_tables_in_a_row_and_an_empty_row():
    text = "| A |\n|---|\n| 1 |\n|  |\n\n| B |\n|:--:|\n| 2 |"
    assert spell_out_tables(text).split("\n") == ["A: 1.", "", "", "B: 2."]


def test_bars_that_are_no_table_stay():
    for text in ("| a | b |", "a | b\n---|---\n1 | 2", "|---|---|\n| 1 | 2 |", "x || y", "|", ""):
        assert spell_out_tables(text) == text


@given(st.lists(st.lists(st.sampled_from("pqrs"), min_size=2, max_size=2), min_size=1, max_size=5))
def test_every_cell_is_said_with_its_head(rows):
    table = "| X | Y |\n|---|---|\n" + "\n".join(f"| {a} | {b} |" for a, b in rows)
    assert spell_out_tables(table).split("\n") == [f"X: {a}; Y: {b}." for a, b in rows]


@given(st.text(max_size=300))
def test_text_without_bars_is_untouched(text):
    plain = text.replace("|", "/")
    assert spell_out_tables(plain) == plain
