"""A run on disk: ``manifest.json``, ``traces.jsonl``, ``answers.parquet``.

While a run goes on, each finished question is one line appended to
``traces.jsonl`` (row and trace together, flushed to the disk).  The manifest
and, at the end, the table are written atomically, so a run that is killed at
any moment resumes where it stopped: a torn last line is dropped, and its
question is played again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from harness.errors import BadInputError, HotseatError, MissingError
from harness.replay._files import read_bounded, sweep, write_atomic
from harness.replay.digest import results_digest
from harness.replay.rows import COLUMNS, Row, check_row, to_frame
from harness.replay.traces import TRACES, repair

if TYPE_CHECKING:
    from filelock import FileLock

__all__ = [
    "FORMAT",
    "RunDamagedError",
    "RunFolder",
    "RunWriteError",
    "new_run_path",
    "read_manifest",
    "read_rows",
]

FORMAT = "hotseat-run/1"
MANIFEST = "manifest.json"
ANSWERS = "answers.parquet"
_LOCK = ".lock"
_MAX_MANIFEST_BYTES = 16 * 1024 * 1024


class RunDamagedError(BadInputError):
    """A run folder whose files are missing, unreadable or contradict each other."""


class RunWriteError(HotseatError):
    """A run that can't be written on: the disk is full, or the folder went away."""

    exit_code = 3


class RunFolder:
    """A run folder open for writing, by one process at a time.

    Use it as a context manager; leaving it gives up the lock.
    """

    def __init__(self, path: Path, manifest: dict[str, Any], lock: FileLock) -> None:
        self.path = path
        self.manifest = manifest
        self.rows: dict[str, Row] = {}
        self.dropped_lines = 0
        self._lock = lock
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(path / TRACES, flags, 0o644)

    @classmethod
    def create(cls, path: Path, manifest: Mapping[str, Any]) -> RunFolder:
        """Start a run in ``path``, which must not exist yet or be empty.

        Raises :class:`~harness.errors.BadInputError` when it holds something
        or can't be written.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = _acquire(path)
            sweep(path)
            strangers = [item.name for item in path.iterdir() if item.name != _LOCK]
            if not strangers:
                document = {"format": FORMAT, **manifest, "status": "running"}
                write_atomic(path / MANIFEST, _pretty(document))
                return cls(path, document, lock)
        except OSError as error:
            raise BadInputError(
                f"Can't write a run to {path}: {error.strerror or error}.",
                remedy="Choose another folder with --out.",
            ) from None
        lock.release()
        raise BadInputError(
            f"{path} is not empty and not an unfinished run.",
            remedy="Choose another folder with --out.",
        )

    @classmethod
    def resume(cls, path: Path) -> RunFolder:
        """Open an unfinished run; ``rows`` then holds what it had answered.

        Lines of ``traces.jsonl`` that are torn or damaged are dropped (and
        counted in ``dropped_lines``): their questions have to be played again.
        Raises :class:`RunDamagedError` without a readable manifest, and
        :class:`~harness.errors.BadInputError` when the run is finished or
        being written by another process.
        """
        read_manifest(path)
        try:
            lock = _acquire(path)
            manifest = read_manifest(path)  # again: only under the lock does it stand still
            if manifest["status"] == "finished":
                lock.release()
                raise BadInputError(
                    f"The run in {path} is already finished.",
                    remedy="Choose another folder with --out.",
                )
            sweep(path)
            rows, dropped = repair(path / TRACES)
            manifest["status"] = "running"
            write_atomic(path / MANIFEST, _pretty(manifest))
            folder = cls(path, manifest, lock)
        except OSError as error:
            raise BadInputError(
                f"Can't go on with the run in {path}: {error.strerror or error}."
            ) from None
        folder.rows = rows
        folder.dropped_lines = dropped
        return folder

    def append(self, row: Row, line: bytes) -> None:
        """Commit one finished question: after this, it is never played again.

        ``line`` is :func:`~harness.replay.traces.encode_line` of the same row.
        """
        with _writing(self.path):
            view = memoryview(line)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        self.rows[row["question_id"]] = row

    def finish(self, **facts: Any) -> str:
        """Write the table and close the manifest; return the results digest."""
        rows = list(self.rows.values())
        digest = results_digest(rows)
        frame = to_frame(rows)
        with _writing(self.path):
            write_atomic(self.path / ANSWERS, frame.write_parquet)
        self.update(status="finished", digest=digest, **facts)
        return digest

    def update(self, **facts: Any) -> None:
        """Change entries of the manifest, atomically."""
        self.manifest = {**self.manifest, **facts}
        with _writing(self.path):
            write_atomic(self.path / MANIFEST, _pretty(self.manifest))

    def close(self) -> None:
        """Give up the folder."""
        os.close(self._file)
        self._lock.release()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def new_run_path(folder: Path, name: str, now: datetime) -> Path:
    """Return a path ``<utc>-<name>`` in ``folder`` that does not exist yet."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "run"
    stem = f"{now:%Y%m%dT%H%M%SZ}-{slug}"
    path, number = folder / stem, 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}"
    return path


def read_manifest(path: Path) -> dict[str, Any]:
    """Return a run's manifest.

    Raises :class:`~harness.errors.MissingError` without one and
    :class:`RunDamagedError` when it can't be read.
    """
    file = path / MANIFEST
    if not file.is_file():
        raise MissingError(
            f"{path} is not a run folder: it holds no {MANIFEST}.", remedy="Check the path."
        )
    try:
        manifest = json.loads(read_bounded(file, _MAX_MANIFEST_BYTES))
    except (ValueError, RecursionError, OSError) as error:
        raise RunDamagedError(f"{file} can't be read: {error}.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise RunDamagedError(f"{file} is not of the format {FORMAT}.")
    if not isinstance(manifest.get("status"), str):
        raise RunDamagedError(f"{file} does not say how far the run came.")
    return manifest


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a finished run, sorted by question id.

    Raises :class:`RunDamagedError` when the table is missing, unreadable or
    no longer has the digest that the manifest names.
    """
    manifest = read_manifest(path)
    if manifest["status"] != "finished":
        raise BadInputError(
            f"The run in {path} is not finished.", remedy=f"hotseat replay --resume {path}"
        )
    import polars as pl

    file = path / ANSWERS
    try:
        rows = pl.read_parquet(file).select([column.name for column in COLUMNS]).to_dicts()
        for row in rows:
            check_row(row)
    except (OSError, pl.exceptions.PolarsError, HotseatError) as error:
        first = str(error).partition("\n")[0][:200]
        raise RunDamagedError(f"{file} can't be read: {first}") from None
    if results_digest(rows) != manifest.get("digest"):
        raise RunDamagedError(
            f"{file} does not have the results digest that its manifest names.",
            remedy="It was changed after the run; replay it again.",
        )
    return rows


def _acquire(path: Path) -> FileLock:
    from filelock import FileLock, Timeout

    lock = FileLock(path / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BadInputError(
            f"Another process is writing the run in {path}.",
            remedy="Wait for it, or choose another folder with --out.",
        ) from None
    return lock


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunWriteError(
            f"Can't write to the run in {path}: {error.strerror or error}.",
            remedy=f"What is answered is kept; go on with: hotseat replay --resume {path}",
        ) from None


def _pretty(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
