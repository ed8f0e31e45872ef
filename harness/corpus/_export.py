"""A corpus as WARC: a folder to share, or one file; the same bytes for the same corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.atomic import atomic_file, write_atomic
from harness.corpus._entry import Entry, corpus_digest
from harness.corpus._files import copy_atomic, file_sha256
from harness.corpus._manifest import (
    MANIFEST,
    QUESTIONS,
    STORE,
    CorpusManifest,
    Interchange,
    is_warc,
)
from harness.corpus._store import Store
from harness.corpus._values import Address, Problem, short_name
from harness.corpus._warc_write import entry_member, info_member
from harness.errors import CorpusDamagedError, CorpusError, MissingError

__all__ = ["Exported", "export"]


def export(
    store: Store,
    manifest: CorpusManifest,
    questions: Path | None,
    target: Path,
    *,
    replace_files: bool,
) -> Exported:
    """Write a corpus as a folder, or as one file if ``target`` is named ``….warc.gz``.

    Damaged entries are left out and returned as problems.  The same corpus
    gives the same bytes.  In a folder the manifest is written last.
    """
    if is_warc(target.name):
        if not target.name.endswith(".gz"):
            raise CorpusError("An export is packed.", remedy=f"Name it {target.name}.gz.")
        if target.exists() and not (replace_files and target.is_file()):
            raise _already_there(target)
        return _write_warc(store, manifest, target)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", manifest.name).strip("-") or "corpus"
    warc = target / f"{name[:100]}.warc.gz"
    before = _exported_before(target, warc, replace_files=replace_files)
    target.mkdir(parents=True, exist_ok=True)
    written = _write_warc(store, manifest, warc)
    files = {warc.name: file_sha256(warc)}
    if questions is not None:
        copy_atomic(questions, target / QUESTIONS)
        files[QUESTIONS] = file_sha256(target / QUESTIONS)
    # The list of files has the question file's hash.
    told = replace(manifest, questions=QUESTIONS if questions else None, questions_sha256=None)
    data = told.to_bytes(files=files, entries=written.entries, digest=written.digest)
    write_atomic(target / MANIFEST, data)
    for stale in before - files.keys():
        (target / stale).unlink(missing_ok=True)
    return written


def _exported_before(target: Path, warc: Path, *, replace_files: bool) -> set[str]:
    """Return the names of the files that an earlier export left in ``target``.

    Raises :class:`~harness.errors.CorpusError` where something else lies there:
    a manifest and questions of somebody else's would be overwritten.
    """
    if (target / STORE).exists():
        raise CorpusError(f"{target} is a working corpus.", remedy="Export into another folder.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        if not replace_files or not target.is_dir():
            raise _already_there(target)
        try:
            return set(Interchange.read(target).files)
        except CorpusError:  # a broken or unfinished export has no list of what to clear
            if not warc.is_file():
                raise CorpusError(
                    f"{target} holds other things and no export.", remedy="Choose another place."
                ) from None
    return set()


def _already_there(target: Path) -> CorpusError:
    return CorpusError(
        f"There is already something at {target}.",
        remedy="Choose another place, or replace it with --replace.",
    )


@dataclass(frozen=True, slots=True)
class Exported:
    """What was exported: the number of entries and their digest, and what was left out."""

    entries: int
    digest: str
    problems: tuple[Problem, ...]


def _write_warc(store: Store, manifest: CorpusManifest, path: Path) -> Exported:
    problems: list[Problem] = []
    entries = 0
    if not path.parent.is_dir():
        raise MissingError(f"There is no folder {path.parent}.")
    with atomic_file(path) as file:

        def written() -> Iterator[bytes]:
            nonlocal entries
            for address, entry in store.entries():
                found = _whole(store, address, entry)
                if isinstance(found, Problem):
                    problems.append(found)
                    continue
                file.write(entry_member(*found))
                entries += 1
                yield found[0].canonical()

        file.write(info_member(replace(manifest, questions=None, questions_sha256=None)))
        digest = corpus_digest(written())
    return Exported(entries, digest, tuple(problems))


def _whole(
    store: Store, address: Address, entry: Entry | CorpusDamagedError
) -> tuple[Entry, bytes] | Problem:
    if isinstance(entry, CorpusDamagedError):
        return Problem(short_name(address), entry.message)
    try:
        return entry, store.body_of(entry)
    except CorpusDamagedError as error:
        return Problem(f"{entry.request.label} (no. {entry.ordinal})", error.message)
