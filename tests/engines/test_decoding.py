"""Greedy decoding over logits: where a text ends, and what a candidate is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.engines._decoding import (
    best_token,
    candidate_logprobs,
    check_finite,
    continue_greedily,
    first_token,
)
from harness.errors import EngineError

END = 0


def follow(text: str, **options):
    """Continue with a model whose tokens are the numbers of characters."""
    tokens = [ord(c) for c in text] + [END]
    asked: list[int] = []

    def step(token: int) -> int:
        asked.append(token)
        return tokens[len(asked)]

    found = continue_greedily(
        tokens[0],
        step=step,
        decode=lambda ids: "".join(map(chr, ids)),
        ends=lambda token: token == END,
        **options,
    )
    return found, len(asked)


def test_the_end_token_ends_and_is_no_part_of_the_text():
    found, asked = follow("abc", max_tokens=9)
    assert (found.text, found.tokens, found.stopped) == ("abc", 3, "end")
    assert asked == 3


def test_the_limit_cuts_and_no_token_is_computed_for_nothing():
    found, asked = follow("abcdef", max_tokens=3)
    assert (found.text, found.tokens, found.stopped) == ("abc", 3, "limit")
    assert asked == 2


def test_a_stop_string_is_cut_off_wherever_it_begins():
    found, _ = follow("one\n\ntwo", max_tokens=9, stop=["\n\n", "two"])
    assert (found.text, found.tokens, found.stopped) == ("one", 5, "stop")


def test_the_first_of_several_stop_strings_counts_and_an_empty_one_does_not():
    found = continue_greedily(
        1, step=lambda t: t + 1, decode=lambda ids: "xAyB", ends=lambda t: False,
        max_tokens=5, stop=["", "B", "A"],
    )  # fmt: skip
    assert (found.text, found.stopped) == ("x", "stop")


def test_an_answer_may_be_empty():
    found, asked = follow("", max_tokens=5)
    assert (found.text, found.tokens, found.stopped, asked) == ("", 0, "end", 0)


def test_half_a_character_at_the_end_is_dropped():
    raw = "né".encode()[:2]
    found = continue_greedily(
        0, step=lambda t: t + 1, decode=lambda ids: raw[: len(ids)].decode("utf-8", "replace"),
        ends=lambda t: False, max_tokens=2,
    )  # fmt: skip
    assert found.text == "n"


def test_of_equally_probable_tokens_the_first_is_taken():
    assert best_token(np.array([1.0, 3.0, 3.0, 2.0], np.float32)) == 1


def spell(text: str) -> list[int]:
    return [ord(c) - 97 for c in text.replace("\n", "a")]


@given(
    st.lists(st.floats(-60_000, 60_000, width=32), min_size=3, max_size=26),
    st.lists(st.sampled_from("bcdefgh"), min_size=1, max_size=5),
)
def test_values_are_log_probabilities_of_the_whole_vocabulary(values, candidates):
    logits = np.array(values, np.float32)
    found = candidate_logprobs(logits, candidates, spell)
    exact = logits.astype(np.float64)
    total = np.logaddexp.reduce(exact)
    for text, value in found.items():
        token = spell(text)[0]
        expected = exact[token] - total if token < len(exact) else exact.min() - total
        assert value <= 0
        assert value == pytest.approx(min(0.0, expected), abs=1e-6)


def test_all_candidates_together_are_certain():
    logits = np.array([0.5, -1.0, 2.0], np.float32)
    found = candidate_logprobs(logits, ["a", "b", "c"], spell)
    assert math.fsum(map(math.exp, found.values())) == pytest.approx(1.0)


def test_a_candidate_of_several_tokens_counts_by_its_first_and_an_empty_one_by_the_least():
    logits = np.array([0.5, -1.0, 2.0], np.float32)
    found = candidate_logprobs(logits, ["b", "ba", "", "c"], spell)
    assert found["ba"] == found["b"] == found[""]
    assert found["c"] > found["b"]


def test_a_candidate_is_read_as_it_continues_a_prompt():
    def with_blank(text: str) -> list[str]:  # the way llama's tokenizer begins a text
        return ["_", *text]

    assert first_token(with_blank, "B") == "B"
    assert first_token(list, "B") == "B"


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_what_is_not_a_number_is_an_error_and_no_choice(odd):
    with pytest.raises(EngineError, match="not a number"):
        check_finite(np.array([1.0, odd], np.float32))
