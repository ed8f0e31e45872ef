"""What piles up in the user's home: unpacked corpora, and data derived from others.

All of it can be made again: a corpus is unpacked when it is next opened.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from harness.corpus._derived import DERIVED
from harness.corpus._manifest import MANIFEST
from harness.corpus._source import Source
from harness.corpus._unpack import CORPORA, read_source
from harness.errors import CorpusError
from harness.home import home

__all__ = ["Leftover", "clean"]

_NAME: Final = re.compile(r"[0-9a-f]{64}")
_UNFINISHED: Final = re.compile(r"\.[0-9a-f]{32}\..+")
_DAY_S: Final = 86_400.0
_UNFINISHED_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Leftover:
    """A folder in the user's home that can be made again.

    ``source`` is what it was unpacked from, where that is known; ``reason``
    says why it may go.  ``used_days`` ago it was opened last.
    """

    path: Path
    kind: Literal["unpacked corpus", "derived data", "unfinished unpacking"]
    size_bytes: int
    used_days: float
    source: str | None
    reason: str


def clean(*, days: float = 30.0, everything: bool = False, remove: bool = False) -> list[Leftover]:
    """Return what may go from the user's home, and with ``remove`` delete it.

    That is what was not used for so many ``days``, what was unpacked from
    files that are gone or were changed since, and what an interrupted
    unpacking left; with ``everything``, all.  Raises
    :class:`~harness.errors.CorpusError` when something can't be deleted.
    """
    found = [
        item
        for folder, kind in _folders()
        if (item := _look(folder, kind, days, everything)) is not None
    ]
    if remove:
        for item in found:
            _remove(item)
    return found


def _folders() -> Iterator[tuple[Path, Literal["unpacked corpus", "derived data"]]]:
    for name, kind in ((CORPORA, "unpacked corpus"), (DERIVED, "derived data")):
        try:
            paths = sorted((home() / name).iterdir())
        except (FileNotFoundError, NotADirectoryError):  # nothing was ever put there
            continue
        except OSError as error:
            raise CorpusError(f"Can't look into {home() / name}: {error.strerror}.") from None
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                yield path, kind  # type: ignore[misc]


def _look(
    path: Path, kind: Literal["unpacked corpus", "derived data"], days: float, everything: bool
) -> Leftover | None:
    size_bytes, newest_s = _measure(path)
    idle_s = max(0.0, time.time() - (path.stat().st_mtime if kind != "derived data" else newest_s))
    used_days = idle_s / _DAY_S
    if _UNFINISHED.fullmatch(path.name):
        if not everything and idle_s < _UNFINISHED_S:
            return None  # it may be under way
        reason = "its unpacking was interrupted"
        return Leftover(path, "unfinished unpacking", size_bytes, used_days, None, reason)
    if not _NAME.fullmatch(path.name):
        return None  # not ours
    source = read_source(path)
    if everything:
        reason = "all are to go"
    elif used_days >= days:
        reason = f"it was not used for {used_days:.0f} days"
    elif kind == "unpacked corpus" and source is not None and not _is_current(path, source):
        reason = "what it was unpacked from is gone or was changed"
    else:
        return None
    return Leftover(path, kind, size_bytes, used_days, source, reason)


def _is_current(path: Path, source: str) -> bool:
    """Return whether the files that a folder was unpacked from are still the same."""
    try:
        return Source.inspect(Path(source)).digest.removeprefix("sha256:") == path.name
    except (OSError, CorpusError):
        return False


def _measure(folder: Path) -> tuple[int, float]:
    """Return the bytes in a folder, and when one of its files was changed last."""
    size_bytes, newest_s = 0, folder.stat().st_mtime
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                found = Path(parent, name).lstat()
                size_bytes += found.st_size
                newest_s = max(newest_s, found.st_mtime)
    return size_bytes, newest_s


def _locks(item: Leftover) -> list[Path]:
    """Return the files whose locks whoever unpacks into a folder holds.

    The name of a folder that is being unpacked begins like that of the lock,
    which is there before the folder is; derived data have none.
    """
    folder, name = item.path.parent, item.path.name
    if item.kind == "unpacked corpus":
        return [folder / f"{name}.lock"]
    if item.kind == "unfinished unpacking":
        begun = name[1:].partition(".")[0]
        return [lock for lock in folder.glob(f"{begun}*.lock") if _NAME.fullmatch(lock.stem)]
    return []


def _remove(item: Leftover) -> None:
    """Delete a folder; what a kill leaves of it does not look whole."""
    import filelock

    path = item.path
    try:
        with contextlib.ExitStack() as held:
            for lock in _locks(item):
                # Its file stays: deleting it would let two programs hold it at once.
                held.enter_context(filelock.FileLock(lock, timeout=0))
            if path.is_dir():  # else its unpacking was done just now, or somebody was faster
                (path / MANIFEST).unlink(missing_ok=True)
                shutil.rmtree(path)
    except filelock.Timeout:
        raise CorpusError(
            f"{path} is being unpacked by another program.", remedy="Try again when it is done."
        ) from None
    except OSError as error:
        raise CorpusError(f"Can't delete {path}: {error.strerror or error}.") from None
