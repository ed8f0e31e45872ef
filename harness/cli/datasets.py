"""``hotseat datasets``: question files: list them, look into them, import others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli._console import counted, print_json, printable, say

if TYPE_CHECKING:
    from harness.importers import ImportReport
    from harness.question_file import LoadedQuestions
    from harness.quiz import Question
    from harness.scoring import Baseline

__all__ = ["register"]

_MAX_FILES = 1_000
_SHOWN_PROBLEMS = 5
_JSON = typer.Option("--json", help="Print one JSON document.")


def register(app: typer.Typer) -> None:
    """Add the command group ``datasets``."""
    group = typer.Typer(
        no_args_is_help=True, help="Question files: list them, look into them, import others."
    )
    group.command("list")(list_files)
    group.command("import")(import_file)
    group.command("show")(show)
    app.add_typer(group, name="datasets")


def list_files(
    folder: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Where to look, at any depth.")
    ] = Path("datasets"),
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """List question files, with how many questions of each category they hold.

    Looks in the folder 'datasets' and at the shipped recording.

    Example: hotseat datasets list --in my-questions
    """
    from harness.errors import BadInputError

    if str(folder) != "datasets" and not folder.is_dir():
        raise BadInputError(f"There is no folder {folder}.", remedy="Give --in an existing one.")
    rows = [_row(path, shipped=shipped) for path, shipped in _files(folder)]
    if as_json:
        print_json({"files": rows})
        return
    for row in rows:
        typer.echo(printable(row["path"]) + ("  (shipped)" if row["shipped"] else ""))
        if row["problem"]:
            typer.echo(printable(f"  can't be used: {row['problem']}"))
            continue
        parts = ", ".join(f"{name} {number}" for name, number in row["categories"].items())
        typer.echo(f"  {counted(row['questions'], 'question')}: {parts}")
    if not rows:
        say("No question file was found. Make one with 'hotseat datasets import FILE --to …'.")


def _files(folder: Path) -> list[tuple[Path, bool]]:
    from harness.errors import MissingError
    from harness.replay import sample_path

    found = sorted(path for path in folder.rglob("*.jsonl") if path.is_file())[:_MAX_FILES]
    files = [(path, False) for path in found]
    try:
        shipped = sample_path() / "questions.jsonl"
    except MissingError:  # an incomplete installation still has the user's own files
        return files
    return [*files, (shipped, True)] if shipped.is_file() else files


def _row(path: Path, *, shipped: bool) -> dict[str, Any]:
    from harness.errors import QuestionFileError
    from harness.question_file import load_questions

    row: dict[str, Any] = {"path": str(path), "shipped": shipped, "problem": None}
    try:
        questions = load_questions(path).questions
    except QuestionFileError as error:
        return row | {"problem": error.message, "questions": 0, "categories": {}}
    counts = Counter(question.category.value for question in questions)
    return row | {"questions": len(questions), "categories": dict(sorted(counts.items()))}


def import_file(
    source: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    target: Annotated[
        Path,
        typer.Option(
            "--to", metavar="FILE", help="Question file to add to; made if new.", show_default=False
        ),
    ],
    category: Annotated[
        str | None,
        typer.Option("--category", "-c", help="Category of questions whose own is none of ours."),
    ] = None,
    format_name: Annotated[
        str,
        typer.Option("--format", help="auto, opentdb, opentriviaqa, mmlu, bank or hotseat."),
    ] = "auto",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be taken.")
    ] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Add the questions of a foreign file to a question file.

    Reads Open Trivia DB JSON, OpenTriviaQA text, MMLU-style CSV, CSV tables
    with a header, and Hotseat's own JSON Lines. Says what was taken, and what
    was refused and why. Questions that are there already are not added again.

    Example: hotseat datasets import opentdb.json --to datasets/trivia.jsonl
    """
    from harness.importers import import_questions
    from harness.quiz import Category

    report = import_questions(
        source,
        target,
        format_name=format_name,
        category=None if category is None else Category.parse(category),
        dry_run=dry_run,
    )
    if as_json:
        print_json(_import_document(report))
    else:
        _tell_import(report)
    _fail_if_useless(report)


def _import_document(report: ImportReport) -> dict[str, Any]:
    done = report.imported
    return {
        "source": str(report.source),
        "format": done.format,
        "target": None if report.target is None else str(report.target),
        "read": done.read,
        "taken": report.taken,
        "categories": report.per_category,
        "refused": done.refused,
        "unknown_topics": done.unknown_topics,
        "examples": [
            {"line": problem.line, "reason": problem.reason.value, "detail": problem.detail}
            for problem in done.examples
        ],
        "notes": done.notes,
    }


def _tell_import(report: ImportReport) -> None:
    done = report.imported
    where = f"into {report.target}" if report.target else "(nothing was written)"
    typer.echo(
        printable(
            f"{report.source}, {done.format}: took {report.taken:,} of "
            f"{counted(done.read, 'question')} {where}"
        )
    )
    for name, number in report.per_category.items():
        typer.echo(f"  {name} {number:,}")
    for text, number in done.notes.items():
        typer.echo(printable(f"Note ({counted(number, 'time')}): {text}"))
    for reason, number in done.refused.items():
        typer.echo(f"Not taken, {reason}: {number:,}")
        for problem in done.examples:
            if problem.reason.value == reason:
                detail = f" {problem.detail}" if problem.detail else ""
                typer.echo(printable(f"  {report.source.name}:{problem.line}:{detail}"))
    if done.unknown_topics:
        topics = ", ".join(f"{topic} {number:,}" for topic, number in done.unknown_topics.items())
        typer.echo(
            printable(f"Topics without a category: {topics}. Give them one with --category.")
        )


