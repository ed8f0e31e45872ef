"""Finding option texts inside running text: word boundaries and quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from harness.quiz import Option

__all__ = ["find_words", "joins", "quoted_options"]

_DENIALS = ("not ", "n't ", "never ", "nor ", "neither ")
_SUM_GOES_ON = re.compile(r"[+√^×÷·*/\\(]|\s?[+×÷*/^]\s?[\w√\\(]|\s-\s\d")


def joins(text: str, at: int) -> bool:
    """Whether the characters around ``at`` belong to one word or number."""
    before, after = text[at - 1 : at], text[at : at + 1]
    if not before or not after:
        return False
    if _wordy(before) and _wordy(after):
        return True
    beyond = text[at + 1 : at + 2]
    if before.isdecimal():
        more = after in ".,/:^-'" and beyond.isdecimal()
        return after in "%°" or more or bool(_SUM_GOES_ON.match(text, at))
    return before.isalpha() and after == "-" and beyond.isalnum()


def _joins_before(text: str, at: int) -> bool:
    """Whether what stands before ``at`` changes the word or number that begins there."""
    before, after = text[at - 1 : at] if at else "", text[at : at + 1]
    if not before:
        return False
    if _wordy(before) and _wordy(after):
        return True
    ahead = text[at - 2 : at - 1] if at > 1 else ""
    if after.isdecimal():
        if before == "-":
            return not ahead.isalpha()
        return before in "√^" or (before in ".,/:'+×÷·*" and ahead.isalnum())
    return after.isalpha() and before == "-" and ahead.isalnum()


def _wordy(char: str) -> bool:
    """Whether ``char`` continues a word; scripts that write no blanks never do."""
    code = ord(char)
    return char.isalnum() and not (0x0E00 <= code <= 0x0EFF or 0x2E80 <= code < 0x1F000)


def find_words(text: str, key: str, start: int) -> int:
    """Return where ``key`` stands in ``text`` as whole words, or -1."""
    at = text.find(key, start)
    while at >= 0:
        if not _joins_before(text, at) and not joins(text, at + len(key)):
            return at
        at = text.find(key, at + 1)
    return -1


def quoted_options(text: str, keys: Mapping[Option, str]) -> tuple[Option, ...]:
    """Return the options whose keys stand in ``text`` as whole words, by id.

    A text inside a longer one that was found does not count, nor one behind
    "not"; a single Latin letter counts only where it is set off.
    """
    taken = bytearray(len(text))
    hits: list[Option] = []
    for option, key in sorted(keys.items(), key=lambda item: (-len(item[1]), item[0].id)):
        lone_letter = len(key) == 1 and key.isalpha() and key < "\u0250"
        hit = False
        for at in _places(text, key):
            end = at + len(key)
            if taken[at] and taken[end - 1]:
                continue
            if lone_letter and not _set_off(text, at):
                continue
            if text[max(0, at - 8) : at].casefold().endswith(_DENIALS):
                continue
            hit = True
            taken[at:end] = b"\1" * len(key)
        if hit:
            hits.append(option)
    return tuple(sorted(hits, key=lambda option: option.id))


def _places(text: str, key: str) -> Iterator[int]:
    at = find_words(text, key, 0)
    while at >= 0:
        yield at
        at = find_words(text, key, at + len(key))


def _set_off(text: str, at: int) -> bool:
    """Whether the letter at ``at`` stands in quotes, stars or brackets."""
    return text[at - 1 : at] in tuple("\"'*_`(") and text[at + 1 : at + 2] in tuple("\"'*_`)")
