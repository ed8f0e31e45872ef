from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scoring import baselines, wilson


def test_random_is_the_mean_share_of_right_options(make_row):
    rows = [
        make_row(options=["red", "blue"]),
        make_row(options=["red", "blue", "green", "yellow"]),
        make_row(options=["red", "blue", "red", "green"]),  # identical options count twice
    ]
    found = baselines(rows).random
    assert found.n == 3
    assert found.estimate == pytest.approx((1 / 2 + 1 / 4 + 1 / 2) / 3)
    assert (found.lower, found.upper) == (None, None)  # an expectation has no sampling error


def test_longest_option_shares_credit_on_ties(make_row):
    rows = [
        make_row(gold_text="yellow"),  # alone the longest
        make_row(gold_text="red"),
        make_row(options=["red", "tan", "sky"]),  # a tie of three
        make_row(options=["gold!", "gold!", "x"], gold_text="gold!"),  # identical and both right
    ]
    found = baselines(rows).longest_option
    successes = 1 + 0 + 1 / 3 + 1
    assert found.n == 4
    assert found.estimate == pytest.approx(successes / 4)
    assert found.lower == pytest.approx(wilson(successes, 4).lower)
    assert found.upper == pytest.approx(wilson(successes, 4).upper)


def test_only_known_gold_is_played_and_failed_questions_too(make_row, kinds):
    found = baselines([make_row(kind=kind) for kind in kinds])
    assert found.random.n == found.longest_option.n == 3


def test_length_is_counted_in_characters(make_row):
    row = make_row(options=["ééé", "abcd"], gold_text="abcd")  # the first has more bytes
    assert baselines([row]).longest_option.estimate == 1.0


def test_gold_that_is_not_offered_can_not_be_guessed(make_row):
    found = baselines([make_row(gold_text="violet")])
    assert found.random.estimate == found.longest_option.estimate == 0.0


def test_no_known_gold(make_row):
    found = baselines([make_row(kind="unknown")])
    assert (found.random.n, found.random.estimate) == (0, None)
    assert (found.longest_option.n, found.longest_option.estimate) == (0, None)


OPTIONS = st.lists(st.text("ab", max_size=3), min_size=2, max_size=8)


@given(st.lists(OPTIONS, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_baselines_are_shares_and_do_not_depend_on_order(make_row, offers, dice):
    rows = [make_row(options=offer, gold_text=dice.choice(offer)) for offer in offers]
    found = baselines(rows)
    assert 0 < found.random.estimate <= 1
    assert 0 <= found.longest_option.estimate <= 1
    assert found.longest_option.lower <= found.longest_option.estimate
    assert found.longest_option.estimate <= found.longest_option.upper
    for row in rows:
        dice.shuffle(row["options"])
    assert baselines(dice.sample(rows, len(rows))) == found
