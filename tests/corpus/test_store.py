from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.corpus import Failure, request_key
from harness.corpus._body import UnreadableError, body_sha256, pack, unpack
from harness.corpus._entry import Entry, corpus_digest
from harness.corpus._limits import MAX_BODY_BYTES
from harness.corpus._store import Store
from harness.errors import CorpusDamagedError, CorpusError

WHEN = "2026-01-01T00:00:00.000000Z"


def entry(path: str = "", body: bytes | None = b"body", **changes: Any) -> Entry:
    values: dict[str, Any] = {
        "request": request_key("GET", f"https://e.org/{path}", {}, None),
        "ordinal": 0,
        "fetched_at": WHEN,
        "elapsed_s": 0.25,
    }
    if body is None:
        values["failure"] = Failure("ReadTimeout", "late")
    else:
        values |= {"status": 200, "body_sha256": body_sha256(body), "body_bytes": len(body)}
    return Entry(**{**values, **changes})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path)
    yield made
    made.close()


@given(st.binary(max_size=2000))
def test_every_byte_of_a_stored_body_is_covered(body: bytes) -> None:
    stored, sha256 = pack(body), body_sha256(body)
    assert unpack(stored, sha256) == body
    for place in range(len(stored)):
        for flip in (0x01, 0x80):
            damaged = bytearray(stored)
            damaged[place] ^= flip
            with pytest.raises(UnreadableError):
                unpack(bytes(damaged), sha256)
    for length in (0, 3, len(stored) - 1):
        with pytest.raises(UnreadableError):
            unpack(stored[:length], sha256)
    with pytest.raises(UnreadableError):
        unpack(stored + b"\0", sha256)


def test_a_frame_that_claims_too_much_is_not_believed() -> None:
    import zlib

    claims = [
        zstandard.ZstdCompressor(level=1).compress(bytes(MAX_BODY_BYTES + 1)),
        zstandard.ZstdCompressor(write_content_size=False).compress(b"unstated"),
    ]
    for frame in claims:
        stored = zlib.crc32(frame).to_bytes(4, "little") + frame
        with pytest.raises(UnreadableError, match="larger"):
            unpack(stored, "0" * 64)
    with pytest.raises(ValueError, match="may have"):
        pack(bytes(MAX_BODY_BYTES + 1))


def test_an_entry_comes_back_and_every_byte_of_it_is_covered() -> None:
    made = entry("a", headers=(("content-type", "text/html"),), truncated=True)
    stored = made.to_bytes()
    assert Entry.from_bytes(stored, "here") == made
    for place in range(len(stored)):
        damaged = bytearray(stored)
        damaged[place] ^= 0x01
        with pytest.raises(CorpusDamagedError, match="here"):
            Entry.from_bytes(bytes(damaged), "here")


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": (("content-encoding", "gzip"),)},
        {"headers": (("location", "a\r\nset-cookie: b"),)},
        {"status": 99},
        {"status": "200"},
        {"status": None},
        {"failure": Failure("ReadTimeout", "late")},
        {"elapsed_s": float("nan")},
        {"elapsed_s": "1"},
        {"ordinal": -1},
        {"body_sha256": None},
        {"fetched_at": None},
    ],
)
def test_an_entry_that_no_recording_has_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="it"):
        entry("a", **changes)


def test_a_hostile_entry_is_refused_on_reading() -> None:
    """It is well-formed and its checksum fits, but it would make the client unpack a bomb."""
    text = (
        entry("a").canonical().replace(b'"headers":[]', b'"headers":[["content-encoding","gzip"]]')
    )
    stored = f"sha256:{hashlib.sha256(text).hexdigest()}\n".encode() + text
    with pytest.raises(CorpusDamagedError, match="content-encoding"):
        Entry.from_bytes(stored, "here")


def test_the_canonical_form_is_a_contract() -> None:
    assert entry("a").canonical().decode() == (
        '{"body":"sha256:230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5",'
        '"body_bytes":4,"elapsed_s":0.25,"failure":null,'
        '"fetched_at":"2026-01-01T00:00:00.000000Z","headers":[],'
        f'"key":"{entry("a").request.sha256}","ordinal":0,'
        '"request":{"accept_language":"","body":null,"method":"GET","provider":"page",'
        '"url":"https://e.org/a"},"status":200,"truncated":false,"version":1}'
    )


def test_a_body_is_stored_once(store: Store, tmp_path: Path) -> None:
    body = os.urandom(100_000)
    for number in range(10):
        assert store.put(entry(str(number), body), body, replace=False)
    assert store.bodies() == [body_sha256(body)]
    assert len(list(tmp_path.rglob("*.val"))) == 1
    assert len(store.addresses()) == 10


def test_an_entry_is_kept_unless_it_is_to_be_replaced(store: Store) -> None:
    first, second = entry("a", b"first"), entry("a", b"second")
    assert store.put(first, b"first", replace=False)
    assert not store.put(second, b"second", replace=False)
    assert store.read(first.request.sha256, 0) == first
    assert store.put(second, b"second", replace=True)
    assert store.read(first.request.sha256, 0) == second


def rewrite(folder: Path, key: str, value: bytes) -> None:
    database = sqlite3.connect(folder / "cache.db")
    with database:
        database.execute("UPDATE Cache SET value = ? WHERE key = ?", (value, key))
    database.close()


