"""One line of a question file: read, checked, written.

See :mod:`harness.question_file` for the fields.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from harness.errors import HotseatError, QuestionFileError, nearest_name
from harness.quiz import MAX_OPTIONS, MIN_OPTIONS, Category, Gold, Option, Question

__all__ = [
    "bad",
    "check_consistent",
    "dump_question",
    "identity",
    "parse_line",
    "parse_question",
    "shown",
]

_FIELDS = ("question", "options", "category", "answer", "refused", "id", "level", "tags")
_NEAR = 0.75  # how like a known field a misspelt one is, from 0 to 1
_MAX_FIELD_CHARS = 20
_MAX_LEVEL = 2**63 - 1  # what a table's column holds; quizzes without an end have no other
_MAX_OPTION_ID = 1_000_000_000
_MAX_ID_CHARS = 200


def parse_question(raw: bytes) -> Question:
    """Read one line.

    Raises :class:`~harness.errors.QuestionFileError` whose ``message`` says
    what is wrong, without naming the line.
    """
    return parse_line(raw)[0]


def parse_line(raw: bytes) -> tuple[Question, tuple[str, ...]]:
    """Read one line; returns its question and what is doubtful about it, one sentence each.

    Doubtful is a field that is not known but spelt like one that is missing.
    Raises as :func:`parse_question` does.
    """
    record = _parse_json(raw)
    question = _question(record)
    return question, tuple(
        f"Unknown field {shown(given)}; did you mean '{meant}'?"
        for meant, given in _misspelt(record).items()
    )


def _misspelt(record: dict[str, Any]) -> dict[str, str]:
    """Return the field that was written, by the missing one that must have been meant."""
    missing = [name for name in _FIELDS if name not in record]
    found: dict[str, str] = {}
    for given in record:
        if given in _FIELDS or len(given) > _MAX_FIELD_CHARS:
            continue
        for meant in get_close_matches(given.casefold(), missing, n=1, cutoff=_NEAR):
            found.setdefault(meant, given)
    return found


def _question(record: dict[str, Any]) -> Question:
    text = _text(record, "question")
    category = _category(record)
    if "options" not in record:
        raise _missing(record, "options")
    options = _options(record["options"])
    gold = _gold(record, [option.text for option in options])
    tags = _texts(record, "tags")
    level = record.get("level")
    if level is not None and not (_is_int(level) and level >= 1):
        raise bad("'level' must be a whole number, 1 or more")
    if level is not None and level > _MAX_LEVEL:
        raise bad("'level' is too large a number")
    question = Question(
        id="",
        category=category,
        text=text,
        options=options,
        gold=gold,
        level=level,
        tags=tuple(dict.fromkeys(tags)),
    )
    return replace(question, id=_id(record.get("id"), question))


def dump_question(question: Question) -> str:
    """Return the line (without its end) that :func:`load_questions` reads back."""
    plain = all(option.id == place for place, option in enumerate(question.options))
    record: dict[str, Any] = {"id": question.id, "category": question.category.value}
    if question.level is not None:
        record["level"] = question.level
    record["question"] = question.text
    record["options"] = [
        option.text if plain else {"id": option.id, "text": option.text}
        for option in question.options
    ]
    if question.gold.answer is not None:
        record["answer"] = question.gold.answer
    if question.gold.refused:
        record["refused"] = list(question.gold.refused)
    if question.tags:
        record["tags"] = list(question.tags)
    return json.dumps(record, ensure_ascii=False)


def identity(question: Question) -> str:
    """Return what makes two lines the same question: key and set of option texts."""
    texts = json.dumps(sorted(option.text for option in question.options))
    return hashlib.sha256(f"{question.key}\n{texts}".encode()).hexdigest()


def _parse_json(raw: bytes) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad(f"byte {error.start + 1} of the line is not UTF-8") from None
    try:
        record = json.loads(text)
    except RecursionError:
        raise bad("the line is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise bad(f"not valid JSON: {error.msg.lower()} at column {error.colno}") from None
    except ValueError:  # a number of thousands of digits
        raise bad("not valid JSON: a number is too long") from None
    if not isinstance(record, dict):
        raise bad("the line is not a JSON object")
    return record


def _text(record: dict[str, Any], name: str) -> str:
    if name not in record:
        raise _missing(record, name)
    return _checked(record[name], f"'{name}'")


def _missing(record: dict[str, Any], name: str) -> QuestionFileError:
    given = _misspelt(record).get(name)
    return bad(f"'{name}' is missing", f" Is {shown(given)} meant to be it?" if given else "")


def _checked(value: Any, what: str) -> str:
    """Return a text that can be stored and shown; blank ones are refused."""
    if not isinstance(value, str):
        raise bad(f"{what} must be text")
    if not value.strip():
        raise bad(f"{what} is empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise bad(f"{what} holds half of a Unicode surrogate pair") from None
    return value


def _texts(record: dict[str, Any], name: str) -> tuple[str, ...]:
    value = record.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise bad(f"'{name}' must be a list of texts")
    return tuple(_checked(item, f"an entry of '{name}'") for item in value)


def _category(record: dict[str, Any]) -> Category:
    try:
        return Category.parse(_clean(_text(record, "category")))
    except QuestionFileError:
        raise
    except HotseatError as error:
        raise QuestionFileError(str(error)) from None


def _options(value: Any) -> tuple[Option, ...]:
    if not isinstance(value, list):
        raise bad("'options' must be a list")
    if not MIN_OPTIONS <= len(value) <= MAX_OPTIONS:
        there = "there is 1 option" if len(value) == 1 else f"there are {len(value)} options"
        raise bad(f"{there}; {MIN_OPTIONS} to {MAX_OPTIONS} are allowed")
    options = []
    for place, item in enumerate(value):
        what = f"option {place + 1}"
        number = place
        if isinstance(item, dict):
            number, item = item.get("id", place), item.get("text")
            if not (_is_int(number) and 0 <= number <= _MAX_OPTION_ID):
                raise bad(f"the id of {what} must be a whole number, 0 or more")
        options.append(Option(number, _checked(item, what)))
    if len({option.id for option in options}) < len(options):
        raise bad("two options share one id")
    return tuple(options)


def _gold(record: dict[str, Any], texts: Sequence[str]) -> Gold:
    answer = None if record.get("answer") is None else _text(record, "answer")
    refused = tuple(dict.fromkeys(_texts(record, "refused")))
    for name, text in [("answer", answer), *(("refused text", text) for text in refused)]:
        if text is not None and text not in texts:
            hint = nearest_name(_clean(text), [_clean(option) for option in texts])
            raise bad(f"the {name} {shown(text)} is not among the options", hint)
    check_consistent(answer, refused, texts)
    return Gold(answer, refused)


def check_consistent(answer: str | None, refused: Sequence[str], texts: Sequence[str]) -> None:
    """Raise if what is known of the answer to options ``texts`` can't all be true."""
    if answer is not None and answer in refused:
        raise bad(f"{shown(answer)} is both the answer and refused")
    if set(refused) >= set(texts):
        raise bad("every option is refused")


def _id(value: Any, question: Question) -> str:
    if value is None:
        return f"q-{identity(question)[:10]}"
    if _is_int(value):
        value = str(value)
    text = _checked(value, "'id'")
    if len(text) > _MAX_ID_CHARS or not text.isprintable():
        raise bad(f"'id' must be printable and at most {_MAX_ID_CHARS} characters long")
    return text


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _clean(text: str) -> str:
    """Return a text fit for a message: one line, no control characters, bounded."""
    clean = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return f"{clean[:77]}…" if len(clean) > 78 else clean


def shown(text: str | None) -> str:
    """Return a text quoted for a message."""
    return f"'{_clean(text or '')}'"


def bad(message: str, hint: str = "") -> QuestionFileError:
    """Return the error that says ``message`` as one sentence."""
    return QuestionFileError(f"{message[0].upper()}{message[1:]}.{hint}")
