"""The terminal report, as plain text: piped, on a terminal, narrow and wide."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from harness.report._words import degradation_words
from harness.report.terminal import render
from harness.scoring import summary_document
from harness.trace import Code


def shown(
    document: dict[str, Any],
    *,
    width: int = 80,
    terminal: bool = False,
    color: bool = False,
    encoding: str = "utf-8",
) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(
        file=stream, width=width, force_terminal=terminal, no_color=not color,
        color_system="standard" if color else None, legacy_windows=False,
    )  # fmt: skip
    render(document, console)
    stream.flush()
    return raw.getvalue().decode(encoding)


PIPED = """\
Accuracy               right   accuracy   95 % interval  0         50      100 %
--------------------------------------------------------------------------------
history                 7/10     70.0 %    39.7 -  89.2  |        [-----o---]  |
news                    8/10     80.0 %    49.0 -  94.3  |          [-----o--] |
maths                  3 questions, none with known gold
all questions          15/20     75.0 %    53.1 -  88.8  |           [---o--]  |
  random                         25.0 %                  |     o               |
  longest option                 40.0 %    21.9 -  61.3  |    [---o---]        |

24 questions, 20 with known gold.
Over all 24 questions: between 62.5 % and 75.0 %,
whatever the answers that aren't known turn out to be.
1 failed: no answer, and wrong where the gold is known.
1 missing: they were to be played and have no row.

By what the answer rests on
--------------------------------------------------------------------------------
retrieved passages     15/18     83.3 %    60.8 -  94.2  |            [----o-] |
failed                   0/2      0.0 %     0.0 -  65.8  |o------------]       |

By tag
--------------------------------------------------------------------------------
invented facts          9/10     90.0 %    59.6 -  98.2  |            [-----o-]|

By how the answer was read
--------------------------------------------------------------------------------
text                   15/18     83.3 %    60.8 -  94.2  |            [----o-] |

What went less than well, in how many questions
--------------------------------------------------------------------------------
    5  a page could not be fetched
    1  passages were left out, for want of room
    1  brand new code

Seconds per question      n   median      p90      max  0                   25 s
--------------------------------------------------------------------------------
search (recorded)        23     0.41     0.90     1.20  |=                     |
generate                 23     9.50    14.25    27.00  |########=====........>|

network, recorded        23     1.50     2.90     4.00  |#==.                  |
compute                  23    10.00    15.00    28.00  |#########====........>|
together                 23    11.90    17.50    31.25  |##########=====......>|

Bars end at the budget of 25 s: # median, = p90, . max.
2 of 23 would have taken over 25 s, 1 over the 30 s allowed.
Network seconds are those recorded with the corpus, not measured now.

run folder     runs/20260101T120000Z-sample
results digest sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
"""


def test_the_piped_report_is_plain_ascii(document):
    assert shown(document) == PIPED
    assert PIPED.isascii()


def test_the_terminal_report_draws_the_same_numbers(document):
    fine = shown(document, terminal=True)
    assert (
        "history                 7/10     70.0 %    39.7 –  89.2  │        ╶─────●───╴  │" in fine
    )
    assert "│████████▒▒▒▒▒········>│" in fine
    plain = fine.translate(str.maketrans("│╶─╴●–█▒·", "|[-]o-#=."))
    assert plain == PIPED
    assert "\x1b" not in fine


def test_colour_only_adds_to_the_text(document):
    coloured = shown(document, terminal=True, color=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(document, terminal=True)


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("width", [72, 80, 97, 120, 200])
def test_lines_keep_to_the_width_and_bars_use_it(document, width, terminal):
    *lines, folder, digest = shown(document, width=width, terminal=terminal).splitlines()
    used = min(width, 120)
    assert max(map(cell_len, lines)) == used
    framed = [line for line in lines if line.endswith(("|", "│"))]
    assert len(framed) == 14
    assert all(cell_len(line) == used for line in framed)
    assert folder == "run folder     runs/20260101T120000Z-sample"
    assert digest.startswith("results digest sha256:")


def test_the_digest_is_the_last_line_and_whole_on_any_console(document):
    document["digest"] = "sha256:" + "a" * 300
    document["run"] = "runs/" + "long name " * 20
    *_, folder, digest = shown(document, width=40).splitlines()
    assert digest == f"results digest {document['digest']}"
    assert folder == f"run folder     {document['run']}".rstrip()


def test_recorded_text_can_not_steer_the_terminal_or_the_markup(document):
    document["by_tag"] = {
        "\x1b[2Jgone\r\n[red]x": document["by_tag"]["invented facts"],
        "[/]": document["by_tag"]["invented facts"],
        "\u202eright to left": document["by_tag"]["invented facts"],
    }
    output = shown(document, terminal=True)
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert "?[2Jgone??[red]x" in output
    assert "[/] " in output


def test_long_and_wide_names_keep_the_columns(document):
    group = document["by_tag"]["invented facts"]
    document["by_tag"] = {"東京の質問とその答えについて": group, "x" * 60: group, "é": group}
    lines = shown(document).splitlines()
    rows = [line for line in lines if "9/10" in line]
    assert len(rows) == 3
    assert {cell_len(line.partition("9/10")[0]) for line in rows} == {24}
    assert any("x~" in line for line in rows)


def test_a_stream_that_takes_only_ascii_gets_only_ascii(document):
    document["by_tag"] = {"Città": document["by_tag"]["invented facts"]}
    output = shown(document, terminal=True, encoding="ascii")
    assert "Citt?" in output
    assert "|        [-----o---]  |" in output


def test_live_seconds_are_not_called_recorded(document):
    document["stages"]["search"]["source"] = "live network"
    document["time"]["network_recorded"]["max_s"] = 0.0
    document["time"]["network_live"] = dict(document["time"]["network_recorded"], max_s=3.0)
    output = shown(document)
    assert "search (live)" in output
    assert "network, live" in output
    assert "recorded" not in output


def test_the_budget_sets_the_scale(document):
    document["time"]["budget_s"] = 54.0
    output = shown(document)
    assert "54 s\n" in output
    assert "|####==.....           |" in output  # generate: 9.5, 14.25 and 27 of 54 s


@pytest.mark.parametrize(
    "part",
    ["run", "digest", "missing", "baselines", "by_category", "by_basis", "by_tag", "by_parse",
     "degradations", "stages", "time", "accuracy"],
)  # fmt: skip
def test_missing_parts_are_left_out(document, part):
    del document[part]
    output = shown(document)
    assert output
    assert "None" not in output
    assert "nan" not in output
    if part != "digest":
        assert output.splitlines()[-1].startswith("results digest")


def test_an_empty_run_still_reports():
    output = shown({**summary_document([]), "digest": "sha256:0"})
    assert "all questions          0 questions, none with known gold" in output
    assert "0 questions, 0 with known gold." in output
    assert output.endswith("\n\nresults digest sha256:0\n")


def test_all_gold_known_needs_no_bounds(document):
    document["accuracy"] |= {"questions": 20, "failed": 0}
    document["missing"] = 0
    output = shown(document)
    assert "Over all" not in output
    assert "failed:" not in output
    assert "missing:" not in output


def test_every_degradation_has_its_words():
    words = [degradation_words(code) for code in Code]
    assert len(set(words)) == len(words)
    for code, text in zip(Code, words, strict=True):
        assert text != code.value.replace("_", " ")
        assert text.isascii()
        assert len(text) <= 60
