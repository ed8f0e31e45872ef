"""The corpus that a recording goes into: made, or opened to go on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.clock import VirtualClock
from harness.contestant.checks import check_settings
from harness.errors import BadInputError, MissingError
from harness.question_file import LoadedQuestions, load_questions
from harness.settings import CORPUS_GROUPS, Settings, resolve
from harness.web.searxng import search_address

if TYPE_CHECKING:
    from harness.corpus import Corpus

__all__ = ["open_for_play", "open_recording", "recording_into"]

# What a folder says of these must not send requests to places that the user
# did not name; and which server answered is no part of a recording anyway.
_MANIFEST = "manifest.json"
_QUESTIONS = "questions.jsonl"
_STORE = "store"
_NEVER_FROM_CORPUS = frozenset({"search.url", "fetch.allow_hosts"})


@contextmanager
def recording_into(
    path: Path,
    questions: Path,
    loaded: LoadedQuestions,
    *,
    assignments: Mapping[str, Any],
    moment: datetime | None = None,
) -> Iterator[tuple[Corpus, Settings]]:
    """Give what :func:`open_recording` gives, and close it.

    If the block ends with an error before anything was stored in a corpus
    that is new, what was made is removed again: it would look like a
    recording that can be replayed.  Raises like :func:`open_recording`.
    """
    there = _names(path) if path.is_dir() else None
    corpus, settings = open_recording(
        path, questions, loaded, assignments=assignments, moment=moment
    )
    try:
        try:
            yield corpus, settings
        except BaseException:
            unused = _MANIFEST not in (there or ()) and _is_blank(corpus)
            corpus.close()
            if unused:
                _remove(path, there)
            raise
    finally:
        corpus.close()


def _remove(path: Path, there: frozenset[str] | None) -> None:
    """Remove a corpus but for the names that were ``there`` before it (``None``: no folder)."""
    if there is None:
        shutil.rmtree(path, ignore_errors=True)
        return
    (path / _MANIFEST).unlink(missing_ok=True)
    for name in _names(path) & {_QUESTIONS, _STORE} - there:
        if (path / name).is_dir():
            shutil.rmtree(path / name, ignore_errors=True)
        else:
            (path / name).unlink()


def _names(folder: Path) -> frozenset[str]:
    return frozenset(entry.name for entry in folder.iterdir())


def open_recording(
    path: Path,
    questions: Path,
    loaded: LoadedQuestions,
    *,
    assignments: Mapping[str, Any],
    moment: datetime | None = None,
) -> tuple[Corpus, Settings]:
    """Make the corpus in the folder ``path``, or open it to go on, and settle the settings.

    ``loaded`` is what the file ``questions`` holds; the file is copied in.
    ``assignments`` are settings by dotted name; those that are not named come
    from the corpus, if it is there, but for the addresses that it may not
    choose.  Search and fetch settings that differ from the defaults are kept
    in the manifest, so that a replay needs none.  ``moment`` dates a new
    corpus.

    Raises :class:`~harness.errors.BadInputError` when what was recorded before
    could not be replayed any more: under other settings, or without its
    questions; :class:`~harness.errors.SettingError` for settings that can't be
    searched with, before anything is made; and like ``Corpus.create`` and ``Corpus.open``.
    """
    from harness.corpus import Corpus

    if path.exists() and not path.is_dir():
        raise MissingError(f"{path} is not a folder.", remedy="Name one with --corpus.")
    if not (path / _MANIFEST).exists():
        return _create(path, questions, assignments, moment)
    corpus = Corpus.open(path)
    try:
        if _is_blank(corpus):
            # The server was not there last time; nothing to stay true to.
            corpus.close()
            (path / _MANIFEST).unlink()
            return _create(path, questions, assignments, moment)
        settings = resolve(corpus=_may_choose(corpus), assignments=assignments).settings
        check_settings(settings)
        _check_settings(corpus, settings)
        _check_questions(corpus, questions, loaded)
        corpus.set_questions(questions)
    except BaseException:
        corpus.close()
        raise
    return corpus, settings


def open_for_play(
    path: Path, *, preset: str, assignments: Mapping[str, Any]
) -> tuple[Corpus, Settings]:
    """Make the corpus that live games are recorded into, or open it to go on.

    The settings are those of :func:`open_recording`, over ``preset``; the
    question file grows with the games.  Raises as that does.
    """
    from harness.corpus import Corpus

    if path.exists() and not path.is_dir():
        raise MissingError(f"{path} is not a folder.", remedy="Name one with --record.")
    if not (path / _MANIFEST).exists():
        settings = resolve(preset=preset, assignments=assignments).settings
        check_settings(settings)
        remembered = _remembered(settings)
        return Corpus.create(path, name=path.absolute().name, settings=remembered), settings
    corpus = Corpus.open(path)
    if corpus.read_only:
        corpus.close()
        raise BadInputError(
            f"{path} can't be recorded into: it is read-only.",
            remedy="Copy it with 'hotseat corpus import', or name another folder.",
        )
    try:
        settings = resolve(
            preset=preset, corpus=_may_choose(corpus), assignments=assignments
        ).settings
        check_settings(settings)
        _check_settings(corpus, settings)
    except BaseException:
        corpus.close()
        raise
    return corpus, settings


def _may_choose(corpus: Corpus) -> dict[str, Any]:
    """Return the settings of a corpus but for the addresses that it may not choose."""
    return {
        name: value
        for name, value in corpus.manifest.settings.items()
        if name not in _NEVER_FROM_CORPUS
    }


def _create(
    path: Path, questions: Path, assignments: Mapping[str, Any], moment: datetime | None
) -> tuple[Corpus, Settings]:
    from harness.corpus import Corpus

    settings = resolve(assignments=assignments).settings
    check_settings(settings)  # wrong ones are told before anything is made
    corpus = Corpus.create(
        path,
        name=path.absolute().name,
        settings=_remembered(settings),
        questions=questions,
        clock=VirtualClock(wall=moment) if moment is not None else None,
    )
    return corpus, settings


def _is_blank(corpus: Corpus) -> bool:
    """Return whether nothing was recorded yet, not even something damaged."""
    if corpus.read_only or next(corpus.entries(), None) is not None:
        return False
    return corpus.info().damaged == 0


def _remembered(settings: Settings) -> dict[str, Any]:
    """Return the settings that a replay needs: how was searched and fetched."""
    defaults = Settings().flat()
    return {
        name: value
        for name, value in settings.flat().items()
        if name.partition(".")[0] in CORPUS_GROUPS and value != defaults[name]
    }


def _check_settings(corpus: Corpus, settings: Settings) -> None:
    """Refuse settings under which the earlier part of a recording would not be found."""
    before, now = dict(corpus.manifest.settings), _remembered(settings)
    # Which server is asked makes no difference to a replay; the path on it does.
    for values in (before, now):
        url = values.pop("search.url", Settings().search.url)
        values["search.url"] = urlsplit(search_address(str(url))[0]).path
    names = sorted(before.keys() | now.keys())
    for name in names:
        if before.get(name) != now.get(name):
            was, wanted = (values.get(name, "its default") for values in (before, now))
            raise BadInputError(
                f"{corpus.path} was recorded with {name} = {was}, which is now {wanted}: "
                "a replay could not serve both.",
                remedy=f"Set {name} as it was, or record into another folder.",
            )


def _check_questions(corpus: Corpus, questions: Path, loaded: LoadedQuestions) -> None:
    """Refuse a question file that would push others out of the corpus."""
    if corpus.questions_path is None:
        return
    kept = {question.key for question in loaded.questions}
    held = load_questions(corpus.questions_path).questions
    lost = sum(question.key not in kept for question in held)
    if lost:
        raise BadInputError(
            f"{corpus.path} holds {lost} question{'s' * (lost != 1)} that {questions} lacks.",
            remedy="Put all questions into one file, or record into another folder.",
        )
