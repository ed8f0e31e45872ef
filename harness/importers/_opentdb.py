"""Open Trivia DB: the JSON of its API, in each of its text encodings."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO
from urllib.parse import unquote, unquote_plus

from harness.errors import BadInputError
from harness.importers._categories import OPEN_TRIVIA_DB, topic_category
from harness.importers._items import Item, Items, Note, Reason, Refused
from harness.importers._text import decode
from harness.quiz import MAX_OPTIONS

__all__ = ["read_opentdb"]

MAX_JSON_BYTES = 64 * 2**20
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_TYPES = ("multiple", "boolean")
_DIFFICULTIES = ("easy", "medium", "hard")
_MAX_CHARS = 20_000

Decoder = Callable[[str], str]


def read_opentdb(file: BinaryIO, name: str) -> Items:
    """Yield the questions of ``{"response_code": 0, "results": [...]}`` or of the bare list.

    The correct answer comes among the others in alphabetical order, so that
    its place says nothing.  Raises
    :class:`~harness.errors.BadInputError` for a file that is no such JSON.
    """
    results = _results(file, name)
    decoder, how = _decoder(results)
    if how:
        yield Note(f"texts are in the API's {how} encoding")
    yield from _items(results, decoder)


def _results(file: BinaryIO, name: str) -> list[Any]:
    data = file.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise BadInputError(f"{name} is larger than {MAX_JSON_BYTES // 2**20} MB.")
    try:
        document = json.loads(decode(data.removeprefix(b"\xef\xbb\xbf"))[0])
    except (ValueError, RecursionError):
        raise BadInputError(
            f"{name} is not valid JSON.", remedy="Save the API's reply as it is."
        ) from None
    if isinstance(document, dict):
        code = document.get("response_code", 0)
        document = document.get("results")
        if code != 0 and not document:
            raise BadInputError(
                f"{name} holds no questions: Open Trivia DB answered with code {str(code)[:20]}.",
                remedy="Ask for fewer questions, or a little later.",
            )
    if not isinstance(document, list):
        raise BadInputError(f"{name} holds no list of 'results'.")
    return document


def _decoder(results: list[Any]) -> tuple[Decoder, str]:
    """Return how texts are decoded, judged by the whole file, and its name if unusual."""
    items = [item for item in results if isinstance(item, dict)]
    kinds = {item["type"] for item in items if isinstance(item.get("type"), str)}
    if kinds and all(_from_base64(kind) in _TYPES for kind in kinds):
        return _from_base64, "base64"
    questions = [item["question"] for item in items if isinstance(item.get("question"), str)]
    if questions and not any(" " in question for question in questions):
        if any("+" in question for question in questions) and not any(
            "%20" in question for question in questions
        ):
            return unquote_plus, "URL"
        if any(_ESCAPE.search(question) for question in questions):
            return unquote, "URL (RFC 3986)"
    return html.unescape, ""


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _items(results: list[Any], decoder: Decoder) -> Iterator[Item | Refused]:
    for number, item in enumerate(results, start=1):
        try:
            yield _item(number, item, decoder)
        except _BadItemError as error:
            yield Refused(number, error.reason, str(error))


class _BadItemError(Exception):
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def _item(number: int, item: Any, decoder: Decoder) -> Item:
    if not isinstance(item, dict):
        raise _BadItemError(Reason.UNREADABLE, "it is no JSON object")
    wrong = item.get("incorrect_answers")
    if not isinstance(wrong, list):
        raise _BadItemError(Reason.UNREADABLE, "'incorrect_answers' is no list")
    if len(wrong) >= MAX_OPTIONS:
        raise _BadItemError(Reason.OPTION_COUNT, f"{len(wrong) + 1} options")
    text = _text(item, "question", decoder)
    answer = _text(item, "correct_answer", decoder)
    others = [_checked(entry, "an incorrect answer", decoder) for entry in wrong]
    topic = _text(item, "category", decoder) if item.get("category") is not None else ""
    difficulty = item.get("difficulty")
    hard = decoder(difficulty[:100]) if isinstance(difficulty, str) else ""
    return Item(
        number,
        text,
        tuple(sorted([answer, *others], key=lambda option: (option.casefold(), option))),
        answer,
        topic_category(OPEN_TRIVIA_DB, topic),
        topic=topic,
        tags=("opentdb", f"difficulty-{hard}") if hard in _DIFFICULTIES else ("opentdb",),
    )


def _text(item: dict[str, Any], name: str, decoder: Decoder) -> str:
    return _checked(item.get(name), f"'{name}'", decoder)


def _checked(value: Any, what: str, decoder: Decoder) -> str:
    if not isinstance(value, str):
        raise _BadItemError(Reason.UNREADABLE, f"{what} is no text")
    if len(value) > _MAX_CHARS:
        raise _BadItemError(Reason.TOO_LONG, f"{what} is longer than {_MAX_CHARS} characters")
    return decoder(value)
