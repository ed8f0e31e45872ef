"""Reading hostile JSON: every field has a type and a bound, every fault one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar

from harness.games.errors import QuizProtocolError

__all__ = ["MAX_INT", "Fields", "parse_json"]

MAX_INT = 2**63 - 1
_MAX_AMOUNT = 1e18
_MAX_TIME_CHARS = 64

T = TypeVar("T")


def parse_json(body: bytes, operation: str) -> Fields:
    """Return the object that ``body`` holds.

    Raises :class:`~harness.games.errors.QuizProtocolError` when it is no JSON object.
    """
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        looks_html = body[:512].lstrip().lower().startswith((b"<!doctype", b"<html"))
        what = "a web page instead of JSON" if looks_html else "not JSON"
        raise QuizProtocolError(
            f"The quiz server's reply to '{operation}' is {what}.",
            remedy="Check the server's address.",
            operation=operation,
        ) from None
    return Fields.of(value, operation, "the reply")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


class Fields:
    """The fields of one JSON object; unknown ones are never looked at."""

    __slots__ = ("_data", "_operation", "_where")

    def __init__(self, data: dict[str, Any], operation: str, where: str) -> None:
        self._data = data
        self._operation = operation
        self._where = where

    @classmethod
    def of(cls, value: Any, operation: str, where: str) -> Fields:
        """Return a reader of ``value``, which must be an object."""
        if not isinstance(value, dict):
            raise _fault(operation, f"{where} is not an object")
        return cls(value, operation, where)

    def fault(self, message: str) -> QuizProtocolError:
        """Return the error that says ``message`` of this reply."""
        return _fault(self._operation, message)

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._data.get(name) is not None

    def raw(self, name: str) -> Any:
        """Return a field as it came, ``None`` when it is missing."""
        return self._data.get(name)

    def whole(self, name: str) -> int:
        """Return a whole number from 0 to ``MAX_INT`` (``5.0`` counts as one)."""
        value = self._needed(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._bad(name, "is not a whole number")
        if not 0 <= value <= MAX_INT:
            raise self._bad(name, f"is not between 0 and {MAX_INT}")
        return value

    def amount(self, name: str) -> float:
        """Return a finite number, 0 or more."""
        value = self._needed(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._bad(name, "is not a number")
        if not 0 <= value <= _MAX_AMOUNT or not math.isfinite(value):
            raise self._bad(name, "is not an amount of money")
        return float(value)

    def number(self, name: str) -> float:
        """Return a finite number of either sign."""
        value = self._needed(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._bad(name, "is not a number")
        if not -_MAX_AMOUNT <= value <= _MAX_AMOUNT:
            raise self._bad(name, "is too large a number")
        return float(value)

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self._needed(name)
        if not isinstance(value, bool):
            raise self._bad(name, "is not true or false")
        return value

    def text(self, name: str, *, limit: int = 500) -> str:
        """Return a text of at most ``limit`` characters that can be stored."""
        value = self._needed(name)
        if not isinstance(value, str):
            raise self._bad(name, "is not text")
        if len(value) > limit:
            raise self._bad(name, f"is longer than {limit} characters")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self._bad(name, "holds half of a Unicode surrogate pair") from None
        return value

    def moment(self, name: str) -> datetime:
        """Return an ISO-8601 time with its zone, in UTC."""
        text = self.text(name, limit=_MAX_TIME_CHARS)
        try:
            moment = datetime.fromisoformat(text)
            in_utc = moment.astimezone(UTC)
        except (ValueError, OverflowError):
            raise self._bad(name, "is not a time") from None
        if moment.tzinfo is None:
            raise self._bad(name, "is a time without its zone")
        return in_utc

    def maybe(self, read: Callable[[str], T], name: str) -> T | None:
        """Return what ``read`` makes of a field, ``None`` when it is missing or null."""
        return read(name) if self.has(name) else None

    def inner(self, name: str) -> Fields:
        """Return a reader of a field that is an object."""
        return Fields.of(self._needed(name), self._operation, f"'{name}'")

    def items(self, name: str, *, most: int) -> list[Any]:
        """Return a field that is a list of at most ``most`` entries; none when it is missing."""
        value = self._data.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._bad(name, "is not a list")
        if len(value) > most:
            raise self._bad(name, f"has more than {most} entries")
        return value

    def objects(self, name: str, *, most: int) -> list[Fields]:
        """Return readers of a field that is a list of objects."""
        return [
            Fields.of(value, self._operation, f"an entry of '{name}'")
            for value in self.items(name, most=most)
        ]

    def _needed(self, name: str) -> Any:
        value = self._data.get(name)
        if value is None:
            raise self._bad(name, "is missing")
        return value

    def _bad(self, name: str, what: str) -> QuizProtocolError:
        return _fault(self._operation, f"'{name}' of {self._where} {what}")


def _fault(operation: str, message: str) -> QuizProtocolError:
    return QuizProtocolError(
        f"The quiz server's reply to '{operation}' can't be used: {message}.", operation=operation
    )
