from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from harness.report._drawing import Pen

PLAIN, FINE = Pen(80, fine=False), Pen(80, fine=True)
PENS = st.sampled_from([PLAIN, FINE])
SHARES = st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted)
WIDTHS = st.integers(12, 90)


def test_whiskers_at_known_places():
    assert PLAIN.whisker(0.5, 0.0, 1.0, 13) == "|[----o----]|"
    assert PLAIN.whisker(0.0, 0.0, 0.2, 13) == "|o-]        |"
    assert PLAIN.whisker(1.0, 1.0, 1.0, 13) == "|          o|"
    assert FINE.whisker(0.5, 0.3, 0.8, 13) == "│   ╶─●──╴  │"
    assert PLAIN.scale(13) == "0    50 100 %"


@given(PENS, SHARES, WIDTHS)
def test_a_whisker_holds_its_point_inside_its_frame(pen, shares, width):
    lower, estimate, upper = shares
    drawn = pen.whisker(estimate, lower, upper, width)
    assert len(drawn) == width
    assert drawn.count("●" if pen.fine else "o") == 1
    assert drawn[0] == drawn[-1]
    ends = drawn[1:-1]
    assert len(ends.strip()) <= round(upper * (width - 3)) - round(lower * (width - 3)) + 1


def test_bars_at_known_lengths():
    assert PLAIN.bar(2.0, 5.0, 8.0, 10.0, 12) == "|##===...  |"
    assert PLAIN.bar(0.0, 0.0, 0.0, 10.0, 12) == "|          |"
    assert PLAIN.bar(10.0, 10.0, 10.0, 10.0, 12) == "|##########|"
    assert PLAIN.bar(4.0, 6.0, 11.0, 10.0, 12) == "|####==...>|"
    assert FINE.bar(20.0, 20.0, 20.0, 10.0, 12) == "│█████████>│"


@given(PENS, st.lists(st.floats(0, 1e6), min_size=3, max_size=3).map(sorted), WIDTHS)
def test_a_bar_fills_its_frame_and_tells_what_goes_beyond(pen, seconds, width):
    drawn = pen.bar(*seconds, 25.0, width)
    assert len(drawn) == width
    assert drawn.endswith((">|", ">│")) == (seconds[2] > 25.0)


@given(st.text(max_size=30), st.integers(2, 25))
def test_cells_have_their_width_whatever_the_text(text, width):
    assert cell_len(PLAIN.cell(text, width)) == width
    assert PLAIN.cell(text, width).isprintable()
    assert Pen(80, fine=False, encodable=False).cell(text, width).isascii()
