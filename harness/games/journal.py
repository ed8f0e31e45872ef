"""What was played, written down as it happens: ``games.jsonl``, one event a line.

Each line is on the disk before the game goes on, so a player that is killed at
any moment can be started again: it knows which games run, which question was
asked, and whether an answer may have been sent (:mod:`harness.games._fold`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from harness.errors import BadInputError, DiskFullError, HotseatError, is_disk_full
from harness.games._fold import Event, GameFold
from harness.games.records import GameRecord
from harness.question_file import append_lines

__all__ = ["Journal", "read_games"]

_NAME = "games.jsonl"
_LOCK = ".games.lock"
_MAX_LINE_BYTES = 1024 * 1024
_MAX_BYTES = 256 * 1024 * 1024


class Journal:
    """A folder's journal, written by one process at a time; use it as a context manager.

    ``folds`` holds the games found in it by their tokens, in the order in
    which they began; ``damaged`` counts lines that could not be read and are
    passed over.  Raises :class:`~harness.errors.BadInputError` when another
    process writes it, or it can't be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / _NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / _LOCK)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise BadInputError(
                f"Another process is playing and writes its games to {folder}.",
                remedy="Wait for it, or name another folder with --journal.",
            ) from None
        except OSError as error:
            raise BadInputError(
                f"Can't write games to {folder}: {error.strerror or error}.",
                remedy="Name another folder with --journal.",
            ) from None
        try:
            self.folds, self.damaged = _read(self.path)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def write(self, event: Event) -> None:
        """Add an event; it is on the disk when this returns.

        Raises :class:`~harness.errors.HotseatError` when it can't be written,
        :class:`~harness.errors.DiskFullError` among them.
        """
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        try:
            append_lines(self.path, data)
        except OSError as error:
            if is_disk_full(error):
                raise DiskFullError(self.folder) from error
            raise HotseatError(
                f"Can't write to {self.path}: {error.strerror or error}.",
                remedy="What was in it before is unchanged.",
            ) from None


def read_games(folder: Path) -> tuple[GameRecord, ...]:
    """Return the games of a folder's journal in the order in which they began.

    One that still runs, or was left, ends as ``STOPPED``.  Raises
    :class:`~harness.errors.BadInputError` when there is no journal to read.
    """
    path = folder / _NAME
    if not path.is_file():
        raise BadInputError(
            f"There are no games in {folder}.", remedy="Play some with 'hotseat play'."
        )
    folds, _ = _read(path)
    return tuple(fold.record for fold in folds.values())


def _read(path: Path) -> tuple[dict[str, GameFold], int]:
    folds: dict[str, GameFold] = {}
    damaged = 0
    for event in _events(path):
        if event is None:
            damaged += 1
            continue
        try:
            game = str(event["game"])
            if event["event"] == "started":
                folds[game] = GameFold(event)
            else:
                folds[game].add(event)
        except (KeyError, ValueError, TypeError):
            damaged += 1
    return folds, damaged


def _events(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the events, ``None`` for a line that is none; a torn last line is one of those."""
    if not path.is_file():
        return
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BadInputError(
                f"{path} is larger than {_MAX_BYTES // 2**20} MB.",
                remedy="Move it away; games are then written to a new one.",
            )
        with path.open("rb") as file:
            while raw := file.readline(_MAX_LINE_BYTES):
                try:
                    event = json.loads(raw)
                except (ValueError, RecursionError):
                    event = None
                yield event if isinstance(event, dict) else None
    except OSError as error:
        raise BadInputError(f"Can't read {path}: {error.strerror or error}.") from None
