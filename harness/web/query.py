"""From a question's text to a search query.

Pure functions of the question text alone: the options are not needed, so that
research can run before they are known.  Limits are those of the Brave Web
Search API, the strictest back end: 400 characters and 50 words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.web._stopwords import STOP_WORDS

__all__ = ["MAX_CHARS", "MAX_WORDS", "build_query", "restrict_to_sites"]

MAX_CHARS = 400
MAX_WORDS = 50

# A longer quotation as an exact phrase finds nothing; its words still help.
_PHRASE_WORDS = 8
# Room kept for a site restriction when the question itself is very long.
_SITE_CHARS = 160
_SITE_WORDS = 16

# Soft hyphens and zero-width marks vanish, control characters part words.
_INVISIBLE = {"Cf": "", "Cc": " ", "Zl": " ", "Zp": " "}
_SPACE = re.compile(r"\s+")
_QUOTED = re.compile(
    r"""
      "(?P<straight>[^"]+)"
    | “(?P<curly>[^“”]+)”
    | „(?P<low>[^„“”]+)[“”]
    | «(?P<angle>[^«»]+)»
    | (?<!\w)‘(?P<single>[^‘]+?)’(?!\w)
    | (?<!\w)'(?P<apostrophe>\S(?:[^']|'(?=\w))*?)'(?!\w)
    """,
    re.VERBOSE,
)
# Dashes that part clauses; a dash between figures is a range and stays.
_DASH = re.compile(r"(?<!\d)\s*[–—―]+\s*|\s*[–—―]+\s*(?!\d)|\s-+\s")
_RANGE = re.compile(r"(?<=\d)\s*[–—―]\s*(?=\d)")
_ELISION = re.compile(
    r"^(?:l|un|dell|all|dall|nell|sull|quell|quest|com|cos|dov|qual|c|d|s|m|t|v)['’](?=\w)",
    re.IGNORECASE,
)
_OUTER = ".,;:!?()[]{}<>\"'`’‘“”„«»…·|\\/*~^_=&"
_OPERATORS = frozenset({"AND", "OR", "NOT", "EXCEPT", "FALSE", "TRUE"})
# Function words that are names too when a capital or a figure follows.
_ALSO_NAMES = frozenset({"will", "may"})
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class _Unit:
    """A word, or a quoted phrase that is searched as one."""

    text: str
    phrase: bool = False
    first: bool = False
    next_is_name: bool = False

    @property
    def words(self) -> int:
        return len(self.text.split())

    def __str__(self) -> str:
        return f'"{self.text}"' if self.phrase else self.text


def build_query(text: str) -> str:
    """Return the search query for a question's text.

    Stop-words (English, or Italian where Italian ones prevail) and outer
    punctuation go; the order, quoted phrases, numbers, dates, hyphens and
    accents stay.  "NOT" and "EXCEPT" go as well: the question "which is NOT a
    planet" is answered by pages about planets, while a search engine would
    read the word as an operator.  At most ``MAX_CHARS`` characters and
    ``MAX_WORDS`` words; where nothing but stop-words was asked, the text
    itself.  Empty only for a text without anything visible in it.
    """
    plain = _visible(text)
    text = _DASH.sub(" ", _RANGE.sub("-", f" {plain} ")).strip()
    language = _language(text)
    units = list(_units(text, language))
    shouting = text.upper() == text
    kept = [unit for unit in units if not _is_noise(unit, language, shouting=shouting)]
    if not kept:
        kept = units or [_Unit(plain)]
    return _fit(kept, MAX_CHARS, MAX_WORDS)


def restrict_to_sites(query: str, domains: Sequence[str]) -> str:
    """Return ``query`` restricted to ``domains``, within the same limits.

    As many domains as fit are named, in order; a very long query loses its
    last words so that some do.  Without domains the query comes back as it is.
    """
    if not domains:
        return query
    head = query
    if len(query) > MAX_CHARS - _SITE_CHARS or len(query.split()) > MAX_WORDS - _SITE_WORDS:
        units = [unit for part in _split_phrases(query) for unit in part]
        head = _fit(units, MAX_CHARS - _SITE_CHARS, MAX_WORDS - _SITE_WORDS)
    chosen: list[str] = []
    chars, words = len(head) + len(" ()"), len(head.split())
    for domain in domains:
        term = f"site:{domain}"
        extra = len(term) + (len(" OR ") if chosen else 0)
        extra_words = 2 if chosen else 1
        if chars + extra > MAX_CHARS or words + extra_words > MAX_WORDS:
            break
        chosen.append(term)
        chars, words = chars + extra, words + extra_words
    return f"{head} ({' OR '.join(chosen)})" if chosen else head


def _visible(text: str) -> str:
    # A lone surrogate can't be sent; NFC (not NFKC) keeps "m²" as it is.
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = unicodedata.normalize("NFC", text)
    text = "".join(_INVISIBLE.get(unicodedata.category(char), char) for char in text)
    return _SPACE.sub(" ", text).strip()


def _split_phrases(text: str) -> Iterator[list[_Unit]]:
    """Yield the units of each stretch: one phrase, or the words between two."""
    end = 0
    for match in _QUOTED.finditer(text):
        yield [_Unit(word) for word in text[end : match.start()].split()]
        inner = next(group for group in match.groups() if group is not None).strip()
        if 0 < len(inner.split()) <= _PHRASE_WORDS and _WORD.search(inner):
            yield [_Unit(inner.strip(" .,;:!?").replace('"', ""), phrase=True)]
        else:
            yield [_Unit(word) for word in inner.split()]
        end = match.end()
    yield [_Unit(word) for word in text[end:].split()]


def _units(text: str, language: str) -> Iterator[_Unit]:
    """Yield words and phrases in order, cleaned, those without content left out."""
    raw = [unit for part in _split_phrases(text) for unit in part]
    first = True
    for place, unit in enumerate(raw):
        ends_sentence = not unit.phrase and unit.text[-1:] in ".?!:"
        cleaned = unit.text if unit.phrase else _clean(unit.text, language)
        if cleaned:
            following = raw[place + 1].text[:1] if place + 1 < len(raw) else ""
            name = following.isupper() or following.isdigit()
            yield _Unit(cleaned, unit.phrase, first, name)
        first = ends_sentence


def _clean(word: str, language: str) -> str:
    """Strip outer punctuation and whatever a search engine would read as syntax."""
    bare = word.strip(_OUTER)
    elided = _ELISION.match(bare) if language == "it" else None
    # L'Aquila and D'Annunzio are names, l'autore is an article and a noun.
    if elided and not (bare[0].isupper() and bare[elided.end()].isupper()):
        bare = bare[elided.end() :]
    if bare.startswith(("-", "+", "@", "#")):
        signed = bare[:1] == "-" and bare[1:2].isdigit()
        bare = f'"{bare}"' if signed else bare.lstrip("-+@#")
    return bare if any(char.isalnum() for char in bare) else ""


def _is_noise(unit: _Unit, language: str, *, shouting: bool) -> bool:
    word = unit.text
    if unit.phrase:
        return False
    if not shouting and word in _OPERATORS:
        return True
    if word.lower().replace("’", "'") not in STOP_WORDS[language]:
        return False
    if shouting:
        return True
    if len(word) > 1 and word.isupper():
        return False  # WHO, IT, US
    if word[0].isupper():
        # Inside a sentence a capital marks a name: The Who, May 1968, World War I.
        return unit.first and not (unit.next_is_name and word.lower() in _ALSO_NAMES)
    return True


def _language(text: str) -> str:
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    counts = {code: sum(word in stop for word in words) for code, stop in STOP_WORDS.items()}
    elided = sum(bool(_ELISION.match(word)) for word in words)
    return "it" if counts["it"] + elided > counts["en"] else "en"


def _fit(units: Sequence[_Unit], max_chars: int, max_words: int) -> str:
    """Join units until one more would break a limit; never empty if there is one."""
    out, words = "", 0
    for unit in units:
        longer = f"{out} {unit}" if out else str(unit)
        words += unit.words
        if len(longer) > max_chars or words > max_words:
            return out or unit.text[:max_chars].strip()
        out = longer
    return out
