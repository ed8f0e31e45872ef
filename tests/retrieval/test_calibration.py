import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval.calibration import PAIRS, calibrate, join
from harness.retrieval.rerank import COSINE, COSINE_WEIGHT, MAXSIM, maxsim


def overlap(query: str, passage: str) -> float:
    asked, told = (set(re.findall(r"\w{4,}", text.lower())) for text in (query, passage))
    return float(len(asked & told))


def test_the_built_in_pairs_answer_their_questions():
    for pair in PAIRS:
        assert len(set(pair.options)) == len(pair.options) == 4
        named = [o for o in pair.options if o.lower().rstrip("s") in pair.passage.lower()]
        assert named, pair.question


def test_noise_related_and_floor_are_what_the_rule_says():
    found = calibrate(overlap)
    assert found.usable
    assert found.noise < found.floor < found.related
    assert found.floor == pytest.approx((found.noise + found.related) / 2, abs=1e-3)
    assert found.told_apart >= 8


def test_options_are_read_when_they_are_asked_along():
    seen: list[str] = []
    calibrate(lambda query, passage: seen.append(query) or 0.0, joined=True)
    assert set(seen) == {join(pair.question, pair.options) for pair in PAIRS}


def test_scores_that_say_nothing_are_not_usable():
    assert not calibrate(lambda query, passage: 0.0).usable
    assert not calibrate(lambda query, passage: -overlap(query, passage)).usable


@given(st.floats(0.01, 100), st.floats(-50, 50))
def test_the_floor_moves_with_the_scale(factor: float, shift: float):
    plain = calibrate(overlap)
    moved = calibrate(lambda query, passage: factor * overlap(query, passage) + shift)
    assert moved.told_apart == plain.told_apart
    assert moved.floor == pytest.approx(factor * plain.floor + shift, abs=2e-3)


@pytest.mark.models
def test_the_rule_lands_near_the_floors_that_were_measured(real_encoder):
    def cosine(query: str, passage: str) -> float:
        asked, told = real_encoder.encode([query, passage])
        return float(asked.pooled @ told.pooled)

    def mixed(query: str, passage: str) -> float:
        asked, told = real_encoder.encode([query, passage])
        return maxsim(asked.tokens, told.tokens) + COSINE_WEIGHT * cosine(query, passage)

    for score, scale in ((cosine, COSINE), (mixed, MAXSIM)):
        found = calibrate(score)
        assert found.told_apart == found.questions
        assert found.floor == pytest.approx(scale.floor, abs=0.05)
