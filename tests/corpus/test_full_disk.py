"""A disk that is full: one sentence, everything stored so far whole, nothing half left."""

from __future__ import annotations

import errno
import random
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.contestant.recording import record_questions
from harness.corpus import Corpus, _disk, _unpack
from harness.errors import DiskFullError
from harness.quiz import Category, Option, Question
from harness.settings import Settings

SENTENCE = "The disk is full: nothing more can be stored in "


def page(request: httpx.Request) -> httpx.Response:
    size = int(request.url.params.get("size", 2_000))
    return httpx.Response(200, content=random.Random(str(request.url)).randbytes(size))


INNER = httpx.MockTransport(page)


def record(corpus: Corpus, play: Any, *urls: str) -> list[Any]:
    return list(play(corpus.tape("record", inner=INNER), *urls))


def fill(corpus: Corpus, play: Any, size: int) -> int:
    """Record until it fails; return how many were answered."""
    for number in range(5_000):
        (found,) = record(corpus, play, f"https://e.org/{number}?size={size}")
        if not isinstance(found, httpx.Response):
            assert isinstance(found, DiskFullError), found
            assert str(found).startswith(SENTENCE)
            return number
    raise AssertionError("it was never full")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 1 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("size", [2_000, 100_000])
def test_a_full_disk_costs_nothing_that_was_stored(small_disk: Path, play: Any, size: int) -> None:
    with Corpus.create(small_disk / "corpus", name="c") as corpus:
        stored = fill(corpus, play, size)
        assert stored > 2
        assert corpus.info().entries == stored
        assert corpus.verify() == []
        rows = corpus._store._cache.file_names()
        files = {path.name for path in corpus._store.folder.rglob("*.val")}
        assert {Path(name).name for name in rows} == files
        corpus.compact()  # may not gain anything, but says so itself
        assert corpus.verify() == []
    with Corpus.open(small_disk / "corpus", read_only=True) as again:
        assert again.info().entries == stored
        urls = [f"https://e.org/{number}?size={size}" for number in range(stored)]
        answers = play(again.tape("replay"), *urls)
        assert {one.status_code for one in answers} == {200}


def test_with_room_again_the_same_corpus_goes_on(small_disk: Path, play: Any) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 500_000)
    with Corpus.create(small_disk / "corpus", name="c") as corpus:
        stored = fill(corpus, play, 2_000)
        ballast.unlink()
        (found,) = record(corpus, play, f"https://e.org/{stored}?size=2000")
        assert found.status_code == 200
        assert corpus.info().entries == stored + 1
        assert corpus.verify() == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_no_room_for_a_file(
    corpus: Corpus, play: Any, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    record(corpus, play, "https://e.org/a?size=50000")
    original = _disk.diskcache.Disk._write

    def half(self: Any, path: str, iterator: Any, mode: str, encoding: Any = None) -> int:
        original(self, path, iter([b"half"]), mode, encoding)
        raise OSError(code, "no room")

    monkeypatch.setattr(_disk.diskcache.Disk, "_write", half)
    (found,) = record(corpus, play, "https://e.org/b?size=50000")
    assert isinstance(found, DiskFullError)
    assert len(list(corpus._store.folder.rglob("*.val"))) == 1
    monkeypatch.undo()
    assert record(corpus, play, "https://e.org/b?size=50000")[0].status_code == 200
    assert corpus.verify() == []


@pytest.mark.parametrize("statement", ["INSERT", "COMMIT"])
def test_no_room_for_a_row_at_any_statement(
    corpus: Corpus, play: Any, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    record(corpus, play, "https://e.org/a?size=50000")
    cache = corpus._store._cache
    pages = cache.connection.execute("PRAGMA page_count").fetchone()[0]
    digest = corpus.digest()
    if statement == "COMMIT":

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> Any:
                if sql == "COMMIT":
                    error = sqlite3.OperationalError("database or disk is full")
                    error.sqlite_errorcode = sqlite3.SQLITE_FULL
                    raise error
                return super().execute(sql, *values)

        original = sqlite3.connect
        cache.close_all()
        monkeypatch.setattr(
            sqlite3, "connect", lambda *args, **more: original(*args, factory=Connection, **more)
        )
    else:
        cache.connection.execute(f"PRAGMA max_page_count = {pages}")
    urls = [f"https://e.org/{number}?size=30000" for number in range(4)]
    found = [one for url in urls for one in record(corpus, play, url)]
    assert isinstance(found[-1], DiskFullError)
    assert not cache.connection.in_transaction
    stored = sum(isinstance(one, httpx.Response) for one in found)
    assert corpus.info().entries == 1 + stored
    assert corpus.verify() == []
    if not stored:
        assert corpus.digest() == digest
    assert len(list(corpus._store.folder.rglob("*.val"))) == 1
    monkeypatch.undo()
    cache.close_all()
    assert record(corpus, play, "https://e.org/more?size=30000")[0].status_code == 200
    assert corpus.verify() == []


def test_recording_questions_stops_and_says_so(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def search(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        if len(asked) == 3:  # from the second question on
            pages = corpus._store._cache.connection.execute("PRAGMA page_count").fetchone()[0]
            corpus._store._cache.connection.execute(f"PRAGMA max_page_count = {pages}")
        results = [{"url": f"http://192.0.2.1/{len(asked)}", "title": "t", "content": "x " * 9000}]
        return httpx.Response(200, json={"results": results})

    settings = Settings.model_validate({"search": {"url": "http://search.example"}})
    options = (Option(0, "yes"), Option(1, "no"))
    questions = [Question(f"q{n}", Category.HISTORY, f"What is {n}?", options) for n in range(30)]
    with pytest.raises(DiskFullError, match="all that was stored before is whole"):
        record_questions(
            questions, corpus, settings=settings, inner=httpx.MockTransport(search), pause_s=0
        )
    assert 3 <= len(asked) < 30
    assert corpus.verify() == []
    assert list(corpus.entries())


def test_a_full_disk_elsewhere_stops_a_recording_too(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading pages needs room for temporary files."""
    from harness.contestant import recording

    asked: list[str] = []

    async def research(text: str, *_: Any, **__: Any) -> None:
        asked.append(text)
        raise OSError(errno.ENOSPC if len(asked) > 1 else errno.EIO, "no")

    monkeypatch.setattr(recording, "search_documents_async", research)
    settings = Settings.model_validate({"search": {"url": "http://search.example"}})
    options = (Option(0, "yes"), Option(1, "no"))
    questions = [Question(f"q{n}", Category.HISTORY, f"What is {n}?", options) for n in range(5)]
    with pytest.raises(DiskFullError, match="disk is full"):
        record_questions(questions, corpus, settings=settings, inner=INNER, pause_s=0)
    assert len(asked) == 2


def test_an_export_that_can_not_be_unpacked_says_where_room_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Corpus.create(tmp_path / "c", name="c").close()
    with Corpus.open(tmp_path / "c") as corpus:
        corpus.export(tmp_path / "out")

    def full(*_: object) -> None:
        raise DiskFullError("a folder that is gone by now")

    monkeypatch.setattr(_unpack, "unpack", full)
    with pytest.raises(DiskFullError, match=r"can't be unpacked into .*corpora.*corpus clean"):
        Corpus.open(tmp_path / "out")