def test_damage_is_refused_and_the_rest_is_usable(store: Store, tmp_path: Path) -> None:
    one, other = entry("a", b"one"), entry("b", b"other")
    store.put(one, b"one", replace=False)
    store.put(other, b"other", replace=False)
    damaged = bytearray(pack(b"one"))
    damaged[7] ^= 1
    rewrite(tmp_path, f"body:{body_sha256(b'one')}", bytes(damaged))
    with pytest.raises(CorpusDamagedError, match="damaged"):
        store.body(body_sha256(b"one"))
    assert store.body(body_sha256(b"other")) == b"other"
    # Recording the same body again heals it.
    store.put(one, b"one", replace=False)
    assert store.body(body_sha256(b"one")) == b"one"


def test_an_entry_in_the_place_of_another_is_refused(store: Store, tmp_path: Path) -> None:
    one, other = entry("a"), entry("b")
    store.put(one, b"body", replace=False)
    rewrite(tmp_path, f"entry:{one.request.sha256}:0", other.to_bytes())
    with pytest.raises(CorpusDamagedError, match="another"):
        store.read(one.request.sha256, 0)


def test_a_missing_file_is_damage_not_absence(store: Store, tmp_path: Path) -> None:
    body = os.urandom(100_000)
    store.put(entry("a", body), body, replace=False)
    (path,) = tmp_path.rglob("*.val")
    path.unlink()
    with pytest.raises(CorpusDamagedError, match="can't be read"):
        store.body(body_sha256(body))


@pytest.mark.parametrize("read_only", [False, True])
def test_a_ruined_database_is_one_sentence(tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "cache.db").write_bytes(b"this is no database, whatever its name may be" * 100)

    def use() -> None:
        made = Store(tmp_path, read_only=read_only)
        try:
            made.read("0" * 64, 0)
        finally:
            made.close()

    with pytest.raises(CorpusDamagedError, match="is damaged: file is not a database"):
        use()


def test_ruined_pages_are_one_sentence(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in range(300):
        store.put(entry(str(number), str(number).encode()), str(number).encode(), replace=False)
    addresses = store.addresses()
    store.close()
    path = tmp_path / "cache.db"
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    path.write_bytes(bytes(data))
    broken = Store(tmp_path, read_only=True)
    with pytest.raises(CorpusDamagedError, match="is damaged"):
        _ = [broken.read(*address) for address in addresses]
    broken.close()


@contextmanager
def no_rights(folder: Path) -> Iterator[None]:
    """Take away the right to write, also from root."""
    everything = [folder, *folder.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)
        for path in everything:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike pytest's."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of another kind")
@pytest.mark.parametrize("killed", [False, True])
def test_a_folder_without_write_permission_can_be_read(open_folder: Path, killed: bool) -> None:
    body = os.urandom(100_000)
    folder = open_folder / "store"
    folder.mkdir()
    store = Store(folder)
    store.put(entry("a", body), body, replace=False)
    if killed:  # what is committed is still in the log
        copy = open_folder / "copy"
        shutil.copytree(folder, copy)
        assert (copy / "cache.db-wal").stat().st_size > 0
        folder = copy
    store.close()
    before = sorted(path.name for path in folder.iterdir())
    with no_rights(folder):
        reader = Store(folder)
        assert reader.read_only
        found = reader.read(entry("a").request.sha256, 0)
        assert found is not None
        assert reader.body(body_sha256(body)) == body
        with pytest.raises(CorpusError, match="read-only"):
            reader.put(entry("b"), b"body", replace=False)
        reader.close()
    assert sorted(path.name for path in folder.iterdir()) == before


def test_reading_while_another_writes(tmp_path: Path) -> None:
    writer = Store(tmp_path)
    reader = Store(tmp_path, read_only=True)
    for number in range(5):
        made = entry(str(number))
        assert reader.read(made.request.sha256, 0) is None
        writer.put(made, b"body", replace=False)
        assert reader.read(made.request.sha256, 0) == made
    reader.close()
    writer.close()


def test_all_threads_connections_are_closed(store: Store) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        made = [entry(str(number)) for number in range(20)]
        assert all(pool.map(lambda one: store.put(one, b"body", replace=False), made))
    assert len(store.addresses()) == 20
    connections = list(store._cache._connections._open)
    assert len(connections) > 1
    store.close()
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")


entries = st.lists(
    st.tuples(st.text("abc", max_size=2), st.integers(0, 2), st.binary(max_size=20)),
    max_size=12,
    unique_by=lambda item: item[:2],
)


@settings(max_examples=10, deadline=None)
@given(entries, st.randoms(use_true_random=False))
def test_the_digest_knows_no_order(found: list[tuple[str, int, bytes]], dice: Any) -> None:
    digests = []
    for _ in range(2):
        dice.shuffle(found)
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder))
            for path, ordinal, body in found:
                store.put(entry(path, body, ordinal=ordinal), body, replace=False)
            kept = [store.read(*address) for address in store.addresses()]
            digests.append(corpus_digest(one.canonical() for one in kept if one))
            assert len(kept) == len(found)
            store.close()
    assert digests[0] == digests[1]
