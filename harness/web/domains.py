"""Which sites are trusted, which are of no use, which files can't be read.

Pure functions of the address.  A domain covers itself and all hosts below it,
on whole labels: ``it.wikipedia.org`` belongs to ``wikipedia.org``,
``notwikipedia.org`` does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from harness.errors import BadInputError, SettingError
from harness.quiz import Category
from harness.settings import SearchSettings

__all__ = [
    "BLOCKED",
    "TRUSTED",
    "blocked_domains",
    "host_of",
    "in_domains",
    "trusted_domains",
    "unreadable_kind",
    "unsuitable_kind",
]

# The most useful first: a long question leaves room for only a few of them.
TRUSTED: Mapping[Category, tuple[str, ...]] = {
    Category.ENTERTAINMENT: (
        "wikipedia.org",
        "britannica.com",
        "imdb.com",
        "rottentomatoes.com",
        "allmusic.com",
        "metacritic.com",
        "oscars.org",
        "grammy.com",
        "billboard.com",
        "variety.com",
        "hollywoodreporter.com",
        "rollingstone.com",
        "bbc.co.uk",
        "treccani.it",
    ),
    Category.HISTORY: (
        "wikipedia.org",
        "britannica.com",
        "worldhistory.org",
        "history.com",
        "livius.org",
        "nationalgeographic.com",
        "smithsonianmag.com",
        "britishmuseum.org",
        "nationalarchives.gov.uk",
        "archives.gov",
        "loc.gov",
        "treccani.it",
    ),
    Category.SCIENCE: (
        "wikipedia.org",
        "britannica.com",
        "nasa.gov",
        "nih.gov",
        "nature.com",
        "science.org",
        "nationalgeographic.com",
        "scientificamerican.com",
        "livescience.com",
        "esa.int",
        "usgs.gov",
        "noaa.gov",
        "treccani.it",
    ),
    Category.MATHS: (
        "wikipedia.org",
        "mathworld.wolfram.com",
        "encyclopediaofmath.org",
        "oeis.org",
        "mathshistory.st-andrews.ac.uk",
        "britannica.com",
        "proofwiki.org",
        "mathsisfun.com",
        "khanacademy.org",
        "ncatlab.org",
    ),
    Category.PHILOSOPHY: (
        "wikipedia.org",
        "plato.stanford.edu",
        "iep.utm.edu",
        "britannica.com",
        "apa.org",
        "simplypsychology.org",
        "psychologytoday.com",
        "verywellmind.com",
        "philosophybasics.com",
        "nih.gov",
        "treccani.it",
    ),
    Category.NEWS: (
        "reuters.com",
        "apnews.com",
        "bbc.com",
        "bbc.co.uk",
        "theguardian.com",
        "aljazeera.com",
        "npr.org",
        "dw.com",
        "france24.com",
        "cnn.com",
        "euronews.com",
        "ansa.it",
        "wikipedia.org",
    ),
}

BLOCKED: Mapping[str, tuple[str, ...]] = {
    "video": (
        "youtube.com",
        "youtu.be",
        "youtube-nocookie.com",
        "vimeo.com",
        "dailymotion.com",
        "dai.ly",
        "twitch.tv",
        "bilibili.com",
        "rumble.com",
        "odysee.com",
        "bitchute.com",
        "netflix.com",
        "primevideo.com",
        "disneyplus.com",
    ),
    "social": (
        "facebook.com",
        "fb.com",
        "instagram.com",
        "threads.net",
        "threads.com",
        "twitter.com",
        "x.com",
        "t.co",
        "tiktok.com",
        "reddit.com",
        "redd.it",
        "pinterest.com",
        "pinterest.co.uk",
        "pinterest.it",
        "pin.it",
        "linkedin.com",
        "lnkd.in",
        "tumblr.com",
        "snapchat.com",
        "vk.com",
        "weibo.com",
        "t.me",
        "telegram.me",
        "discord.com",
        "discord.gg",
        "bsky.app",
        "mastodon.social",
        "whatsapp.com",
    ),
    "question-and-answer": (
        "quora.com",
        "stackexchange.com",
        "stackoverflow.com",
        "superuser.com",
        "serverfault.com",
        "askubuntu.com",
        "mathoverflow.net",
        "answers.com",
        "answers.yahoo.com",
        "ask.com",
        "ask.fm",
        "brainly.com",
        "brainly.in",
        "brainly.it",
        "brainly.lat",
        "brainly.ph",
        "chegg.com",
        "coursehero.com",
        "quizlet.com",
        "studocu.com",
        "zhihu.com",
        "gauthmath.com",
        "fixya.com",
        "blurtit.com",
    ),
}

_UNREADABLE = {
    "a PDF file": "pdf",
    "an image": "jpg jpeg png gif svg webp bmp tif tiff ico avif heic",
    "sound or video": "mp3 mp4 m4a m4v avi mov mkv webm ogg ogv wav flac mpg mpeg wmv m3u8",
    "an office document": "doc docx xls xlsx ppt pptx odt ods odp rtf epub mobi djvu ps",
    "an archive or a program": "zip gz tgz bz2 xz 7z rar tar exe dmg iso apk jar deb rpm",
    "data": "csv json xml rss atom css woff woff2 ttf",
}
_KIND_BY_SUFFIX = {
    suffix: kind for kind, suffixes in _UNREADABLE.items() for suffix in suffixes.split()
}


def host_of(url: str) -> str:
    """Return the host of ``url`` in lower case without a final dot, ``""`` if it has none."""
    try:
        host = urlsplit(url).hostname
    except ValueError:  # such as an unclosed bracket
        return ""
    return (host or "").rstrip(".")


def in_domains(host: str, domains: Iterable[str]) -> bool:
    """Return whether ``host`` is one of ``domains`` or lies below one."""
    host = host.lower().rstrip(".")
    return any(host == domain or host.endswith("." + domain) for domain in domains)


def trusted_domains(category: Category, settings: SearchSettings) -> tuple[str, ...]:
    """Return the trusted domains of a category, most useful first.

    A list in the settings takes the place of the built-in one; an empty list
    switches the second, restricted search off.  Raises
    :class:`~harness.errors.SettingError` for an unknown category or a text
    that is no domain.
    """
    for name, domains in settings.trusted.items():
        try:
            named = Category.parse(name)
        except BadInputError as error:
            raise SettingError(f"search.trusted: {error.message}", remedy=error.remedy) from None
        if named is category:
            return tuple(_domain(domain, "search.trusted") for domain in domains)
    return TRUSTED.get(category, ())


def blocked_domains(settings: SearchSettings) -> Mapping[str, tuple[str, ...]]:
    """Return the domains that are dropped, by kind, those of the settings included.

    Raises :class:`~harness.errors.SettingError` for a text that is no domain.
    """
    own = tuple(_domain(domain, "search.blocked") for domain in settings.blocked)
    return {**BLOCKED, "unwanted": own} if own else BLOCKED


def unsuitable_kind(url: str, blocked: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the kind of site that makes ``url`` unsuitable, ``None`` if nothing does."""
    host = host_of(url)
    return next((kind for kind, domains in blocked.items() if in_domains(host, domains)), None)


def unreadable_kind(url: str) -> str | None:
    """Return what a file must be, going by its name, that holds no page text."""
    try:
        path = unquote(urlsplit(url).path)
    except ValueError:
        return None
    _, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return _KIND_BY_SUFFIX.get(suffix.lower()) if dot else None


def _domain(text: str, setting: str) -> str:
    """Return a domain as written in the settings, without scheme, path or ``*.``."""
    bare = text.strip().lower().removeprefix("*.").removeprefix("www.")
    host = host_of(bare if "//" in bare else f"//{bare}").removeprefix("www.")
    if not host or any(char.isspace() or char in "()\"'" for char in host):
        raise SettingError(
            f"{setting}: '{text}' is no domain.", remedy="Write it like 'example.org'."
        )
    return host
