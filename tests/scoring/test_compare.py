"""Whole comparisons: recalculated by others, and what must not change them."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from harness.errors import BadInputError
from harness.scoring.compare import Comparison, Design, compare_all, compare_runs, flips
from harness.scoring.comparison_document import comparison_document, pairs_csv
from harness.scoring.run_table import load_run, table_of_rows

BEFORE = "RRWWR RWRWW RRRWR FWRWR RRWWR ??RWR WRRWW RRWRR"
AFTER_ = "RRRWR RRRWR RWRRR RWRWR RRRFR ?RRRR WRRRW RRWRR"


@pytest.fixture
def compared(runs) -> Any:
    def give(a: Any, b: Any, **options: Any) -> Comparison:
        sides = [runs.rows(side) if isinstance(side, str) else side for side in (a, b)]
        tables = [table_of_rows(side, name) for side, name in zip(sides, "AB", strict=True)]
        return compare_runs(*tables, **options)

    return give


def test_an_independent_calculation_from_the_files(runs, tmp_path: Path):
    """Everything again with polars, scipy and statsmodels alone, from two run folders."""
    paths = [
        runs.write_run(tmp_path / name, runs.rows(pattern))
        for name, pattern in (("before", BEFORE), ("after", AFTER_))
    ]
    found = comparison_document(compare_all([load_run(path) for path in paths]))["comparisons"][0]

    a, b = (pl.read_parquet(path / "answers.parquet") for path in paths)
    both = a.join(b, on="question_id", suffix="_b")
    # Gold that one run knows judges both: question 26 is known in the second run only.
    both = both.with_columns(gold=pl.coalesce("gold_text", "gold_text_b")).filter(
        pl.col("gold").is_not_null()
    )
    right = both.select(
        "category",
        a=(pl.col("answer_text") == pl.col("gold")).fill_null(False),
        b=(pl.col("answer_text_b") == pl.col("gold")).fill_null(False),
    )
    check(found["overall"], right)
    assert (found["questions"], found["known"], found["open_truth"]) == (40, 39, 1)
    p_values = []
    for name, group in right.group_by("category", maintain_order=True):
        check(found["groups"][name[0]], group)
        p_values.append(found["groups"][name[0]]["p"])
    adjusted = [
        found["groups"][name]["p_adjusted"]
        for name in right["category"].unique(maintain_order=True)
    ]
    assert adjusted == pytest.approx(list(multipletests(p_values, method="holm")[1]))
    assert [flip["change"] for flip in found["flips"]].count("lost") == found["overall"]["lost"]
    assert (
        len(found["flips"]) == found["flipped"] == right.filter(pl.col("a") != pl.col("b")).height
    )


def check(found: dict[str, Any], right: pl.DataFrame) -> None:
    a, b = right["a"].to_numpy(), right["b"].to_numpy()
    table = np.array([[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]])
    assert [found[key] for key in ("both", "lost", "gained", "neither")] == table.ravel().tolist()
    for side, verdicts in (("accuracy_a", a), ("accuracy_b", b)):
        low, high = proportion_confint(verdicts.sum(), len(a), method="wilson")
        assert found[side]["estimate"] == pytest.approx(verdicts.mean())
        assert (found[side]["lower"], found[side]["upper"]) == pytest.approx((low, high))
    lost, gained = int(table[0, 1]), int(table[1, 0])
    if lost + gained:
        exact = mcnemar(table, exact=True).pvalue
        halved = exact - stats.binom.pmf(min(lost, gained), lost + gained, 0.5)
        assert found["p"] == pytest.approx(1.0 if lost == gained else halved)
    assert found["difference"] == pytest.approx(b.mean() - a.mean())
    # Every difference inside Tango's interval has a score within the quantile, none outside.
    for limit, sign in ((found["lower"], 1), (found["upper"], -1)):
        assert sign * score(lost, gained, len(a), limit) == pytest.approx(stats.norm.ppf(0.975))


def score(lost: int, gained: int, n: int, difference: float) -> float:
    """Tango's statistic by searching the nuisance share where the likelihood is flat."""
    from scipy.optimize import brentq

    rest = n - lost - gained

    def slope(q: float) -> float:
        found = -2 * rest / (1 - 2 * q - difference)
        found += lost / q if lost else 0.0
        return found + (gained / (q + difference) if gained else 0.0)

    low, high = max(0.0, -difference) + 1e-12, (1 - difference) / 2 - 1e-12
    share = brentq(slope, low, high, xtol=1e-14) if slope(low) > 0 else low
    return (gained - lost - n * difference) / (n * (2 * share + difference - difference**2)) ** 0.5


