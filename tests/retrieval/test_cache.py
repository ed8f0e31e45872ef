import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval import Encoding
from harness.retrieval.cache import VectorCache


def encoding(floats: int) -> Encoding:
    return Encoding(np.zeros(1, np.float32), np.zeros((floats - 1, 1), np.float32))


def test_what_is_read_back_is_what_was_put():
    cache, kept = VectorCache(100), encoding(5)
    cache.put("a", kept)
    assert cache.get("a") is kept
    assert cache.get("b") is None


def test_the_least_recently_used_goes_first():
    cache = VectorCache(60)
    for key in "abc":
        cache.put(key, encoding(5))
    cache.get("a")
    cache.put("d", encoding(5))
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]


def test_what_is_larger_than_the_cache_is_not_kept():
    cache = VectorCache(60)
    cache.put("a", encoding(5))
    cache.put("b", encoding(16))
    assert cache.get("b") is None
    assert cache.get("a") is not None


def test_without_room_nothing_is_kept():
    cache = VectorCache(0)
    cache.put("a", encoding(1))
    assert len(cache) == 0


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 30)), max_size=60))
def test_the_bound_holds_and_the_sum_is_right(puts: list[tuple[str, int]]):
    cache = VectorCache(200)
    for key, floats in puts:
        cache.put(key, encoding(floats))
        kept = [e for k in "abcdef" if (e := cache.get(k)) is not None]
        assert cache.size_bytes == sum(e.size_bytes for e in kept) <= 200
        assert len(cache) == len(kept)
