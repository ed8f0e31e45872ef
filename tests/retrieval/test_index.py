import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval.index import nearest


def unit(rows: list[list[float]]) -> np.ndarray:
    array = np.array(rows, np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def test_the_nearest_come_first_with_their_cosine():
    rows = unit([[0, 1], [1, 0], [1, 1], [-1, 0]])
    found = nearest(rows[1], rows, 3)
    assert [row for row, _ in found] == [1, 2, 0]
    assert [cosine for _, cosine in found] == pytest.approx([1, 0.5**0.5, 0], abs=1e-6)


@pytest.mark.parametrize("count", [7, 40, 333])
def test_ties_come_in_row_order_also_at_the_edge(count: int):
    rows = np.tile(unit([[0.3, 0.4, 0.5, 0.1, 0.2]]), (count, 1))
    for keep in (1, 5, count):
        assert [row for row, _ in nearest(rows[0], rows, keep)] == list(range(min(keep, count)))


def test_what_differs_beyond_six_decimals_is_a_tie():
    rows = unit([[0.5, 0.75**0.5], [0.5000002, 0.75**0.5], [0.1, 1.0]])
    assert float(rows[0][0]) < float(rows[1][0])
    assert nearest(np.array([1, 0], np.float32), rows, 1) == [(0, 0.5)]


@pytest.mark.parametrize("width", [3, 64, 384])
def test_a_cosine_does_not_depend_on_the_other_rows(width: int):
    chance = np.random.default_rng(7)
    rows = unit(chance.normal(size=(200, width)).tolist())
    query = rows[11]
    alone = [nearest(query, rows[i : i + 1], 1)[0][1] for i in range(200)]
    together = dict(nearest(query, rows, 200))
    assert [together[i] for i in range(200)] == pytest.approx(alone, abs=1.5e-6)


def test_nothing_is_nearest_among_nothing():
    assert nearest(np.ones(4, np.float32), np.zeros((0, 4), np.float32), 5) == []
    assert nearest(np.ones(4, np.float32), np.ones((3, 4), np.float32), 0) == []


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 1_000))
def test_it_agrees_with_plain_sorting(count: int, keep: int, seed: int):
    chance = np.random.default_rng(seed)
    # Few distinct vectors, so that ties are common.
    rows = unit((chance.integers(0, 3, size=(count, 4)) + 0.5).tolist())
    query = unit([[1.0, 2.0, 3.0, 4.0]])[0]
    cosines = [round(float(v), 5) for v in rows.astype(np.float64) @ query]
    found = nearest(query, rows, keep)
    assert len(found) == min(count, keep)
    assert [round(c, 4) for _, c in found] == pytest.approx(
        sorted((round(c, 4) for c in cosines), reverse=True)[:keep], abs=2e-4
    )
    assert found == sorted(found, key=lambda item: (-item[1], item[0]))


@given(st.integers(1, 90), st.integers(1, 100), st.integers(0, 1_000), st.booleans())
def test_faiss_and_the_product_decide_the_same(count: int, keep: int, seed: int, few: bool):
    chance = np.random.default_rng(seed)
    plain = (
        chance.integers(0, 3, size=(count, 24)) + 0.5 if few else chance.normal(size=(count, 24))
    )
    rows = unit(plain.tolist())
    query = unit([chance.normal(size=24).tolist()])[0]
    assert nearest(query, rows, keep, faiss_from=1) == nearest(query, rows, keep, faiss_from=10**9)


def test_both_ways_agree_where_all_is_tied_and_where_nothing_is():
    tied = np.tile(unit([[0.3, 0.4, 0.5, 0.1]]), (500, 1))
    spread = unit(np.random.default_rng(3).normal(size=(500, 4)).tolist())
    for rows in (tied, spread):
        for keep in (1, 7, 500):
            found = [nearest(rows[3], rows, keep, faiss_from=limit) for limit in (1, 10**9)]
            assert found[0] == found[1]
            assert len(found[0]) == keep