def test_clustered_runs_are_tested_by_game(compared, runs):
    a = [{**row, "game": f"g{n // 4}"} for n, row in enumerate(runs.rows("RRRR WWWW" * 6))]
    b = runs.rows("RRRR RRRR WWWW WWWW RRRR RRRR RRRR RRRR RRRW WWWR RRRR RRRR")
    found = compared(a, b).overall
    assert found.clusters == 12
    assert found.method.startswith("cluster bootstrap, seed 0, widened")
    assert found.test == "swapping within clusters, mid-p"
    apart = compared(runs.rows("RRRR WWWW" * 6), b).overall
    assert apart.difference == found.difference
    assert apart.p < found.p
    assert found.lower < apart.lower
    assert found.upper > apart.upper
    assert found.detectable is None or found.detectable > apart.detectable
    assert found.design_effect > 2


def test_games_of_one_question_change_nothing(compared, runs):
    a, b = "RRWWR RWRWW", "RRRWW RWRRR"
    games = [{**row, "game": row["question_id"]} for row in runs.rows(a)]
    assert compared(games, b).overall == compared(a, b).overall
    assert compared(games, b).groups == compared(a, b).groups


def test_games_that_agree_everywhere_do_not_prove_the_runs_equal(compared, runs):
    a = [{**row, "game": f"g{n // 4}"} for n, row in enumerate(runs.rows("RRWR" * 10))]
    found = compared(a, "RRWR" * 10).overall
    assert found.lower < -0.2
    assert found.upper > 0.2
    assert found.p == 1.0
    assert found.noninferior == "open"


def test_non_inferiority(compared):
    same = "RRWR" * 150
    assert compared(same, same, design=Design(margin=0.02)).overall.noninferior == "shown"
    assert compared(same, same, design=Design(margin=0.001)).overall.noninferior == "open"
    worse = compared("R" * 200, "RRRW" * 50, design=Design(margin=0.02)).overall
    assert worse.noninferior == "refuted"


@pytest.mark.parametrize("letter", ["R", "W", "F"])
def test_all_right_all_wrong_all_failed(compared, letter: str):
    found = compared(letter * 12, letter * 12)
    assert found.overall.difference == 0.0
    assert found.overall.p == 1.0
    assert found.overall.lower == -found.overall.upper < 0
    assert found.overall.n == 12


def test_no_questions_and_no_truth(compared, runs):
    nothing = compared("", "")
    assert nothing.overall.difference is None
    assert (nothing.bound_low, nothing.bound_high) == (-1.0, 1.0)
    assert nothing.groups == {}
    unknown = compared("????", "????")
    assert unknown.overall.n == 0
    assert (unknown.open_truth, unknown.bound_low, unknown.bound_high) == (4, 0.0, 0.0)
    for comparison in (nothing, unknown):
        assert comparison_document([comparison])["comparisons"][0]["overall"]["detectable"] is None


def test_what_is_not_known_widens_the_bounds(compared, runs):
    a = [*runs.rows("RW"), runs.row(2, "?"), runs.row(3, "?", answer_text="green")]
    b = [*runs.rows("RR"), runs.row(2, "?", answer_text="blue"), runs.row(3, "?")]
    b[3]["answer_text"] = None
    found = compared(a, b)
    # One gained.  Question 2: either could be right.  Question 3: only A's answer could.
    assert (found.bound_low, found.bound_high) == ((1 - 1 - 1) / 4, (1 + 1) / 4)


def test_groupings(compared, runs):
    a, b = runs.rows("RWRWR RWWRW"), runs.rows("WWRRR RRWRW")
    assert list(compared(a, b).groups) == ["history", "maths", "news"]
    assert list(compared(a, b, by="level").groups) == ["1", "2", "3", "4", "5"]
    tagged = compared(a, b, by="tag").groups
    assert list(tagged) == ["even"]
    assert tagged["even"].n == 5
    a[0]["tags"] = ["even", "even", "odd"]
    assert {name: group.n for name, group in compared(a, b, by="tag").groups.items()} == {
        "even": 5,
        "odd": 1,
    }
    no_level = [{**row, "level": None} for row in a]
    assert list(compared(no_level, b, by="level").groups) == ["no level"]
    with pytest.raises(BadInputError, match="can't be grouped by 'colour'"):
        compared(a, b, by="colour")


def test_bases_describe_each_run(compared, runs):
    a, b = runs.rows("RRF"), runs.rows("RWR")
    b[1]["basis"] = "snippets only"
    lines = [asdict(line) for line in compared(a, b).bases]
    assert [(x["basis"], x["right_a"], x["n_a"], x["right_b"], x["n_b"]) for x in lines] == [
        ("retrieved passages", 2, 2, 2, 2),
        ("snippets only", 0, 0, 0, 1),
        ("failed", 0, 1, 0, 0),
    ]


