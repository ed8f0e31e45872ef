"""Where a corpus comes from: an interchange folder or a WARC file, read once, in order."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from harness.corpus._files import file_sha256
from harness.corpus._manifest import (
    FORMAT,
    MANIFEST,
    QUESTIONS,
    CorpusManifest,
    Interchange,
    is_warc,
    manifest_problems,
)
from harness.corpus._values import Problem
from harness.corpus._warc_read import Damage, Recorded, WarcReader
from harness.errors import CorpusError
from harness.question_file import MAX_FILE_BYTES

__all__ = ["Source", "SourceReader"]

# Raised when unpacking the same files would give another store.
_UNPACKING: Final = "hotseat-unpacked/1"
_NO_DATE: Final = "1970-01-01T00:00:00.000000Z"


@dataclass(frozen=True, slots=True)
class Source:
    """An interchange folder or a WARC file, looked at but not yet read.

    ``problems`` are files that are missing or not what the manifest says;
    ``digest`` covers the names and bytes of all files.
    """

    path: Path
    manifest: Interchange | None
    warcs: tuple[Path, ...]
    questions: Path | None
    problems: tuple[Problem, ...]
    digest: str

    @classmethod
    def inspect(cls, path: Path) -> Source:
        """Look at a folder with a manifest, or a ``.warc`` or ``.warc.gz`` file.

        Raises :class:`~harness.errors.CorpusError` for anything else.
        """
        lines = [_UNPACKING]
        if path.is_file():
            if not is_warc(path.name):
                raise CorpusError(f"{path} is no WARC file by its name (.warc or .warc.gz).")
            lines.append(f"{path.name} {file_sha256(path)}")
            return cls(path, None, (path,), None, (), _hash(lines))
        manifest = Interchange.read(path)
        if not manifest.warcs:
            raise CorpusError(f"{path} holds no recording: neither a store nor a WARC file.")
        lines.append(file_sha256(path / MANIFEST))
        problems, found = manifest_problems(path), []
        for name, stated in sorted(manifest.files.items()):
            if not (path / name).is_file():
                problems.append(Problem(name, "the file is missing"))
                continue
            if not is_warc(name) and (path / name).stat().st_size > MAX_FILE_BYTES:
                problems.append(Problem(name, "the file is larger than any may be"))
                continue
            actual = file_sha256(path / name)
            lines.append(f"{name} {actual}")
            found.append(name)
            if stated is not None and actual != stated:
                problems.append(Problem(name, "the file is not the one that was exported"))
        questions = manifest.corpus.questions
        return cls(
            path=path,
            manifest=manifest,
            warcs=tuple(path / name for name in found if is_warc(name)),
            questions=path / questions if questions in found else None,
            problems=tuple(problems),
            digest=_hash(lines),
        )


class SourceReader:
    """Reads the WARC files of a source, one after the other, once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._told: CorpusManifest | None = None
        self._first_date: str | None = None
        self.skipped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Recorded | Damage]:
        """Yield entries and damage; a file that is no WARC at all is damage too."""
        for path in self._source.warcs:
            reader = WarcReader(path)
            try:
                for found in reader:
                    if isinstance(found, Recorded) and self._first_date is None:
                        self._first_date = found.entry.fetched_at
                    yield found
            except CorpusError as error:
                if self._source.manifest is None:
                    raise
                yield Damage(Problem(path.name, str(error)))
            self._told = self._told or reader.manifest
            self.skipped += reader.skipped

    def manifest(self) -> CorpusManifest:
        """Return the corpus's manifest; complete once the source was read."""
        if self._source.manifest is not None:
            told = self._source.manifest.corpus
            stated = self._source.manifest.files.get(told.questions or "")
        else:
            name = re.sub(r"\.warc(\.gz)?$", "", self._source.path.name)
            date = self._first_date or _NO_DATE
            told, stated = self._told or CorpusManifest(FORMAT, name, date), None
        questions = self._source.questions
        if questions is None:
            return replace(told, questions=None, questions_sha256=None)
        # As promised rather than as found, so that damage is still seen later.
        sha256 = stated or file_sha256(questions)
        return replace(told, questions=QUESTIONS, questions_sha256=sha256)


def _hash(lines: list[str]) -> str:
    return f"sha256:{hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"
