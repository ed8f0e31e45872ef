import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval.protocol import Scale
from harness.retrieval.rerank import (
    COSINE,
    MAXSIM,
    MAXSIM_OPTIONS,
    CosineReranker,
    MaxSimReranker,
)
from harness.retrieval.threshold import cutoff, floors_in_use, floors_without_use

SCALE = Scale("test", noise=0.2, floor=0.5)


@pytest.mark.parametrize(("threshold", "expected"), [(0, 0.2), (0.25, 0.4), (0.5, 0.6), (1, 1.0)])
def test_it_is_a_share_of_the_way_from_noise_to_the_best(threshold: float, expected: float):
    assert cutoff(1.0, SCALE, threshold=threshold, floors={}) == expected


def test_under_the_floor_nothing_is_kept():
    assert cutoff(0.499999, SCALE, threshold=0.5, floors={}) is None
    assert cutoff(0.5, SCALE, threshold=0.5, floors={}) == 0.35


def test_a_floor_of_ones_own_replaces_the_scales():
    assert cutoff(0.6, SCALE, threshold=0.5, floors={"test": 0.61}) is None
    assert cutoff(0.1, SCALE, threshold=0.5, floors={"test": 0.05}) is not None


def test_a_floor_of_another_scale_is_not_used():
    assert cutoff(0.6, SCALE, threshold=0.5, floors={"cosine": 9.0}) is not None


@given(
    st.floats(-1, 3).map(lambda x: round(x, 6)),
    st.floats(0, 1),
    st.sampled_from([SCALE, COSINE, MAXSIM, MAXSIM_OPTIONS]),
)
def test_the_best_always_passes_its_own_threshold(best: float, threshold: float, scale: Scale):
    needed = cutoff(best, scale, threshold=threshold, floors={scale.name: -9})
    assert needed is not None
    assert needed <= best


@pytest.mark.parametrize("scale", [COSINE, MAXSIM, MAXSIM_OPTIONS])
def test_every_scale_has_its_floor_above_its_noise(scale: Scale):
    assert 0 < scale.noise < scale.floor


def test_floors_of_other_scales_are_told():
    floors = {"cosine": 0.4, "test": 0.1, "another": 0.2}
    assert floors_without_use(floors, CosineReranker()) == ("another", "test")
    assert floors_in_use(floors, CosineReranker()) == {"cosine": 0.4}
    assert floors_in_use({}, MaxSimReranker()) == {
        scale.name: scale.floor for scale in (MAXSIM, MAXSIM_OPTIONS)
    }
