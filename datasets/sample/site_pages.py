"""The sample web's pages: the ``.page`` file format and what a server answers for one.

A ``.page`` file is a header of ``name: value`` lines, an empty line and a body
of simple HTML.  The folder it lies in names its host.  ``docs/sample.md``
describes the format for writers.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

HERE = Path(__file__).resolve().parent
SITE = HERE / "site"

TEMPLATES = ("encyclopedia", "newspaper", "blog", "museum", "government", "plain")
CHARSETS = ("utf-8", "iso-8859-1")
_FIELDS = frozenset(
    {"path", "title", "date", "lang", "charset", "behaviour", "latency_ms", "template"}
)
_REQUIRED = ("path", "title", "lang", "charset", "behaviour", "latency_ms", "template")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TAG = re.compile(r"<[^>]+>")
_SPACE = re.compile(r"\s+")


class PageError(ValueError):
    """A ``.page`` file that breaks the format; the message names file and field."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the sample web.

    ``behaviour`` is the first word of the header's line (``ok``, ``redirect``,
    ``status``, ``hang``, ``no-charset-header`` or ``no-charset``) and
    ``argument`` the rest of it: the target of a redirect, the code of a
    status.  ``body`` is HTML without any page furniture.
    """

    host: str
    path: str
    title: str
    lang: str
    charset: str
    behaviour: str
    argument: str
    latency_ms: int
    template: str
    body: str
    date: str | None = None

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{self.host}{self.path}"

    @property
    def text(self) -> str:
        """The body's words, without tags."""
        return _SPACE.sub(" ", html.unescape(_TAG.sub(" ", self.body))).strip()

    @property
    def target(self) -> str:
        """Where a redirect leads, as an absolute address."""
        return urljoin(self.url, self.argument)

    @property
    def content_type(self) -> str:
        """The value of the ``Content-Type`` header."""
        declared = self.behaviour not in ("no-charset-header", "no-charset")
        return f"text/html; charset={self.charset}" if declared else "text/html"


def parse_page(host: str, text: str, name: str = "page") -> Page:
    """Read one ``.page`` file's text.

    Raises :class:`PageError` for a missing, unknown, repeated or unusable field.
    """
    head, found, body = text.replace("\r\n", "\n").partition("\n\n")
    if not found:
        raise PageError(f"{name}: no empty line between header and body")
    fields: dict[str, str] = {}
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or key not in _FIELDS or key in fields:
            raise PageError(f"{name}: unusable header line {line!r}")
        fields[key] = value
    for key in _REQUIRED:
        if not fields.get(key):
            raise PageError(f"{name}: field '{key}' is missing")
    behaviour, _, argument = fields["behaviour"].partition(" ")
    page = Page(
        host=host,
        path=fields["path"],
        title=fields["title"],
        lang=fields["lang"],
        charset=fields["charset"].lower(),
        behaviour=behaviour,
        argument=argument.strip(),
        latency_ms=_whole_number(fields["latency_ms"], name),
        template=fields["template"],
        body=body.strip() + "\n",
        date=fields.get("date") or None,
    )
    _check(page, name)
    return page


def _whole_number(text: str, name: str) -> int:
    if not text.isdecimal():
        raise PageError(f"{name}: latency_ms is not a whole number")
    return int(text)


def _check(page: Page, name: str) -> None:
    simple = page.behaviour in ("ok", "hang", "no-charset-header", "no-charset")
    redirect = page.behaviour == "redirect" and bool(page.argument)
    status = page.behaviour == "status" and re.fullmatch(r"[45]\d\d", page.argument) is not None
    wrong = {
        "path": not page.path.startswith("/"),
        "charset": page.charset not in CHARSETS,
        "behaviour": not ((simple and not page.argument) or redirect or status),
        "template": page.template not in TEMPLATES,
        "date": page.date is not None and _DATE.fullmatch(page.date) is None,
        "body": page.behaviour != "redirect" and not page.text,
    }
    for field, bad in wrong.items():
        if bad:
            raise PageError(f"{name}: field '{field}' can't be used")


def load_pages(site: Path = SITE) -> list[Page]:
    """Read all pages below ``site``, in the order of their addresses.

    Raises :class:`PageError` for a file that breaks the format or an address
    that two files claim.
    """
    pages: dict[str, Page] = {}
    for file in sorted(site.glob("*/*.page")):
        name = f"{file.parent.name}/{file.name}"
        page = parse_page(file.parent.name, file.read_text(encoding="utf-8"), name)
        if page.url in pages:
            raise PageError(f"{name}: {page.url} is already taken")
        pages[page.url] = page
    return [pages[url] for url in sorted(pages)]


def site_name(host: str) -> str:
    """Return what a site calls itself: the first label of its host, in words."""
    return host.split(".")[0].replace("-", " ").capitalize()


def siblings(page: Page, pages: Iterable[Page], count: int = 5) -> list[Page]:
    """Return other pages of the same host, starting after ``page`` and going round."""
    same = [other for other in pages if other.host == page.host]
    start = same.index(page) + 1
    turned = same[start:] + same[: start - 1]
    return turned[:count]
