"""Interchange made into a working corpus: in a folder of choice, or once in the user's home."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from harness.atomic import write_atomic
from harness.corpus._files import new_folder
from harness.corpus._manifest import MANIFEST, QUESTIONS, STORE
from harness.corpus._source import Source, SourceReader
from harness.corpus._store import Store
from harness.corpus._values import Problem
from harness.corpus._warc_read import Damage, Recorded
from harness.errors import CorpusError, DiskFullError, MissingError
from harness.home import home

__all__ = ["CORPORA", "import_into", "read_source", "unpack", "unpacked_at_home"]

_PROBLEMS: Final = "problems.json"
SOURCE: Final = "source.json"
CORPORA: Final = "corpora"
"""The folder in the user's home with unpacked corpora."""

_LOCK_TIMEOUT_S: Final = 600.0


def unpack(source: Source, folder: Path) -> tuple[list[Problem], Counter[str]]:
    """Unpack a source into an empty folder, making it a working corpus.

    Returns what could not be read, and how many records of which other kinds
    were passed over.  The manifest is written last.
    """
    reader = SourceReader(source)
    problems = list(source.problems)
    store_folder = folder / STORE
    store_folder.mkdir()
    store = Store(store_folder)
    try:
        with store.batch():
            for found in reader:
                problems.extend(_take_in(store, found))
        store.seal()
    finally:
        store.close()
    if source.questions is not None:
        shutil.copyfile(source.questions, folder / QUESTIONS)
    write_atomic(folder / MANIFEST, reader.manifest().to_bytes())
    return problems, reader.skipped


def import_into(source: Path, path: Path) -> tuple[list[Problem], Counter[str]]:
    """Unpack the files at ``source`` into a new working corpus at ``path``, whole or not at all.

    Returns what :func:`unpack` does.  Raises
    :class:`~harness.errors.MissingError` when nothing is at ``source`` and
    :class:`~harness.errors.CorpusError` when something is at ``path``.
    """
    if not source.exists():
        raise MissingError(f"There is no corpus at {source}.")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise CorpusError(f"There is already something at {path}.", remedy="Choose another folder.")
    try:
        looked_at = Source.inspect(source)
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        with new_folder(path.absolute()) as folder:
            return unpack(looked_at, folder)
    except OSError as error:
        raise CorpusError(
            f"Can't import {source} into {path}: {error.strerror or error}."
        ) from None


def _take_in(store: Store, found: Recorded | Damage) -> Iterator[Problem]:
    if isinstance(found, Damage):
        if found.address is not None:
            store.mark_lost(*found.address, found.problem.what)
        yield found.problem
        return
    entry = found.entry
    if not store.put(entry, found.body, replace=False):
        other = store.read(entry.request.sha256, entry.ordinal)
        if other != entry:
            yield Problem(
                f"{entry.request.label} (no. {entry.ordinal})",
                "it is there twice, and differs; the first was kept",
            )


def unpacked_at_home(source: Source) -> tuple[Path, list[Problem]]:
    """Return the folder in the user's home into which a source is unpacked.

    It is unpacked on first use, by one process while others wait; what a
    killed one left behind is removed by the next.
    """
    import filelock

    corpora = home() / CORPORA
    target = corpora / source.digest.removeprefix("sha256:")
    if not (target / MANIFEST).is_file():
        try:
            corpora.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(f"{target}.lock", timeout=_LOCK_TIMEOUT_S):
                if not (target / MANIFEST).is_file():
                    for left in corpora.glob(f".{target.name[:32]}.*"):
                        shutil.rmtree(left, ignore_errors=True)
                    with new_folder(target) as folder:
                        problems, _ = unpack(source, folder)
                        told = [[problem.where, problem.what] for problem in problems]
                        write_atomic(folder / _PROBLEMS, json.dumps(told).encode())
        except filelock.Timeout:
            raise CorpusError(
                f"Another program has been unpacking {source.path} for {_LOCK_TIMEOUT_S:g} s."
            ) from None
        except DiskFullError:  # nothing is left of it, so nothing can be compacted
            raise DiskFullError(
                corpora,
                f"The disk is full: {source.path} can't be unpacked into {corpora}.",
                remedy="Make room, for example with 'hotseat corpus clean', or set HOTSEAT_HOME "
                "to a folder on another disk.",
            ) from None
        except OSError as error:
            raise CorpusError(
                f"Can't unpack {source.path} into {corpora}: {error.strerror or error}.",
                remedy="Set HOTSEAT_HOME to a folder that can be written.",
            ) from None
    _mark_used(target, source.path)
    return target, _read_problems(target)


def _mark_used(folder: Path, source: Path) -> None:
    """Note when an unpacked corpus was opened last, and what it was unpacked from."""
    with contextlib.suppress(OSError):  # a home that can't be written can't be cleaned either
        told = json.dumps(str(source.resolve())).encode("utf-8", "surrogateescape")
        if read_source(folder) != str(source.resolve()):
            write_atomic(folder / SOURCE, told)
        os.utime(folder)


def read_source(folder: Path) -> str | None:
    """Return the path that an unpacked corpus was opened by last, if that is known."""
    try:
        told = json.loads((folder / SOURCE).read_bytes())
    except (OSError, ValueError):
        return None
    return told if isinstance(told, str) else None


def _read_problems(folder: Path) -> list[Problem]:
    """Return the problems noted when a folder was unpacked."""
    try:
        told: Any = json.loads((folder / _PROBLEMS).read_bytes())
        return [Problem(str(where), str(what)) for where, what in told]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError):
        return [Problem(_PROBLEMS, "the list of problems can't be read")]
