import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval import Encoding
from harness.retrieval.protocol import Asked, Candidate
from harness.retrieval.rerank import COSINE, CosineReranker, MaxSimReranker, maxsim


def encoding(seed: int, tokens: int) -> Encoding:
    rows = np.random.default_rng(seed).normal(size=(tokens + 1, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Encoding(rows[0], rows[1:])


def by_hand(query: Encoding, passage: Encoding) -> float:
    best = []
    for q in query.tokens.tolist():
        dots = [sum(a * b for a, b in zip(q, p, strict=True)) for p in passage.tokens.tolist()]
        best.append(max(dots))
    return sum(best) / len(best)


@given(st.integers(0, 500), st.integers(1, 9), st.integers(1, 9))
def test_maxsim_is_the_mean_of_the_best_cosines(seed: int, left: int, right: int):
    query, passage = encoding(seed, left), encoding(seed + 1, right)
    assert maxsim(query.tokens, passage.tokens) == pytest.approx(by_hand(query, passage), abs=1e-5)


def asked(question: Encoding, options: list[Encoding]) -> Asked:
    return Asked("question", tuple("o" for _ in options), question, tuple(options))


def test_the_score_is_the_documented_sum():
    question, passage = encoding(1, 6), encoding(2, 9)
    options = [encoding(3, 2), encoding(4, 1)]
    candidates = [Candidate("passage", passage, 0.3)]
    plain = by_hand(question, passage) + 0.5 * 0.3
    scorer = MaxSimReranker()
    assert scorer.score(asked(question, []), candidates) == pytest.approx([plain], abs=1e-5)
    best = max(by_hand(option, passage) for option in options)
    for order in (options, options[::-1]):
        assert scorer.score(asked(question, order), candidates) == pytest.approx(
            [plain + 0.5 * best], abs=1e-5
        )
    assert CosineReranker().score(asked(question, options), candidates) == [0.3]


def test_scores_have_six_decimals():
    candidates = [Candidate("passage", encoding(2, 9), 0.1234567)]
    (score,) = MaxSimReranker().score(asked(encoding(1, 6), []), candidates)
    assert score == round(score, 6)


def test_a_text_without_tokens_scores_nothing():
    assert maxsim(encoding(1, 0).tokens, encoding(2, 3).tokens) == 0.0
    assert maxsim(encoding(1, 3).tokens, encoding(2, 0).tokens) == 0.0


def test_each_way_of_ranking_has_a_scale_of_its_own():
    none, maxsims = CosineReranker(), MaxSimReranker()
    assert none.scale(options=True) == none.scale(options=False) == COSINE
    assert maxsims.scale(options=False).name == "maxsim+0.5*cosine"
    assert maxsims.scale(options=True).name == "maxsim+0.5*cosine+0.5*option"
