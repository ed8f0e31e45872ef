"""A corpus's question file: taken in with its hash, and compared with it later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.atomic import write_atomic
from harness.corpus._create import there
from harness.corpus._files import copy_atomic, file_sha256
from harness.corpus._manifest import MANIFEST, QUESTIONS, CorpusManifest
from harness.corpus._source import Source
from harness.corpus._values import Problem
from harness.question_file import MAX_FILE_BYTES

__all__ = ["grow_questions", "question_file", "question_problems", "take_questions"]


def question_file(folder: Path, manifest: CorpusManifest) -> Path | None:
    """Return the question file that a manifest names, ``None`` if it can't be read at all."""
    path = folder / (manifest.questions or "")
    if manifest.questions is None or not path.is_file():
        return None
    return path if path.stat().st_size <= MAX_FILE_BYTES else None


def take_questions(questions: Path, folder: Path, manifest: CorpusManifest) -> CorpusManifest:
    """Copy a question file into a corpus's folder; return the manifest that is now there.

    Raises :class:`~harness.errors.MissingError` when there is no such file.
    """
    copy_atomic(there(questions), folder / QUESTIONS)
    sha256 = file_sha256(folder / QUESTIONS)
    changed = replace(manifest, questions=QUESTIONS, questions_sha256=sha256)
    if changed != manifest:
        write_atomic(folder / MANIFEST, changed.to_bytes())
    return changed


def grow_questions(folder: Path, manifest: CorpusManifest) -> CorpusManifest:
    """Let a corpus's question file grow: make it if need be, and expect no hash of it.

    Games add to the file line by line.  Return the manifest that is now there.
    """
    path = folder / QUESTIONS
    path.touch()
    changed = replace(manifest, questions=QUESTIONS, questions_sha256=None)
    if changed != manifest:
        write_atomic(folder / MANIFEST, changed.to_bytes())
    return changed


def question_problems(
    corpus: Path,
    folder: Path,
    manifest: CorpusManifest,
    known: Sequence[Problem],
    *,
    source: Source | None,
) -> list[Problem]:
    """Return that the question file is not the one that came in, unless that is ``known``.

    ``folder`` is where the corpus named ``corpus`` lies, unpacked if it has a ``source``.
    """
    name = manifest.questions
    if name is None or any(problem.where == name for problem in known):
        return []
    path = folder / name
    if not path.is_file():
        return [Problem(name, "the question file is missing")]
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return [Problem(name, "the question file is larger than any may be")]
        sha256 = manifest.questions_sha256
        if sha256 is None or sha256 == file_sha256(path):
            return []
    except OSError as error:
        return [Problem(name, f"the question file can't be read: {error.strerror}")]
    if source is not None:
        return [Problem(str(path), "the unpacked copy is not the file that was exported")]
    what = (
        "it is not the question file that was recorded with; if you changed it on purpose, "
        f"accept it with 'hotseat record --questions {path} --corpus {corpus}'"
    )
    return [Problem(name, what)]
