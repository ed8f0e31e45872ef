"""A recorded corpus: opened, asked about, checked, exported, and played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import httpx

from harness.clock import Clock, SystemClock
from harness.corpus import _questions, _verify
from harness.corpus._compact import Compacted, compact
from harness.corpus._create import make_working
from harness.corpus._derived import derived_folder
from harness.corpus._entry import Entry, corpus_digest, digest_line
from harness.corpus._export import Exported, export
from harness.corpus._fetch import Timing
from harness.corpus._guard import guarded
from harness.corpus._info import CorpusInfo, describe
from harness.corpus._key import RequestKey
from harness.corpus._locate import locate
from harness.corpus._manifest import (
    QUESTIONS,
    STORE,
    CorpusManifest,
)
from harness.corpus._merge import Merged, merge_into
from harness.corpus._miss import Recorded
from harness.corpus._source import Source
from harness.corpus._store import Store
from harness.corpus._tape import RecordTape, Refresh, ReplayTape, Tape
from harness.corpus._unpack import import_into
from harness.corpus._values import Problem
from harness.errors import CorpusError

__all__ = ["Corpus"]


class Corpus:
    """A recorded corpus.  Use it as a context manager, or close it.

    ``manifest`` says how it was made; ``problems`` what could not be read when
    it was opened or imported (the rest is usable); ``skipped`` counts records
    of an imported WARC that hold no page, by kind; ``read_only`` says that
    nothing can be recorded into it.
    """

    def __init__(
        self,
        path: Path,
        folder: Path,
        manifest: CorpusManifest,
        *,
        read_only: bool,
        source: Source | None = None,
        problems: tuple[Problem, ...] = (),
        skipped: Mapping[str, int] | None = None,
    ) -> None:
        """Use :meth:`create`, :meth:`open` or :meth:`import_from` instead."""
        self.path = path
        self.manifest = manifest
        self.skipped = dict(skipped or {})
        self._folder = folder
        self._source = source
        self._store = Store(folder / STORE, read_only=read_only)
        self._recorded: tuple[int, Recorded] | None = None
        self.problems = list(problems)
        self.problems += _questions.question_problems(
            path, folder, manifest, self.problems, source=source
        )

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        name: str,
        settings: Mapping[str, Any] | None = None,
        questions: Path | None = None,
        clock: Clock | None = None,
    ) -> Corpus:
        """Make a new, empty working corpus in the folder ``path``.

        ``settings`` are the dotted setting names that the recording is made
        with; passwords in addresses are taken out.  The question file is
        copied.  Raises :class:`~harness.errors.CorpusError` when a corpus is
        there already.
        """
        path = Path(path)
        manifest = make_working(
            path, name=name, settings=settings or {}, questions=questions, clock=clock
        )
        return cls(path, path, manifest, read_only=False)

    @classmethod
    def open(cls, path: Path | str, *, read_only: bool = False) -> Corpus:
        """Open a working corpus, an interchange folder or a WARC file.

        A working corpus in a folder that can't be written is opened read-only.
        The others are unpacked into the user's home once and opened read-only;
        damage in them is listed in ``problems``.  Raises
        :class:`~harness.errors.MissingError` when nothing is there and
        :class:`~harness.errors.CorpusError` when it is no corpus, or from a
        newer version.
        """
        at = locate(path := Path(path))
        return cls(
            path,
            at.folder,
            at.manifest,
            read_only=read_only or at.source is not None,
            source=at.source,
            problems=at.problems,
        )

    @classmethod
    def import_from(cls, source: Path | str, path: Path | str) -> Corpus:
        """Unpack an interchange folder or WARC file into a new working corpus at ``path``.

        It appears whole or not at all.  What could not be read is listed in
        the new corpus's ``problems``.  Raises like :meth:`open`, and
        :class:`~harness.errors.CorpusError` when something is at ``path``.
        """
        path = Path(path)
        problems, skipped = import_into(Path(source), path)
        manifest = CorpusManifest.read(path)
        return cls(path, path, manifest, read_only=False, problems=tuple(problems), skipped=skipped)

    @property
    def questions_path(self) -> Path | None:
        """The corpus's question file, ``None`` when it has none that can be read."""
        return _questions.question_file(self._folder, self.manifest)

    @property
    def read_only(self) -> bool:
        """Whether nothing can be recorded."""
        return self._store.read_only

    @property
    def derived(self) -> Path:
        """The folder for what can be computed again; see :mod:`harness.corpus._derived`."""
        return derived_folder(self._folder)

    def set_questions(self, questions: Path) -> None:
        """Copy a question file into the corpus, in place of the one it had."""
        self._check_writable()
        with guarded(self._folder):
            self.manifest = _questions.take_questions(questions, self._folder, self.manifest)
        self.problems = [problem for problem in self.problems if problem.where != QUESTIONS]

    def grow_questions(self) -> Path:
        """Return the question file for appending, made if need be; it has no hash from now on.

        Raises :class:`~harness.errors.CorpusError` when the corpus is read-only.
        """
        self._check_writable()
        with guarded(self._folder):
            self.manifest = _questions.grow_questions(self._folder, self.manifest)
        return self._folder / QUESTIONS

    def tape(
        self,
        mode: Literal["record", "replay"],
        *,
        inner: httpx.AsyncBaseTransport | None = None,
        refresh: Refresh = "missing",
        clock: Clock | None = None,
        timing: Timing = "measured",
    ) -> Tape:
        """Return the transport for one question.

        To record, ``inner`` is the transport to fetch through; it stays the
        caller's.  ``refresh`` says what is fetched although it is stored:
        nothing, failures (answers 429 and 5xx count as such), or everything.
        With ``timing="declared"`` seconds come from the server's
        ``Server-Timing`` header and the time from ``clock``, so that a
        recording can be rebuilt to the byte.  Raises
        :class:`~harness.errors.CorpusError` when the corpus is read-only.
        """
        if mode == "replay":
            return ReplayTape(self._store, self._requests)
        if inner is None:
            raise ValueError("recording needs a transport to fetch through")
        self._check_writable()
        return RecordTape(
            self._store, inner, refresh=refresh, clock=clock or SystemClock(), timing=timing
        )

    def _check_writable(self) -> None:
        if self.read_only:
            raise CorpusError(
                f"The corpus {self.path} is read-only.",
                remedy="'hotseat corpus import' makes a copy that can be recorded into.",
            )

    def requests(self) -> Iterator[RequestKey]:
        """Yield the distinct recorded requests, sorted by key; damaged ones left out."""
        return iter(self._requests())

    def _requests(self) -> Recorded:
        # Only a miss asks, but of misses there may be many.
        version = self._store.version()
        if self._recorded is None or self._recorded[0] != version:
            self._recorded = version, Recorded(entry.request for entry in self.entries())
        return self._recorded[1]

    def entries(self) -> Iterator[Entry]:
        """Yield all entries that can be read, sorted by key and ordinal."""
        for _, found in self._store.entries():
            if isinstance(found, Entry):  # of the others ``verify`` tells
                yield found

    def body(self, entry: Entry) -> bytes:
        """Return an entry's body, empty for a failure.

        Raises :class:`~harness.errors.CorpusDamagedError` when it is missing or
        not what was stored.
        """
        return self._store.body_of(entry)

    def digest(self) -> str:
        """Return ``sha256:…`` over all entries, whatever order or form they came in.

        A damaged entry counts as such, so the digest is not that of the
        corpus without it.
        """
        return corpus_digest(digest_line(*found) for found in self._store.entries())

    def info(self) -> CorpusInfo:
        """Count what is there; reads all entries, one after the other, but no bodies."""
        return describe(
            self._store,
            self._source,
            self.manifest,
            path=self.path,
            questions=self.questions_path,
        )

    def compact(self, *, repack: bool = False) -> Compacted:
        """Give back the room that is no longer needed; the digest stays as it is.

        With ``repack``, bodies are packed again, slower and tighter.  Raises
        :class:`~harness.errors.CorpusError` when that can't be done now.
        """
        self._check_writable()
        return compact(self._store, self._folder, repack=repack)

    def merge(self, source: Path | str, progress: _verify.Progress | None = None) -> Merged:
        """Take in all that another corpus holds: what :meth:`open` takes.

        Whole or not at all, and without effect when done again;
        :mod:`harness.corpus._merge` has the rule for conflicts.  Raises like
        :meth:`open`, and when this corpus is read-only.
        """
        self._check_writable()
        with guarded(self._folder):
            merged, self.manifest = merge_into(
                Path(source), self._folder, self._store, self.manifest, progress
            )
        return merged

    def verify(self, progress: _verify.Progress | None = None, *, jobs: int = 1) -> list[Problem]:
        """Check every byte against its hash and return all problems.

        For an interchange folder or a WARC file both it and what was unpacked
        from it are checked.  With more than one of ``jobs``, a large store is
        checked in so many processes; a script that asks for that must keep
        ``multiprocessing``'s rule of ``if __name__ == "__main__":``.
        """
        return list(self.checked(progress, jobs=jobs).problems)

    def checked(
        self, progress: _verify.Progress | None = None, *, jobs: int = 1
    ) -> _verify.StoreCheck:
        """Do what :meth:`verify` does; tell also the number of entries and the digest."""
        return _verify.verify_all(self._source, self.problems, self._store, progress, jobs=jobs)

    def export(self, target: Path | str, *, replace: bool = False) -> Exported:
        """Write the corpus as an interchange folder, or as one ``….warc.gz`` file.

        The same corpus gives the same bytes.  Returns how many entries were
        written, their digest, and as ``problems`` what was damaged, here or in
        what this corpus was read from, and so left out.  Raises
        :class:`~harness.errors.CorpusError` when something is at ``target``,
        unless ``replace`` is set.
        """
        target = Path(target)
        structural = self._store.structural_problems()
        try:
            done = export(
                self._store, self.manifest, self.questions_path, target, replace_files=replace
            )
        except OSError as error:
            raise CorpusError(f"Can't export to {target}: {error.strerror}.") from None
        told = [*self.problems, *(Problem(STORE, what) for what in structural)]
        if self._source is None:
            told += [
                _verify.lost_problem(self._store, lost) for lost in self._store.lost_addresses()
            ]
        elif not told and not done.problems and self._source.manifest is not None:
            told += _verify.promise_problems(self._source.manifest, done.entries, done.digest)
        # What never got into the store can't be exported either.
        return Exported(done.entries, done.digest, (*told, *done.problems))

    def close(self) -> None:
        """Close all handles; tapes of this corpus can't be used afterwards."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