def _fail_if_useless(report: ImportReport) -> None:
    """Raise when a file gave nothing at all, repeats not being nothing."""
    from harness.errors import BadInputError
    from harness.importers import Reason

    done = report.imported
    if report.taken or done.refused.get(Reason.DUPLICATE.value):
        return
    raise BadInputError(
        f"No question of {report.source} could be taken.",
        remedy="The list above says why." if done.read else "Is it the right format?",
    )


def show(
    path: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    category: Annotated[
        str | None, typer.Option("--category", "-c", help="Only this category.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="How many questions to print as well.")
    ] = 3,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Say what is known of a file's questions, per category.

    Known: the right option; partial: only some wrong ones; unknown: nothing.
    Beside that, what guessing would score over the known ones, with 95 %
    intervals: a random option, and always the longest one.

    Example: hotseat datasets show datasets/trivia.jsonl --category history
    """
    from harness.question_file import load_questions
    from harness.quiz import Category
    from harness.replay.selection import choose

    loaded = load_questions(path)
    wanted = () if category is None else (Category.parse(category),)
    questions = choose(loaded.questions, categories=wanted)
    groups = {
        name.value: [question for question in questions if question.category is name]
        for name in Category
    }
    summaries = {name: _summary(group) for name, group in groups.items() if group}
    if len(summaries) > 1:
        summaries["all"] = _summary(questions)
    examples = questions[:limit]
    if as_json:
        print_json(_show_document(path, loaded, summaries, examples))
        return
    _show_table(path, summaries)
    for question in examples:
        _show_question(question)
    if loaded.merged:
        say(f"{counted(loaded.merged, 'line')} only added to what is known of another.")
    for problem in loaded.problems[:_SHOWN_PROBLEMS]:
        say(str(problem))
    if len(loaded.problems) > _SHOWN_PROBLEMS:
        say(f"… and {len(loaded.problems) - _SHOWN_PROBLEMS:,} more such lines.")


def _summary(questions: Sequence[Question]) -> dict[str, Any]:
    from harness.replay.rows import make_row
    from harness.scoring import baselines
    from harness.trace import Trace

    kinds = Counter(question.gold.kind.value for question in questions)
    options = Counter(len(question.options) for question in questions)
    guessed = baselines([make_row(question, None, Trace()) for question in questions])
    return {
        "questions": len(questions),
        **{kind: kinds.get(kind, 0) for kind in ("known", "partial", "unknown")},
        "stems": len({question.key for question in questions}),
        "options": {str(number): options[number] for number in sorted(options)},
        "random": _baseline(guessed.random),
        "longest_option": _baseline(guessed.longest_option),
    }


def _baseline(found: Baseline) -> dict[str, Any]:
    return {"n": found.n, "estimate": found.estimate, "lower": found.lower, "upper": found.upper}


def _show_document(
    path: Path,
    loaded: LoadedQuestions,
    summaries: dict[str, dict[str, Any]],
    examples: Sequence[Question],
) -> dict[str, Any]:
    import json

    from harness.question_file import dump_question

    return {
        "path": str(path),
        "categories": summaries,
        "examples": [json.loads(dump_question(question)) for question in examples],
        "merged": loaded.merged,
        "problems": [str(problem) for problem in loaded.problems],
    }


def _show_table(path: Path, summaries: dict[str, dict[str, Any]]) -> None:
    head = ("CATEGORY", "QUESTIONS", "KNOWN", "PARTIAL", "UNKNOWN", "OPTIONS", "RANDOM", "LONGEST")
    table: list[tuple[str, ...]] = [head]
    for name, row in summaries.items():
        counts = [str(row[key]) for key in ("questions", "known", "partial", "unknown")]
        sizes = ", ".join(f"{count} with {size}" for size, count in row["options"].items())
        table.append((name, *counts, sizes, _share(row["random"]), _share(row["longest_option"])))
    widths = [max(len(cells[column]) for cells in table) for column in range(len(head))]
    typer.echo(printable(str(path)))
    for cells in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        typer.echo(line.rstrip())


def _share(found: dict[str, Any]) -> str:
    if found["estimate"] is None:
        return "–"
    text = f"{found['estimate']:.0%}"
    return text if found["lower"] is None else f"{text} [{found['lower']:.0%}–{found['upper']:.0%}]"


def _show_question(question: Question) -> None:
    level = f", level {question.level}" if question.level else ""
    tags = f", {', '.join(question.tags)}" if question.tags else ""
    typer.echo(printable(f"\n{question.text}\n  ({question.category.value}{level}{tags})"))
    for option in question.options:
        sign = "+" if option.text == question.gold.answer else " "
        sign = "-" if option.text in question.gold.refused else sign
        typer.echo(printable(f"  {sign} {option.text}"))
