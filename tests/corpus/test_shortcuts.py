"""What is done the short way gives what the long way gives."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.corpus import Corpus, RequestPolicy, request_key
from harness.corpus._cache import WriteCache
from harness.corpus._miss import Recorded, nearest
from harness.corpus._tape import _named

names = st.sampled_from(
    ["Accept-Language", "accept-language", "Content-Type", "X-Other", "user-agent"]
)
values = st.one_of(
    st.sampled_from(["it", "de, en;q=0.5", "application/x-www-form-urlencoded", ""]).map(
        str.encode
    ),
    st.sampled_from(["ÄÖ İ", "K"]).map(str.encode),
)


@given(st.lists(st.tuples(names.map(str.encode), values), max_size=5))
def test_headers_by_name_give_the_same_key(pairs: list[tuple[bytes, bytes]]) -> None:
    headers = httpx.Headers(pairs)
    keys = [
        request_key("POST", "https://e.org/", found, b"b=1&a=2")
        for found in (headers, _named(headers))
    ]
    assert keys[0] == keys[1]


addresses = st.builds(
    lambda host, path, query: f"https://{host}/{path}?{query}",
    st.sampled_from(["a.org", "b.org", "aa.org"]),
    st.sampled_from(["", "x", "x/y", "yx"]),
    st.sampled_from(["", "q=1", "q=2&r=1"]),
)
keys = st.builds(
    lambda url, provider: request_key("GET", url, {}, None, RequestPolicy(provider=provider)),
    addresses,
    st.sampled_from(["page", "searxng"]),
)


@given(keys, st.lists(keys, max_size=8))
def test_the_nearest_request_is_the_nearest_of_all(wanted: Any, recorded: list[Any]) -> None:
    ordered = sorted(recorded, key=lambda key: key.sha256)
    small = Recorded(ordered)
    assert list(small) == sorted(set(recorded), key=lambda key: key.sha256)
    assert len(small) == len(set(recorded))
    assert nearest(wanted, small.akin(wanted)) == nearest(wanted, ordered)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.text("ab:z", max_size=3), st.integers(0, 70_000)), max_size=20))
def test_a_scan_is_all_single_looks(pairs: list[tuple[str, int]]) -> None:
    stored = {f"entry:{name}": os.urandom(size) for name, size in pairs}
    with tempfile.TemporaryDirectory() as folder:
        cache = WriteCache(Path(folder))
        for name, value in {**stored, "body:x": b"x", "entrz:": b"x"}.items():
            cache.set(name, value)
        found = [one for batch in cache.scan("entry:") for one in batch]
        assert [name for name, _ in found] == sorted(set(stored) - {"entry:"})
        for name, value in found:
            assert cache.get(name) == stored[name]
            assert value in (None, stored[name])
        assert cache.get("entry:nothing like it") is None
        cache.close_all()


def test_a_scan_goes_on_past_many_rows_and_new_ones(tmp_path: Path) -> None:
    cache = WriteCache(tmp_path)
    with cache.transact():
        for number in range(600):
            cache.set(f"entry:{number:04}", b"x")
    batches = cache.scan("entry:")
    first = next(batches)
    cache.set("entry:9999", b"new")  # nobody is held up
    rest = [name for batch in batches for name, _ in batch]
    assert [name for name, _ in first] + rest == [f"entry:{n:04}" for n in range(600)] + [
        "entry:9999"
    ]
    cache.close_all()


def test_opening_waits_for_nobody(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.corpus import _cache

    monkeypatch.setattr(_cache, "_BUSY_TIMEOUT_S", 0.01)
    other = sqlite3.connect(corpus._store.folder / "cache.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Corpus.open(corpus.path) as opened:
        assert not opened.read_only
        assert opened.info().entries == 0
    other.close()


def test_a_failed_transaction_keeps_the_files_that_it_would_have_replaced(tmp_path: Path) -> None:
    cache = WriteCache(tmp_path)
    old, new = os.urandom(50_000), os.urandom(50_000)
    cache.set("body:a", old)

    def fail() -> None:
        with cache.transact():
            cache.set("body:a", new)
            cache.set("body:b", new)
            cache.delete("body:a")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert cache.get("body:a") == old
    assert cache.get("body:b") is None
    assert len(list(tmp_path.rglob("*.val"))) == 1
    with cache.transact():
        cache.set("body:a", new)
    assert cache.get("body:a") == new
    assert len(list(tmp_path.rglob("*.val"))) == 1
    cache.close_all()
