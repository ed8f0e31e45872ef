"""The database as an enemy: whatever stands in it, nothing is run and nothing outside read."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import diskcache
import pytest

from harness.corpus import Corpus
from harness.corpus._cache import ReadCache, WriteCache
from harness.errors import CorpusDamagedError


@pytest.fixture
def cache(tmp_path: Path) -> Any:
    made = WriteCache(tmp_path)
    yield made
    made.close_all()


def change(folder: Path, statement: str, *values: Any) -> None:
    database = sqlite3.connect(folder / "cache.db")
    with database:
        database.execute(statement, values)
    database.close()


@pytest.mark.parametrize("key", [1, 1.0, b"key", ("a", 1), None, True])
def test_only_text_keys(cache: WriteCache, key: Any) -> None:
    with pytest.raises(TypeError, match="str"):
        cache.set(key, b"value")


@pytest.mark.parametrize("value", ["text", 1, None, ["list"], bytearray(b"x")])
def test_only_bytes_values(cache: WriteCache, value: Any) -> None:
    with pytest.raises(TypeError, match="bytes"):
        cache.set("key", value)


@pytest.mark.parametrize("size", [0, 10, 2**15, 2**18])
def test_bytes_come_back(cache: WriteCache, tmp_path: Path, size: int) -> None:
    value = os.urandom(size) + b"\r\n"
    cache.set("key", value)
    assert cache.get("key") == value
    reader = ReadCache(tmp_path, tmp_path / "cache.db", "?mode=ro")
    assert reader.get("key") == value
    reader.close_all()


class Bomb:
    """Unpickling one of these makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("in_file", [False, True])
def test_a_pickled_value_is_refused_and_not_run(
    cache: WriteCache, tmp_path: Path, in_file: bool
) -> None:
    trace = tmp_path / "exploded"
    evil = pickle.dumps(Bomb(trace))
    cache.set("key", b"value")
    if in_file:
        name = "ab/cd/" + "0" * 28 + ".val"
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_bytes(evil)
        change(tmp_path, "UPDATE Cache SET mode = 4, value = NULL, filename = ?", name)
    else:
        change(tmp_path, "UPDATE Cache SET mode = 4, value = ?", evil)
    with pytest.raises(CorpusDamagedError, match="never writes"):
        cache.get("key")
    assert not trace.exists()
    assert pickle.loads(evil) is None  # the bomb is live: this is what was not run
    assert trace.exists()


def test_a_pickled_key_is_refused_and_not_run(cache: WriteCache, tmp_path: Path) -> None:
    trace = tmp_path / "exploded"
    cache.set("key", b"value")
    change(tmp_path, "UPDATE Cache SET raw = 0, key = ?", pickle.dumps(Bomb(trace)))
    with pytest.raises(CorpusDamagedError, match="never writes"):
        list(cache)
    assert not trace.exists()


@pytest.mark.parametrize("mode", [1, 3, 4, 7])
def test_other_kinds_of_values_are_refused(cache: WriteCache, tmp_path: Path, mode: int) -> None:
    cache.set("key", b"value")
    change(tmp_path, "UPDATE Cache SET mode = ?, value = 'text'", mode)
    with pytest.raises(CorpusDamagedError, match="never writes"):
        cache.get("key")


def test_a_file_outside_is_neither_read_nor_deleted(cache: WriteCache, tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.val"
    outside.write_bytes(b"private")
    for name in ("../outside.val", str(outside), "ab/cd/../../../outside.val"):
        cache.set("key", b"value")
        change(tmp_path, "UPDATE Cache SET mode = 2, value = NULL, filename = ?", name)
        with pytest.raises(CorpusDamagedError, match="outside"):
            cache.get("key")
        cache.set("key", b"other")  # replacing a value deletes its file
        assert outside.read_bytes() == b"private"


def test_a_link_in_place_of_a_file_is_not_followed(cache: WriteCache, tmp_path: Path) -> None:
    cache.set("key", os.urandom(2**16))
    (path,) = tmp_path.rglob("*.val")
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(CorpusDamagedError):
        cache.get("key")


def test_settings_in_the_database_do_not_steer(cache: WriteCache, tmp_path: Path) -> None:
    cache.close_all()
    change(tmp_path, "INSERT INTO Settings VALUES ('get', 'surprise')")
    with pytest.raises(CorpusDamagedError, match="'get'"):
        WriteCache(tmp_path)


def test_nothing_is_ever_evicted_even_by_the_stock_library(tmp_path: Path) -> None:
    """What the library would do by default has to be switched off in the file itself."""
    with Corpus.create(tmp_path / "corpus", name="t"):
        pass
    with diskcache.Cache(str(tmp_path / "corpus" / "store")) as stock:
        assert stock.eviction_policy == "none"
        assert stock.cull_limit == 0
        assert stock.size_limit > 2**60
        for number in range(50):
            stock.set(f"key {number}", b"x", expire=-1)
        assert len(stock) == 50
    with Corpus.open(tmp_path / "corpus") as again:
        assert len(again._store._cache) == 50
        assert again._store._cache.eviction_policy == "none"


def test_a_stock_cache_is_taken_over_without_its_limits(tmp_path: Path) -> None:
    store = tmp_path / "store"
    diskcache.Cache(str(store), size_limit=1000).close()
    manifest = {"format": "hotseat-corpus/1", "name": "t", "created": "2026-01-01T00:00:00Z"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with Corpus.open(tmp_path) as corpus:
        for number in range(20):
            corpus._store._cache.set(f"key {number}", os.urandom(50_000))
        assert len(corpus._store._cache) == 20
