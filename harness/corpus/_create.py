"""Making a new, empty working corpus: its manifest is written last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.atomic import write_atomic
from harness.clock import Clock, SystemClock
from harness.corpus._cache import DATABASE
from harness.corpus._fetch import iso_time
from harness.corpus._files import copy_atomic, file_sha256
from harness.corpus._manifest import (
    FORMAT,
    MANIFEST,
    QUESTIONS,
    STORE,
    CorpusManifest,
    clean_settings,
)
from harness.corpus._store import Store
from harness.errors import CorpusError, MissingError

__all__ = ["make_working", "there"]


def make_working(
    path: Path,
    *,
    name: str,
    settings: Mapping[str, Any],
    questions: Path | None,
    clock: Clock | None,
) -> CorpusManifest:
    """Make the folder, the store and the manifest of a corpus at ``path``.

    Raises :class:`~harness.errors.CorpusError` when a corpus is there already,
    or files that are none of a corpus's.
    """
    taken = CorpusError(
        f"There is already a corpus in {path}.", remedy="Open it, or choose another folder."
    )
    if (path / MANIFEST).exists():
        raise taken
    _check_foreign(path, questions)
    created = iso_time((clock or SystemClock()).now())
    # A folder's name, which a corpus is called by, may be bytes that are no text.
    text = name.encode("utf-8", "replace").decode()
    manifest = CorpusManifest(FORMAT, text, created, clean_settings(settings))
    try:
        (path / STORE).mkdir(parents=True, exist_ok=True)
        store = Store(path / STORE)
        try:
            if store.addresses():
                raise CorpusError(
                    f"{path} holds a recording without its {MANIFEST}.",
                    remedy="Restore that file, or choose another folder.",
                )
        finally:
            store.close()
        if questions is not None:
            copy_atomic(there(questions), path / QUESTIONS)
            sha256 = file_sha256(path / QUESTIONS)
            manifest = replace(manifest, questions=QUESTIONS, questions_sha256=sha256)
        # The manifest comes last: with it, the corpus is there.
        write_atomic(path / MANIFEST, manifest.to_bytes(), exclusive=True)
    except FileExistsError:
        raise taken from None
    except OSError as error:
        raise CorpusError(f"Can't make a corpus in {path}: {error.strerror}.") from None
    return manifest


def _check_foreign(path: Path, questions: Path | None) -> None:
    """Refuse a folder that holds what is no part of a corpus.

    What an interrupted creation leaves is part of one, and the question file
    may lie there already.
    """
    if not path.is_dir() or (path / STORE / DATABASE).is_file():
        return
    asked = questions.resolve() if questions is not None else None
    unfinished = (f".{MANIFEST}.", f".{QUESTIONS}.")
    for item in path.iterdir():
        if item.name == STORE and item.is_dir() and not any(item.iterdir()):
            continue
        if item.name == QUESTIONS or item.resolve() == asked or item.name.startswith(unfinished):
            continue
        raise CorpusError(
            f"{path} holds other things and no corpus: {item.name}, for example.",
            remedy="Choose a new or empty folder.",
        )


def there(questions: Path) -> Path:
    """Return ``questions`` if it is a file, else raise ``MissingError``."""
    if not questions.is_file():
        raise MissingError(f"There is no question file {questions}.")
    return questions
