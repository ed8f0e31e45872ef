"""OpenTriviaQA: text files of ``#Q`` question, ``^`` answer, ``A`` to ``H`` options."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import BinaryIO

from harness.importers._categories import OPEN_TRIVIA_QA, topic_category
from harness.importers._items import Item, Items, Note, Reason, Refused
from harness.importers._text import NOT_UTF8, OVERLONG, clean_text, decode, read_lines
from harness.quiz import MAX_OPTIONS

__all__ = ["read_opentriviaqa"]

_OPTION = re.compile(r"([A-Z])(?:[ \t]+(.*))?")
_MAX_LINES = 200  # of one question; a missing blank line must not swallow a file


@dataclass(slots=True)
class _Draft:
    line: int
    text: list[str]
    answer: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    trouble: str = ""
    lines: int = 1


def read_opentriviaqa(file: BinaryIO, name: str) -> Items:
    """Yield the questions of one file, whose name is their topic.

    A question's and an answer's text may run over several lines.  An option's
    letter must be the next one, so that a text that goes on with "A " or "I "
    is not cut.
    """
    topic = PurePath(name).stem
    draft: _Draft | None = None
    for number, raw in read_lines(file):
        if raw is None:
            yield Refused(number, Reason.TOO_LONG, OVERLONG)
            draft = None
            continue
        line, is_utf8 = decode(raw)
        if not is_utf8:
            yield Note(NOT_UTF8)
        if line.startswith("#Q"):
            if draft is not None:
                yield _finish(draft, topic)
            draft = _Draft(number, [line[2:]])
        elif draft is not None:
            _take(draft, line)
        elif clean_text(line):
            yield Refused(number, Reason.UNREADABLE, "it belongs to no question")
    if draft is not None:
        yield _finish(draft, topic)


def _take(draft: _Draft, line: str) -> None:
    draft.lines += 1
    if draft.lines > _MAX_LINES:
        draft.trouble = f"it has more than {_MAX_LINES} lines"
        return
    if not clean_text(line):
        return
    option = _OPTION.fullmatch(line.rstrip())
    if line.startswith("^"):
        if draft.answer:
            draft.trouble = "it has two answers"
        draft.answer.append(line[1:])
    elif draft.answer and option and option[1] == chr(ord("A") + len(draft.options)):
        draft.options.append(option[2] or "")
    elif draft.options:  # a text that goes on: in the option, the answer or the question
        draft.options[-1] += f" {line}"
    elif draft.answer:
        draft.answer[-1] += f" {line}"
    else:
        draft.text.append(line)


def _finish(draft: _Draft, topic: str) -> Item | Refused:
    if draft.trouble:
        return Refused(draft.line, Reason.UNREADABLE, draft.trouble)
    if len(draft.options) > MAX_OPTIONS:
        return Refused(draft.line, Reason.OPTION_COUNT, f"{len(draft.options)} options")
    if not draft.answer:
        return Refused(draft.line, Reason.NO_ANSWER, "there is no line that begins with ^")
    return Item(
        draft.line,
        " ".join(draft.text),
        tuple(draft.options),
        draft.answer[0],
        topic_category(OPEN_TRIVIA_QA, topic),
        topic=topic,
        tags=("opentriviaqa",),
    )
