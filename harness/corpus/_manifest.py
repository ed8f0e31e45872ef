"""``manifest.json``: what a corpus is called and how it was recorded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from harness.corpus._files import plain_name, read_bounded
from harness.corpus._limits import MAX_MANIFEST_BYTES
from harness.corpus._secrets import scrub_text
from harness.corpus._values import Problem, RequestPolicy
from harness.errors import CorpusError

__all__ = [
    "FORMAT",
    "MANIFEST",
    "QUESTIONS",
    "STORE",
    "CorpusManifest",
    "Interchange",
    "clean_settings",
    "is_warc",
    "manifest_problems",
]

MANIFEST: Final = "manifest.json"
QUESTIONS: Final = "questions.jsonl"
STORE: Final = "store"

_VERSION: Final = 1
FORMAT: Final = f"hotseat-corpus/{_VERSION}"

_FORMAT = re.compile(r"hotseat-corpus/([0-9]{1,6})")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_FILES: Final = 1_000
_CHECKSUM: Final = "sha256"


@dataclass(frozen=True, slots=True)
class CorpusManifest:
    """A corpus's name, time of creation (UTC) and the settings it was made with.

    ``questions`` is the name of its question file, in the same folder;
    ``questions_sha256`` (``sha256:…``) that of its content when it came in.
    ``format`` numbers the layout of all that a corpus holds.
    """

    format: str
    name: str
    created: str
    settings: dict[str, Any] = field(default_factory=dict)
    questions: str | None = None
    questions_sha256: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as a JSON object; an unknown hash is left out."""
        value = asdict(self)
        if self.questions_sha256 is None:
            del value["questions_sha256"]
        return value

    def to_bytes(self, **extra: Any) -> bytes:
        """Return the manifest as JSON for people, with ``extra`` members and a checksum."""
        value = {**self.to_dict(), **extra}
        value[_CHECKSUM] = _checksum(value)
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
        return f"{text}\n".encode()

    @classmethod
    def read(cls, folder: Path) -> CorpusManifest:
        """Read a folder's manifest.

        Raises :class:`~harness.errors.CorpusError` when it is none, is from a
        newer version, or names a file outside the folder.
        """
        where = folder / MANIFEST
        return cls.parse(_bytes(where), where)

    @classmethod
    def parse(cls, data: bytes, where: Path) -> CorpusManifest:
        """Read a manifest's bytes; ``where`` is named in errors. See :meth:`read`."""
        value = _load(data, where)
        _check_format(value, where)
        name, created = value.get("name"), value.get("created")
        settings, questions = value.get("settings", {}), value.get("questions")
        if not isinstance(name, str) or not isinstance(created, str):
            raise CorpusError(f"{where} lacks the corpus's name or time of creation.")
        if not isinstance(settings, dict):
            raise CorpusError(f"{where} has settings that are no object.")
        if questions is not None:
            plain_name(questions, where.parent, where)
        sha256 = value.get("questions_sha256") if questions is not None else None
        known = sha256 if isinstance(sha256, str) else None
        return cls(value["format"], name, created, settings, questions, known)


@dataclass(frozen=True, slots=True)
class Interchange:
    """The manifest of an exported folder: the corpus's own, and what lies beside it.

    ``files`` holds ``sha256:<hex>`` by file name; ``entries`` and ``digest``
    are what a complete reading must come to (``None`` where unknown).
    """

    corpus: CorpusManifest
    files: dict[str, str | None]
    entries: int | None
    digest: str | None

    @property
    def warcs(self) -> list[str]:
        """The names of the WARC files, sorted."""
        return sorted(name for name in self.files if is_warc(name))

    @classmethod
    def read(cls, folder: Path) -> Interchange:
        """Read an exported folder's manifest; see :meth:`CorpusManifest.read`."""
        where = folder / MANIFEST
        data = _bytes(where)
        corpus = CorpusManifest.parse(data, where)
        value = _load(data, where)
        listed = value.get("files")
        if listed is None:  # made by hand
            listed = {path.name: None for path in folder.iterdir() if is_warc(path.name)}
        if not isinstance(listed, dict) or len(listed) > _MAX_FILES:
            raise CorpusError(f"{where} does not list its files by name.")
        for name, digest in listed.items():
            plain_name(name, folder, where)
            if digest is not None and not _SHA256.fullmatch(str(digest)):
                raise CorpusError(f"{where} has no SHA-256 for {name}.")
        if corpus.questions is not None:
            listed.setdefault(corpus.questions, None)
        entries, digest = value.get("entries"), value.get("digest")
        return cls(
            corpus,
            listed,
            entries if isinstance(entries, int) else None,
            digest if isinstance(digest, str) else None,
        )


def is_warc(name: str) -> bool:
    """Return whether a file's name says that it is a WARC file."""
    return name.endswith((".warc", ".warc.gz"))


def clean_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they may be shared: passwords in addresses taken out.

    Raises :class:`~harness.errors.CorpusError` for values that are not JSON.
    """
    policy = RequestPolicy()

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            value = value.encode("utf-8", "replace").decode()
            return scrub_text(value, (), policy) if "://" in value else value
        if isinstance(value, Mapping):
            return {str(name): clean(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        return value

    cleaned = clean(settings)
    try:
        loaded: dict[str, Any] = json.loads(json.dumps(cleaned, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise CorpusError(f"The settings of a corpus must be JSON values: {error}.") from None
    return loaded


def manifest_problems(folder: Path, where: str = MANIFEST) -> list[Problem]:
    """Return that a folder's manifest does not fit its checksum, if it has one.

    Raises like :meth:`CorpusManifest.read` when it is no JSON object.
    """
    path = folder / MANIFEST
    value = _load(read_bounded(path, MAX_MANIFEST_BYTES), path)
    if _CHECKSUM in value:
        fits = value[_CHECKSUM] == _checksum(value)
    else:
        # Older, or made by hand; unless the checksum is there under a damaged name.
        hashes = [name for name, item in value.items() if _SHA256.fullmatch(str(item))]
        fits = all(value[name] != _checksum(value, name) for name in hashes)
    if fits:
        return []
    what = (
        "it does not fit its own checksum; if you changed it on purpose, "
        f'remove the line "{_CHECKSUM}" from it'
    )
    return [Problem(where, what)]


def _checksum(value: Mapping[str, Any], name: str = _CHECKSUM) -> str:
    """Return the hash of all members but the one called ``name``."""
    rest = {key: item for key, item in value.items() if key != name}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _bytes(where: Path) -> bytes:
    if not where.exists():
        raise CorpusError(
            f"{where.parent} is no corpus: there is no {where.name} in it.",
            remedy="Name the folder of a corpus, or a .warc or .warc.gz file.",
        )
    return read_bounded(where, MAX_MANIFEST_BYTES)


def _load(data: bytes, where: Path) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise CorpusError(f"{where} is not a corpus's manifest: it holds no JSON object.")
    return value


def _check_format(value: dict[str, Any], where: Path) -> None:
    match = _FORMAT.fullmatch(str(value.get("format")))
    if match is None:
        raise CorpusError(f"{where} is not a corpus's manifest: it names no format.")
    if int(match[1]) > _VERSION:
        raise CorpusError(
            f"{where} is of format {match[1]}, made by a newer Hotseat; "
            f"this one reads up to format {_VERSION}.",
            remedy="Upgrade Hotseat.",
        )
    if int(match[1]) < 1:
        raise CorpusError(f"{where} names a format that never was.")
