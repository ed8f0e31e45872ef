"""The sample web's layouts: each puts a page's body among the clutter of its kind of site.

The six kinds in ``layouts/`` differ in their mark-up on purpose (where the
article sits, where the date is told, what surrounds it), so that text
extraction has real work to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from http import HTTPStatus

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from site_pages import HERE, Page, siblings, site_name

_COMMENTS = (
    ("marlow77", "Came here from a pub quiz argument. Thank you for settling it!"),
    ("Old Teasel", "Nicely put, though I'd have liked a picture or two."),
    ("j_ferrant", "My aunt used to say the same, and nobody at the table believed her."),
    ("anonymous", "first"),
    ("quillwort", "Small typo in the second paragraph, otherwise a lovely read."),
    ("Dunstable_Dee", "Is there a longer version of this anywhere? Asking for my class."),
)

_layouts = Environment(
    loader=FileSystemLoader(HERE / "layouts"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)


def render(page: Page, pages: Sequence[Page]) -> str:
    """Return the whole HTML document of ``page``; ``pages`` feed its link lists."""
    turn = sum(page.url.encode()) % len(_COMMENTS)
    return _layouts.get_template(f"{page.template}.html").render(
        page=page,
        site=site_name(page.host),
        body=Markup(page.body),
        day=_in_words(page.date),
        others=siblings(page, pages),
        comments=_COMMENTS[turn:] + _COMMENTS[:turn],
    )


def error_page(status: int, host: str) -> str:
    """Return the HTML with which a site excuses itself."""
    phrase = HTTPStatus(status).phrase
    return _layouts.get_template("error.html").render(status=status, phrase=phrase, host=host)


def _in_words(iso: str | None) -> str:
    if iso is None:
        return ""
    day = date.fromisoformat(iso)
    return f"{day.day} {day:%B} {day.year}"
