"""Questions of an imported corpus, appended to those that are there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness._question_line import identity
from harness.atomic import write_atomic
from harness.corpus._files import file_sha256
from harness.corpus._manifest import MANIFEST, QUESTIONS, CorpusManifest
from harness.corpus._values import Problem
from harness.errors import QuestionFileError
from harness.question_file import dump_question, load_questions
from harness.quiz import Question

__all__ = ["merge_questions"]


def merge_questions(
    source: Path | None, folder: Path, manifest: CorpusManifest
) -> tuple[CorpusManifest, int, list[Problem]]:
    """Append a source's questions that the corpus in ``folder`` lacks.

    A question is the same with the same category, text (without regard to
    case and spacing) and options; it is then left as it is here.  Returns the
    manifest that is now there, how many were appended, and problems.

    A kill in between leaves a manifest that promises nothing of the question
    file, and the next import completes it.
    """
    if source is None:
        return manifest, 0, []
    path = folder / (manifest.questions or QUESTIONS)
    try:
        theirs = load_questions(source).questions
    except QuestionFileError as error:
        return manifest, 0, [Problem(source.name, error.message)]
    ours: tuple[Question, ...] = ()
    before = b""
    if manifest.questions is not None and path.is_file():
        try:
            before, ours = path.read_bytes(), load_questions(path).questions
        except (OSError, QuestionFileError) as error:
            return manifest, 0, [Problem(path.name, f"questions can't be added: {error}")]
    lines = _lacking(ours, theirs)
    settled = manifest.questions is not None and manifest.questions_sha256 is not None
    if not lines and settled:
        return manifest, 0, []
    if lines:
        # In this order, a kill leaves no promise that is not kept.
        promised = replace(manifest, questions_sha256=None)
        write_atomic(folder / MANIFEST, promised.to_bytes())
        if before and not before.endswith(b"\n"):
            before += b"\n"
        write_atomic(path, before + "".join(f"{line}\n" for line in lines).encode())
    changed = replace(manifest, questions=path.name, questions_sha256=file_sha256(path))
    write_atomic(folder / MANIFEST, changed.to_bytes())
    return changed, len(lines), []


def _lacking(ours: tuple[Question, ...], theirs: tuple[Question, ...]) -> list[str]:
    have = {identity(one) for one in ours}
    names = {one.id for one in ours}
    lines = []
    for one in theirs:
        same = identity(one)
        if same in have:
            continue
        have.add(same)
        name, number = one.id, 2
        while name in names:  # that of another question here
            name, number = f"{one.id}-{number}", number + 1
        names.add(name)
        lines.append(dump_question(replace(one, id=name)))
    return lines
