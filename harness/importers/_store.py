"""Adding imported questions to a question file: whole lines, at its end."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from harness.atomic import write_atomic
from harness.errors import BadInputError, QuestionFileError
from harness.importers._formats import ImportedQuestions, read_questions
from harness.question_file import append_lines, dump_question, load_questions
from harness.quiz import Category, Question

__all__ = ["ImportReport", "import_questions"]

_HEAD_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did; ``target`` is ``None`` where nothing was to be written."""

    source: Path
    target: Path | None
    imported: ImportedQuestions
    before: int

    @property
    def taken(self) -> int:
        """How many lines were added, or would have been."""
        return len(self.imported.questions)

    @property
    def per_category(self) -> dict[str, int]:
        """How many questions of each category were taken."""
        found = [question.category for question in self.imported.questions]
        return {category.value: found.count(category) for category in Category if category in found}


def import_questions(
    source: Path,
    target: Path,
    *,
    format_name: str = "auto",
    category: Category | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Add the questions of ``source`` to the question file ``target``.

    A question that is there already is not added again; one that says more of
    the answer is, and one that contradicts is refused.  A new file appears
    whole or not at all; an old one is only added to, and cut back to what it
    was if that fails.

    Raises :class:`~harness.errors.BadInputError` for a source that can't be
    used, and :class:`~harness.errors.QuestionFileError` for such a target.
    """
    known = _known(target)
    imported = read_questions(source, format_name=format_name, category=category, known=known)
    if imported.questions and not dry_run:
        lines = "".join(f"{dump_question(question)}\n" for question in imported.questions)
        try:
            _add(target, lines.encode())
        except OSError as error:
            raise QuestionFileError(
                f"Can't write {target}: {error.strerror or error}.",
                remedy="What was in it before is unchanged.",
            ) from None
    return ImportReport(source, None if dry_run else target, imported, len(known))


def _known(target: Path) -> tuple[Question, ...]:
    if "\0" in str(target):
        raise BadInputError("The target's path holds a null character.")
    try:
        if not os.path.lexists(target):
            if not target.parent.is_dir():
                raise BadInputError(
                    f"There is no folder {target.parent} to write to.", remedy="Make it first."
                )
            return ()
        if not target.is_file():
            raise BadInputError(f"{target} is no file to add questions to.")
        with target.open("rb") as file:
            if not file.read(_HEAD_BYTES).strip() and not file.read(1):
                return ()  # nothing but blank lines, which is no question file yet
    except OSError as error:
        raise QuestionFileError(f"Can't read {target}: {error.strerror or error}.") from None
    return load_questions(target).questions


def _add(target: Path, data: bytes) -> None:
    if not target.exists():
        write_atomic(target, data)
        return
    append_lines(target, data)
