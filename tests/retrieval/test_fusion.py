import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval.fusion import ABSENT, K, ranks, reciprocal_rank_fusion

SCORES = st.lists(st.integers(-3, 3).map(float), max_size=30)


def test_ranks_count_from_the_best_and_ties_share():
    assert ranks([0.2, 0.9, 0.5, 0.9]) == [3, 0, 2, 0]
    assert ranks([0.5, 0.5000000001]) == [0, 0]
    assert ranks([0.0, 2.0, 1.0], above=0.0) == [ABSENT, 0, 1]
    assert ranks([]) == []


def test_it_is_the_papers_sum():
    fused = reciprocal_rank_fusion([(1.0, [0, 1, 2]), (0.5, [2, ABSENT, 0])])
    assert K == 60
    assert fused == pytest.approx([1 / 61 + 0.5 / 63, 1 / 62, 1 / 63 + 0.5 / 61])
    assert reciprocal_rank_fusion([]) == []


@given(SCORES)
def test_one_ranking_alone_keeps_its_order(scores: list[float]):
    fused = reciprocal_rank_fusion([(1.0, ranks(scores))])
    order = sorted(range(len(scores)), key=lambda item: -scores[item])
    assert sorted(range(len(scores)), key=lambda item: -fused[item]) == order


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), max_size=30), st.randoms())
def test_items_may_come_in_any_order(pairs: list[tuple[int, int]], chance):
    def fuse(some: list[tuple[int, int]]) -> list[float]:
        first, second = [float(a) for a, _ in some], [float(b) for _, b in some]
        return reciprocal_rank_fusion([(1.0, ranks(first)), (0.5, ranks(second, above=0.0))])

    places = list(range(len(pairs)))
    chance.shuffle(places)
    fused = fuse(pairs)
    assert fuse([pairs[place] for place in places]) == [fused[place] for place in places]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=30))
def test_better_in_every_ranking_is_better_fused(pairs: list[tuple[int, int]]):
    first, second = zip(*pairs, strict=True)
    fused = reciprocal_rank_fusion([(1.0, first), (0.5, second)])
    for a, (one, two) in enumerate(pairs):
        for b, (other_one, other_two) in enumerate(pairs):
            if one < other_one and two < other_two:
                assert fused[a] > fused[b]


@given(SCORES)
def test_a_ranking_of_no_weight_has_no_say(scores: list[float]):
    places = ranks(scores)
    assert reciprocal_rank_fusion([(1.0, places), (0.0, places[::-1])]) == (
        reciprocal_rank_fusion([(1.0, places)])
    )
