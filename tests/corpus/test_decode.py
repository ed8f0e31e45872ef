from __future__ import annotations

import gzip
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.corpus._decode import ContentDecoder, UndecodableError


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODERS = {"gzip": gzip.compress, "deflate": zlib.compress, "x-gzip": gzip.compress}


def decode(data: bytes, *encodings: str, cuts: list[int] | None = None) -> tuple[bytes, bool]:
    decoder = ContentDecoder(encodings)
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts or [])})
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    found = b"".join(part for piece in pieces for part in decoder.feed(piece))
    return found, decoder.complete


contents = st.one_of(st.binary(max_size=300), st.integers(0, 300_000).map(bytes))


@given(contents, st.lists(st.sampled_from(sorted(ENCODERS)), max_size=3), st.lists(st.integers(0)))
def test_what_was_encoded_comes_back(data: bytes, encodings: list[str], cuts: list[int]) -> None:
    packed = data
    for name in encodings:
        packed = ENCODERS[name](packed)
    assert decode(packed, *encodings, cuts=cuts) == (data, True)


@given(contents, st.lists(st.integers(0)))
def test_deflate_without_its_wrapper(data: bytes, cuts: list[int]) -> None:
    assert decode(raw_deflate(data), "deflate", cuts=cuts) == (data, True)


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=4), st.lists(st.integers(0)))
def test_members_and_padding(parts: list[bytes], cuts: list[int]) -> None:
    packed = b"".join(map(gzip.compress, parts))
    assert decode(packed + b"\0\0", "gzip", cuts=cuts) == (b"".join(parts), True)


def test_an_unfinished_body_says_so() -> None:
    packed = gzip.compress(b"a long text" * 100)
    found, complete = decode(packed[:-12], "gzip")
    assert not complete
    assert (b"a long text" * 100).startswith(found)
    assert decode(b"x", "deflate") == (b"", False)


def test_a_bomb_is_decoded_in_small_steps() -> None:
    bomb = gzip.compress(gzip.compress(bytes(100 * 2**20)))
    pieces = ContentDecoder(["gzip", "gzip"]).feed(bomb)
    assert max(len(next(pieces)) for _ in range(50)) <= 64 * 2**10


@pytest.mark.parametrize("encodings", [["br"], ["zstd"], ["gzip"] * 4])
def test_encodings_that_were_not_offered(encodings: list[str]) -> None:
    with pytest.raises(UndecodableError):
        ContentDecoder(encodings)


def test_lies() -> None:
    for encoding in ("gzip", "deflate"):
        with pytest.raises(UndecodableError):
            decode(b"\xffnothing of the kind", encoding)
