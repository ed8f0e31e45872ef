"""From text to the terms of the lexical index, and from a query to its terms.

The same function cuts pages and queries, so the index depends on the tokenizer
of no library.  No term holds anything but letters and digits.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from harness.retrieval.lexical import cut_runs
from harness.web.query import build_query

__all__ = ["fold", "fold_in_place", "query_terms", "split_sites", "terms"]

_TERM_CHARS = 64
_QUERY_CHARS = 20_000
_QUERY_TERMS = 48
_SITES = 32

_WORD = re.compile(r"[^\W_]+")
_ACCENT = re.compile("[\u0300-\u036f]")
# Soft hyphens, marks of zero width and of direction: they stand inside words.
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# Scripts written without blanks: their runs are cut into pairs of characters.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_SITE = re.compile(r"(?<!\S)\(?\s*site:(?P<host>[^\s()\"]+)(?:\s*\))?(?:\s+OR(?=\s+site:))?", re.I)


def fold(text: str) -> str:
    """Return ``text`` without case, accents, compatibility forms and what is not seen."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text).casefold())
    return unicodedata.normalize("NFKC", _ACCENT.sub("", apart)).casefold()


def fold_in_place(text: str) -> str:
    """Return ``text`` folded as far as every character keeps its place."""
    return _NOT_ASCII.sub(lambda match: _folded_char(match.group()), text.lower()[: len(text)])


@lru_cache(maxsize=4_096)
def _folded_char(char: str) -> str:
    folded = fold(char)
    return folded if len(folded) == 1 else char


def terms(text: str) -> list[str]:
    """Return the terms of ``text`` in order, repeated ones included."""
    folded = fold(text)
    words = _WORD.findall(folded)
    if folded.isascii():  # most pages; nothing to cut in them
        return [word[:_TERM_CHARS] for word in words]
    return [part[:_TERM_CHARS] for word in words for part in cut_runs(word, _UNSPACED)]


def split_sites(query: str) -> tuple[str, tuple[str, ...]]:
    """Return a query without its ``site:`` restrictions, and the domains that they name."""
    query = query[:_QUERY_CHARS]
    domains = dict.fromkeys(
        match["host"].lower().strip(".") for match in _SITE.finditer(query) if match["host"]
    )
    rest = _SITE.sub(" ", query) if domains else query
    return " ".join(rest.split()), tuple(filter(None, domains))[:_SITES]


def query_terms(text: str) -> list[str]:
    """Return the distinct terms to look for, stop words left out, at most 48.

    ``text`` has no restrictions any more.  Where nothing but stop words is
    asked for they are looked for; empty only for a text without a letter or a
    digit.
    """
    return list(dict.fromkeys(terms(build_query(text[:_QUERY_CHARS]))))[:_QUERY_TERMS]
