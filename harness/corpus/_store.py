"""The working store: entries and bodies in a ``diskcache`` folder.

Three kinds of keys: ``body:<sha256>`` (see :mod:`harness.corpus._body`),
``entry:<request key>:<ordinal>`` (see :mod:`harness.corpus._entry`) and
``damaged:<request key>:<ordinal>``, which says why an entry could not be read
when the corpus was unpacked.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from harness.corpus._body import UnreadableError, body_sha256, pack, unpack
from harness.corpus._cache import ReadCache, WriteCache
from harness.corpus._entry import Entry
from harness.corpus._guard import guarded
from harness.corpus._store_open import is_writable, open_for_reading, open_for_writing
from harness.corpus._structure import KEY, structural_problems
from harness.corpus._values import Address, short_name
from harness.errors import CorpusDamagedError, CorpusError

__all__ = ["Store"]


class Store:
    """Entries and bodies on disk; safe for several threads and processes at once.

    Every method raises :class:`~harness.errors.CorpusError` when the database
    can't be used, and :class:`~harness.errors.CorpusDamagedError` when it or
    what was asked for is damaged.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        """Open the store in ``folder``, making it if it may be written."""
        self.folder = folder
        self._copy: str | None = None
        self.read_only = read_only or not is_writable(folder)
        self._cache: ReadCache | WriteCache
        with self._guarded():
            if self.read_only:
                self._cache, self._copy = open_for_reading(folder)
            else:
                self._cache = open_for_writing(folder)

    @property
    def is_copy(self) -> bool:
        """Whether a private copy of the database is read."""
        return self._copy is not None

    def _guarded(self) -> AbstractContextManager[None]:
        return guarded(self.folder)

    def read(self, key: str, ordinal: int) -> Entry | None:
        """Return an entry, ``None`` when there is none."""
        name = f"entry:{key}:{ordinal}"
        with self._guarded():
            data = self._cache.get(name)
        return None if data is None else _parse(data, key, ordinal)

    def entries(self) -> Iterator[tuple[Address, Entry | CorpusDamagedError]]:
        """Yield all entries, sorted by address, or why one can't be read.

        Holds no more than a few hundred in memory, and nobody up: what is
        recorded meanwhile may or may not be among them.
        """
        same: list[tuple[Address, bytes | CorpusDamagedError | None]] = []
        for address, value in self._scan():
            if same and same[0][0][0] != address[0]:
                yield from self._read_all(same)
                same.clear()
            same.append((address, value))
        yield from self._read_all(same)

    def _scan(self) -> Iterator[tuple[Address, bytes | CorpusDamagedError | None]]:
        batches = self._cache.scan("entry:")
        while True:
            with self._guarded():  # not around the yield: the errors of others are not ours
                batch = next(batches, None)
            if batch is None:
                return
            for name, value in batch:
                if KEY.fullmatch(name):
                    _, key, ordinal = name.split(":")
                    yield (key, int(ordinal)), value

    def _read_all(
        self, found: list[tuple[Address, bytes | CorpusDamagedError | None]]
    ) -> Iterator[tuple[Address, Entry | CorpusDamagedError]]:
        found.sort(key=lambda item: item[0])  # as numbers, unlike the database
        for address, value in found:
            try:
                if isinstance(value, CorpusDamagedError):
                    raise value
                entry = self.read(*address) if value is None else _parse(value, *address)
            except CorpusDamagedError as error:
                yield address, error
                continue
            if entry is not None:  # else it vanished meanwhile
                yield address, entry

    def lost(self, key: str, ordinal: int) -> str | None:
        """Return why an entry was damaged before it came into this store, if it was."""
        with self._guarded():
            reason = self._cache.get(f"damaged:{key}:{ordinal}")
        return None if reason is None else reason.decode("utf-8", "replace")

    def body(self, sha256: str) -> bytes:
        """Return a body, checked against its hash."""
        return self.packed_body(sha256)[1]

    def body_of(self, entry: Entry) -> bytes:
        """Return an entry's body, empty for a failure; raises as :meth:`body` does."""
        return b"" if entry.body_sha256 is None else self.body(entry.body_sha256)

    def packed_body(self, sha256: str) -> tuple[bytes, bytes]:
        """Return a body, checked against its hash, as it is stored and as it is."""
        with self._guarded():
            stored = self._cache.get(f"body:{sha256}")
        if stored is None:
            raise CorpusDamagedError(
                f"The body {sha256[:12]}… is missing from the corpus.",
                remedy="Record it again, or restore the corpus.",
            )
        try:
            return stored, unpack(stored, sha256)
        except UnreadableError as error:
            raise CorpusDamagedError(
                f"The body {sha256[:12]}… is damaged: {error}.",
                remedy="Record it again, or restore the corpus.",
            ) from None

    def put(self, entry: Entry, body: bytes, *, replace: bool, packed: bytes | None = None) -> bool:
        """Store an entry after its body; return whether it was stored.

        Without ``replace`` an entry that is already there is kept.  A damaged
        body is replaced in any case.  ``packed`` is the body as :func:`pack`
        returned it, where that is at hand.
        """
        self.check_writable()
        sha256 = entry.body_sha256
        missing = sha256 is not None and not self._is_sound(sha256, body)
        if packed is None and missing:
            packed = pack(body)  # not while others wait
        name = f"entry:{entry.request.sha256}:{entry.ordinal}"
        # One transaction: a body that no entry points to is one to be dropped.
        with self._guarded(), self._cache.transact():
            if sha256 is not None and (missing or not self.has_body(sha256)):
                self._cache.set(f"body:{sha256}", pack(body) if packed is None else packed)
            if replace:
                return bool(self._cache.set(name, entry.to_bytes()))
            return bool(self._cache.add(name, entry.to_bytes()))

    def _is_sound(self, sha256: str, body: bytes) -> bool:
        """Return whether a body is there, undamaged."""
        if body_sha256(body) != sha256:
            raise ValueError("the entry names another body")
        return self.is_readable(sha256)

    def is_readable(self, sha256: str) -> bool:
        """Return whether a body is there, undamaged."""
        try:
            return self.has_body(sha256) and self.body(sha256) is not None
        except CorpusDamagedError:
            return False

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make everything stored inside the block one transaction."""
        with self._guarded(), self._cache.transact():
            yield

    @contextmanager
    def writer(self) -> Iterator[WriteCache]:
        """Give the cache underneath, for work on all of it.

        Raises :class:`~harness.errors.CorpusError` when nothing can be stored.
        """
        self.check_writable()
        assert isinstance(self._cache, WriteCache)
        with self._guarded():
            yield self._cache

    def seal(self) -> None:
        """Leave the folder so that it can be read without being writable."""
        if isinstance(self._cache, WriteCache):
            with self._guarded():
                self._cache.seal()

    def mark_lost(self, key: str, ordinal: int, reason: str) -> None:
        """Remember that an entry existed but could not be read."""
        self.check_writable()
        with self._guarded():
            self._cache.set(f"damaged:{key}:{ordinal}", reason.encode())

    def check_writable(self) -> None:
        """Raise :class:`~harness.errors.CorpusError` when nothing can be stored."""
        if self.read_only:
            raise CorpusError(
                f"The store in {self.folder} is read-only.",
                remedy="Import it into a folder of your own with 'hotseat corpus import'.",
            )

    def addresses(self, kind: Literal["entry", "damaged"] = "entry") -> list[Address]:
        """Return the addresses of all entries, or of all that were ever lost, sorted."""
        with self._guarded():
            names = self._cache.keys(f"{kind}:")
        parts = [name.split(":") for name in names if KEY.fullmatch(name)]
        return sorted((key, int(ordinal)) for _, key, ordinal in parts)

    def stamps(self) -> Iterator[tuple[Literal["entry", "damaged"], Address, float]]:
        """Yield the addresses of all entries, and of all ever lost, each with when it was stored.

        Reads no entries, but the whole index at once; in no order.
        """
        with self._guarded():
            rows = self._cache.stamps("entry:", "damaged:")
        for name, stamp in rows:
            if KEY.fullmatch(name):
                kind, key, ordinal = name.split(":")
                yield ("entry" if kind == "entry" else "damaged"), (key, int(ordinal)), stamp

    def lost_addresses(self) -> list[Address]:
        """Return the addresses of entries lost to damage and not recorded since."""
        lost = self.addresses("damaged")
        with self._guarded():
            return [one for one in lost if f"entry:{one[0]}:{one[1]}" not in self._cache]

    def bodies(self) -> list[str]:
        """Return the hashes of all bodies, sorted."""
        with self._guarded():
            return [name.removeprefix("body:") for name in self._cache.keys("body:")]

    def has_body(self, sha256: str) -> bool:
        """Return whether there is a body, damaged or not."""
        with self._guarded():
            return f"body:{sha256}" in self._cache

    def count(self, kind: Literal["body", "entry"]) -> int:
        """Return how many of a kind there are."""
        with self._guarded():
            return self._cache.count_keys(f"{kind}:")

    def last_row(self) -> int:
        """Return the number of the database's last row."""
        with self._guarded():
            return self._cache.last_row()

    def undamaged_bodies(self, first: int, last: int) -> list[str]:
        """Return the hashes of bodies in rows after ``first`` up to ``last`` that are as stored.

        Leaves out bodies in rows that can't be read at once, damaged or not.
        """
        good = []
        with self._guarded():
            rows = self._cache.rows("body:", first, last)
        for name, value in rows:
            sha256 = name.removeprefix("body:")
            if isinstance(value, bytes):
                with contextlib.suppress(UnreadableError):
                    unpack(value, sha256)
                    good.append(sha256)
        return good

    def version(self) -> int:
        """Return a number that changes when entries come in."""
        with self._guarded():
            return len(self._cache)

    def volume_bytes(self) -> int:
        """Return the bytes that values take on disk, packed."""
        with self._guarded():
            return self._cache.volume_bytes()

    def structural_problems(self) -> list[str]:
        """Return what is wrong with the database itself, row contents apart.

        Raises nothing: a database that can't be used is such a problem.
        """
        return structural_problems(self._cache, self.folder)

    def close(self) -> None:
        """Close all connections; the store can't be used afterwards."""
        self._cache.close_all()
        if self._copy:
            shutil.rmtree(self._copy, ignore_errors=True)
            self._copy = None


def _parse(data: bytes, key: str, ordinal: int) -> Entry:
    name = short_name((key, ordinal))
    entry = Entry.from_bytes(data, name)
    if entry.request.sha256 != key or entry.ordinal != ordinal:
        raise CorpusDamagedError(f"The entry {name} holds another one's data.")
    return entry