def test_flips_of_either_kind_are_given(compared):
    found = compared("RRRRRRWW", "WWWWWWRR")
    assert [flip["change"] for flip in flips(found)] == ["lost"] * 6 + ["gained"] * 2
    assert [flip["change"] for flip in flips(found, 4)] == ["lost", "lost", "gained", "gained"]
    assert [flip["change"] for flip in flips(found, 7)] == ["lost"] * 5 + ["gained"] * 2
    assert flips(found, 0) == []
    assert flips(compared("RR", "RR"), 5) == []


def test_several_runs_are_adjusted_for_being_several(runs):
    tables = [
        table_of_rows(runs.rows(pattern), name)
        for name, pattern in (
            ("base", "RW" * 20),
            ("same", "RW" * 20),
            ("better", "RRRW" * 10),
            ("worse", "RWWW" * 10),
        )
    ]
    found = compare_all(tables)
    assert [comparison.names for comparison in found] == [("A", "B"), ("A", "C"), ("A", "D")]
    expected = multipletests([each.overall.p for each in found], method="holm")[1]
    assert [each.overall.p_adjusted for each in found] == pytest.approx(list(expected))
    assert compare_all(tables[:2])[0].overall.p_adjusted is None
    for wrong in (tables[:1], tables * 7):
        with pytest.raises(BadInputError, match="Between 2 and 26"):
            compare_all(wrong)


@pytest.mark.parametrize("wrong", [{"margin": -0.1}, {"margin": 1.0}, {"confidence": 1.0}])
def test_nonsense_designs(compared, wrong: dict[str, float]):
    with pytest.raises(BadInputError, match="must lie between"):
        compared("R", "R", design=Design(**wrong))


def test_csv_has_a_line_a_pair(compared):
    lines = pairs_csv([compared("RW?", "RR?")]).splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("A,B,q000,q000,history,1,known,red,red,true,")


PATTERN = st.text("RWF?-", min_size=1, max_size=30)
QUICK = settings(max_examples=25, deadline=None)


@QUICK
@given(PATTERN, PATTERN, st.booleans())
def test_swapping_the_runs_mirrors_everything(runs, a: str, b: str, games: bool):
    def table(pattern: str, name: str) -> Any:
        rows = runs.rows(pattern)
        if games:
            rows = [{**row, "game": row["question_id"][:-1]} for row in rows]
        return table_of_rows(rows, name)

    there = compare_runs(table(a, "a"), table(b, "b"))
    back = compare_runs(table(b, "b"), table(a, "a"))
    assert (there.overall.lost, there.overall.gained) == (back.overall.gained, back.overall.lost)
    assert there.overall.p == pytest.approx(back.overall.p)
    assert there.overall.accuracy_a == back.overall.accuracy_b
    assert there.bound_low == pytest.approx(-back.bound_high)
    assert there.overall.lower == pytest.approx(-back.overall.upper, abs=0.02)
    if not there.pairing.clustered:
        assert there.overall.lower == -back.overall.upper
    for name, group in there.groups.items():
        assert group.p_adjusted == pytest.approx(back.groups[name].p_adjusted)
    assert there.pairing.only_a.rows() == back.pairing.only_b.rows()
    for line, mirrored in zip(there.times, back.times, strict=True):
        assert (line.n, line.only_a) == (mirrored.n, mirrored.only_b)


@QUICK
@given(PATTERN, PATTERN, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(runs, a: str, b: str, dice: random.Random):
    def document(shuffle: bool) -> dict[str, Any]:
        tables = []
        for name, pattern in (("a", a), ("b", b)):
            rows = runs.rows(pattern)
            if shuffle:
                dice.shuffle(rows)
            tables.append(table_of_rows(rows, name))
        return comparison_document(compare_all(tables))

    assert document(shuffle=True) == document(shuffle=False)


@QUICK
@given(PATTERN, PATTERN, st.text("RWF", max_size=12))
def test_questions_on_which_runs_agree_leave_mcnemar_alone(runs, a: str, b: str, more: str):
    width = max(len(a), len(b))
    short = compare_runs(table_of_rows(runs.rows(a), "a"), table_of_rows(runs.rows(b), "b"))
    longer = [table_of_rows(runs.rows(x.ljust(width, "-") + more), "x") for x in (a, b)]
    long = compare_runs(*longer)
    assert long.overall.p == short.overall.p
    assert long.overall.n == short.overall.n + len(more)


@QUICK
@given(PATTERN, PATTERN)
def test_every_row_is_accounted_for(runs, a: str, b: str):
    tables = [table_of_rows(runs.rows(pattern), "x") for pattern in (a, b)]
    found = compare_runs(*tables)
    for table, alone in zip(tables, (found.pairing.only_a, found.pairing.only_b), strict=True):
        assert table.frame.height == found.questions + alone.height
    assert found.questions == found.known + found.open_truth + found.two_truths
    assert sum(group.n for group in found.groups.values()) == found.known == found.overall.n
    assert -1 <= found.bound_low <= found.bound_high <= 1
