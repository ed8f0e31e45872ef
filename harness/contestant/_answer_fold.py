"""Ways to write the same text: the levels on which an answer is compared with options.

Each level is a pure function from text to key, every one coarser than the one
before: :func:`exact`, :func:`plain`, :func:`tight`, :func:`bare`.  Options may
differ in case, accents, digits or a minus sign, so a coarser level is only
asked once the finer ones found nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["bare", "exact", "numbers", "peel", "plain", "tight", "unlabelled", "unlatex"]

_PEELS = 24
_MAX_MARKS = 30  # on one letter, as in Unicode's stream-safe text
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">", "“": "”", "‘": "’", "«": "»", "„": "“"}
_SAME = frozenset("*_`~\"'$|")
_OPENERS = {close: opening for opening, close in _PAIRS.items() if close in ")]}>"}
_TRAILING = frozenset("*_`~\"'$|.,;:!?…\\/”’»“")
_LEADING = frozenset("*_`~\"'$|.,;:…\\/#>“‘«„=•→")
_DASHES = frozenset("-–—−‐‑‒―﹣－")
_END_TOKEN = re.compile(r"(?:<\|[^|<>]{1,40}\|>|</s>|<end_of_turn>)$")

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_FOLDED = str.maketrans(
    {
        **dict.fromkeys(_DASHES, "-"),
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        "\u2044": "/",
        "\u2215": "/",
    }
)
_BLANKS = re.compile(r"\s+")

_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}(?:[,'\u066c]\d{3})+)(?![\d,'])")
_DECIMAL_COMMA = re.compile(r"(?<=\d)[,\u066b](?=\d)")
_KEPT = frozenset("%/^#@°·")  # besides letters, numbers, currency and sums
_OPERATOR = re.compile(r" ?([%/^°+=<>×÷·±≤≥≠≈|]) ?")
_ARTICLE = re.compile(r"^(?:the|a|an) (?=\S)")
_NUMBER = re.compile(
    r"(?:(?<![^\W_])-)?\d+(?:\.\d+)?"
    r"|(?<!\w)(?=[ivxl])(?:xl|l?x{0,3})(?:ix|iv|v?i{0,3})(?!\w)"  # Roman, up to 89
)
_LABEL = re.compile(r"^\s*\(?([A-Ha-h])[).:]\s+(?=\S)")


def exact(text: str) -> str:
    """Return ``text`` without the white space around it."""
    return text.strip()


def plain(text: str) -> str:
    """Return ``text`` without differences of case, width, spacing, dashes and quotes.

    Superscripts become ``^2`` (plain NFKC would turn 10² into 102), digits of
    every script become ASCII, invisible characters go.
    """
    text = _RAISED.sub(lambda found: "^" + found.group().translate(_SUPERSCRIPTS), text)
    text = "".join(_visible(text))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = "".join(_ascii_digit(char) for char in text.translate(_FOLDED))
    return _BLANKS.sub(" ", text).strip()


def tight(text: str) -> str:
    """Return :func:`plain` text without LaTeX, punctuation and a leading article.

    Signs, decimal points and the symbols of sums stay: they carry meaning.
    """
    text = plain(unlatex(text)).replace("&", " and ")
    text = _THOUSANDS.sub(lambda found: re.sub(r"\D", "", found.group()), text)
    text = _DECIMAL_COMMA.sub(".", text)
    kept = "".join(_tight_char(text, at) for at in range(len(text)))
    kept = _OPERATOR.sub(r"\1", _BLANKS.sub(" ", kept).strip())
    kept = re.sub(r"^- (?=\d)", "-", kept)
    return _ARTICLE.sub("", kept)


def bare(text: str) -> str:
    """Return :func:`tight` text without accents and blanks (kept between digits)."""
    decomposed = unicodedata.normalize("NFD", tight(text))
    letters = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
    return re.sub(r"(?<!\d) | (?!\d)", "", letters)


def unlabelled(text: str) -> tuple[str, str]:
    """Split off a label that an option carries in its own text: ``B) In the …``.

    Returns the letter in upper case (or ``""``) and the text without it.
    """
    found = _LABEL.match(text)
    return (found.group(1).upper(), text[found.end() :]) if found else ("", text)


def numbers(key: str) -> tuple[str, ...]:
    """Return the numbers in a key, signs and Roman numerals included, sorted."""
    return tuple(sorted(_NUMBER.findall(key)))


def peel(text: str) -> Iterator[str]:
    """Yield ``text``, then ever less of the decoration around it.

    One layer at a time, pairs first, so that ``**$5**`` passes through ``$5``
    before it becomes ``5``.  A dash before a digit is a sign, not decoration.
    """
    text = text.strip()
    yield text
    for _ in range(_PEELS):
        peeled = _peel_one(text)
        if peeled == text:
            return
        text = peeled
        yield text


def _peel_one(text: str) -> str:
    if not text:
        return text
    end = _END_TOKEN.search(text)
    if end:
        return text[: end.start()].rstrip()
    first, last = text[0], text[-1]
    if len(text) > 1 and (_PAIRS.get(first) == last or (first == last and first in _SAME)):
        return text[1:-1].strip()
    if last in _TRAILING or _unmatched(text, _OPENERS.get(last), last):
        return text[:-1].rstrip()
    if (
        first in _LEADING
        or _unmatched(text, first, _PAIRS.get(first))
        or (first in _DASHES and not text[1:2].isdecimal())
    ):
        return text[1:].lstrip()
    return text


def _unmatched(text: str, opening: str | None, close: str | None) -> bool:
    return bool(opening and close) and text.count(str(opening)) != text.count(str(close))


def _visible(text: str) -> Iterator[str]:
    """Yield the characters that show; endless stacks of marks are cut.

    Normalising takes time quadratic in the length of such a stack.
    """
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        hidden = unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f"
        if not hidden and marks <= _MAX_MARKS:
            yield char


def _ascii_digit(char: str) -> str:
    return str(unicodedata.decimal(char)) if char.isdecimal() and char > "9" else char


def _tight_char(text: str, at: int) -> str:
    char = text[at]
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if char == ".":
        # A full stop between digits, or that opens a decimal fraction.
        return char if after.isdecimal() and not before.isalpha() else " "
    if char == "-":
        opens = after.isdecimal() and not before.isalpha()
        return char if opens or (at == 0 and text[1:3].strip().isdecimal()) else " "
    if char == "'":
        return ""
    kind = unicodedata.category(char)
    if kind[0] in "LNM" or char in _KEPT or (kind in ("Sc", "So", "Sm") and char != "~"):
        return char
    return " "


_JSON_ESCAPE = re.compile(r"\\u((?!d[89a-f])[0-9a-f]{4})", re.IGNORECASE)
_WRAPPER = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathbb|boxed|fbox|emph|mbox|operatorname)"
    r"\s{0,9}\{([^{}]*)\}"
)
_FRACTION = re.compile(r"(?:(-)\s{0,9})?\\[dt]?frac\s{0,9}\{([^{}]*)\}\s{0,9}\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\s{0,9}\{([^{}]*)\}")
_RAISED_GROUP = re.compile(r"\^\s{0,9}\{([^{}]*)\}")
_LOWERED_GROUP = re.compile(r"_\s{0,9}\{([^{}]*)\}")
_DEGREES = re.compile(r"\^?\s{0,9}\\circ(?![A-Za-z])")
_COMMAND = re.compile(r"\\([A-Za-z]{1,20})\s?|\\([^A-Za-z])")
_DOLLARS = re.compile(r"\$([^$]*)\$")
_COMMANDS = {
    "times": "×",
    "cdot": "·",
    "div": "÷",
    "pm": "±",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "ne": "≠",
    "neq": "≠",
    "approx": "≈",
    "infty": "∞",
    "degree": "°",
    "sqrt": "√",
}


def unlatex(text: str) -> str:
    r"""Return ``text`` with common LaTeX written out: ``\frac{1}{2}`` as ``1/2``.

    Unknown commands vanish; text without a backslash or dollar pair is unchanged.
    """
    if "\\" not in text and text.count("$") < 2:
        return text
    text = _JSON_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    text = text.replace("\\\\", "\\")  # as JSON escapes it
    for _ in range(4):  # nesting deeper than this is not an answer
        before = text
        text = _WRAPPER.sub(r" \1 ", text)
        text = _FRACTION.sub(r" \1\2/\3 ", text)
        text = _ROOT.sub(r"√\1", text)
        text = _RAISED_GROUP.sub(r"^\1", text)
        text = _LOWERED_GROUP.sub(r"\1", text)
        if text == before:
            break
    text = _DEGREES.sub("°", text)
    text = _COMMAND.sub(_command, text)
    return _DOLLARS.sub(r" \1 ", text)


def _command(found: re.Match[str]) -> str:
    name, symbol = found.group(1), found.group(2)
    if name is None:
        return symbol if symbol in "%$&#_{}" else " "
    if name in _COMMANDS:
        return _COMMANDS[name]
    size = "SMALL" if name[0].islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name.upper()}")
    except KeyError:
        return " "
