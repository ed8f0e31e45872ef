"""Killed writers, flipped bytes, foreign files, several processes at once."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from harness.corpus import Corpus
from harness.corpus_index import CorpusIndex
from harness.errors import CorpusDamagedError, CorpusError

BUILD = """
import os, signal, sys
from harness.corpus import Corpus
from harness.corpus_index import CorpusIndex, _update
_update._READ_BATCH = 3
path, step = sys.argv[1], int(sys.argv[2])
left = [step]
def count(name, original):
    def counted(*args, **named):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **named)
    return counted
if step:
    for name in ("_insert", "_source", "_finish"):
        setattr(_update._Update, name, count(name, getattr(_update._Update, name)))
with Corpus.open(path) as corpus, CorpusIndex.open(corpus) as index:
    index.update()
    print([hit.url for hit in index.search("lighthouse harbour", limit=50)])
"""


def build(folder: Path, step: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILD, str(folder), str(step)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def pages(number: int) -> dict[str, str]:
    return {
        f"http://p{place}.example/": f"Page {place} tells of a lighthouse and harbour {place % 3} "
        + "in many words " * (place % 4)
        for place in range(number)
    }


def lexical(folder: Path) -> list[str]:
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus) as index:
        index.update()
        return [hit.url for hit in index.search("lighthouse harbour", limit=50)]


def test_killed_at_any_step_the_next_update_completes_it(record):
    expected = lexical(record(pages(8), name="whole"))
    folder = record(pages(8))
    for step in (1, 5, 9, 4, 3):  # each goes on from where the one before was killed
        process = build(folder, step)
        process.communicate(timeout=60)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        with Corpus.open(folder) as corpus, CorpusIndex.open(corpus) as index:
            found = [hit.url for hit in index.search("lighthouse", limit=50)]
            assert len(found) == len(index) < 9
            assert index.notes == []
    assert lexical(folder) == expected


def test_several_processes_build_one_index(record):
    expected = lexical(record(pages(30), name="whole"))
    folder = record(pages(30))
    processes = [build(folder) for _ in range(3)]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out.strip() == str(expected)
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus) as index:
        assert index.update().added == 0


def test_waiting_for_another_process_is_told(record):
    with Corpus.open(record(pages(3))) as corpus, CorpusIndex.open(corpus) as index:
        lock = FileLock(str(corpus.derived / "search" / "index.lock"), is_singleton=False)
        heard: list[str] = []

        def hear(what: str, done: int, total: int) -> None:
            heard.append(what)
            if what == "waiting":
                lock.release()

        lock.acquire()
        assert index.update(hear).added == 3
        assert heard[0] == "waiting"


@pytest.fixture
def built(record, encoder) -> Path:
    folder = record(pages(40))
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus, encoder) as index:
        index.update()
    return folder


def file_of(folder: Path) -> Path:
    return folder / "derived" / "search" / "index.sqlite3"


@pytest.mark.parametrize(
    "content", [b"", b"no database at all " * 1_000, b"SQLite format 3\x00" + b"\xff" * 5_000]
)
def test_a_file_that_is_no_index_is_replaced_and_told(built, encoder, content):
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        expected = index.search("harbour 2", limit=50)
    file_of(built).write_bytes(content)
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        assert index.update().added == 40
        assert index.search("harbour 2", limit=50) == expected
        assert bool(index.notes) == bool(content)  # an empty file is a new index
        assert all("built anew" in note for note in index.notes)


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_link_is_not_followed(built, encoder, tmp_path, there):
    target = tmp_path / "of somebody else"
    if there:
        target.write_bytes(b"precious")
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        expected = index.search("harbour 2", limit=50)
    file_of(built).unlink()
    file_of(built).symlink_to(target)
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        index.update()
        assert index.search("harbour 2", limit=50) == expected
    assert (target.read_bytes() == b"precious") if there else not target.exists()


def test_no_flipped_byte_changes_what_is_found(built, encoder):
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        expected = index.search("harbour 2 lighthouse", limit=50)
    good = file_of(built).read_bytes()
    noted = 0
    for seed in range(40):
        chance = random.Random(seed)
        bad = bytearray(good)
        for _ in range(3):
            place = chance.randrange(100, len(bad))
            bad[place] ^= 1 << chance.randrange(8)
        for suffix in ("-wal", "-shm"):
            file_of(built).with_name(f"index.sqlite3{suffix}").unlink(missing_ok=True)
        file_of(built).write_bytes(bad)
        with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
            index.update()
            try:
                assert index.search("harbour 2 lighthouse", limit=50) == expected
            except CorpusDamagedError:
                noted += 1
                opened_anew(corpus, encoder, "harbour 2 lighthouse", expected)
            noted += bool(index.notes)
    assert noted > 5  # most of the file is free or holds keys that are compared anyway


def opened_anew(corpus: Corpus, encoder, query: str, expected) -> None:
    """Find what is expected in an index that a search had found damaged before."""
    with pytest.raises(CorpusDamagedError, match="found something in it damaged"):
        CorpusIndex.open(corpus, encoder, read_only=True)
    with CorpusIndex.open(corpus, encoder) as index:
        assert "built anew" in index.notes[0]
        index.update()
        assert index.search(query, limit=50) == expected
    with CorpusIndex.open(corpus, encoder) as index:
        assert index.notes == []
        assert index.update().added == 0


DAMAGES = [
    "UPDATE pages SET url = replace(url, 'p1', 'q1')",
    "UPDATE pages SET text = 'harbour 2' || text",
    "UPDATE pages SET text_checked = text_checked + 1",
    "UPDATE vectors SET rows = zeroblob(length(rows))",
    "UPDATE encoders SET dimensions = 7",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_that_a_search_finds_is_mended_when_next_opened(built, encoder, damage):
    with Corpus.open(built) as corpus:
        with CorpusIndex.open(corpus, encoder) as index:
            expected = index.search("harbour 2", limit=50)
        spoil(built, damage)
        with CorpusIndex.open(corpus, encoder) as index:
            assert index.update().added == 0
            with pytest.raises(CorpusDamagedError):
                index.search("harbour 2", limit=50)
        opened_anew(corpus, encoder, "harbour 2", expected)


def test_an_update_mends_what_a_search_found_without_opening_anew(built, encoder):
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        expected = index.search("harbour 2", limit=50)
        spoil(built, DAMAGES[2])
        with pytest.raises(CorpusDamagedError):
            index.search("harbour 2", limit=50)
        assert index.update().added == 40
        assert "built anew" in index.notes[0]
        assert index.search("harbour 2", limit=50) == expected


def test_a_reader_leaves_a_damaged_index_as_it_is(built, encoder):
    spoil(built, DAMAGES[2])
    before = file_of(built).read_bytes()
    with Corpus.open(built) as corpus:
        for _ in range(2):  # opened, and found damaged by the search, each time
            with (
                CorpusIndex.open(corpus, encoder, read_only=True) as index,
                pytest.raises(CorpusDamagedError, match="the text of a page"),
            ):
                index.search("harbour 2", limit=50)
    assert file_of(built).read_bytes() == before


def spoil(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(file_of(folder))
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_an_index_with_a_trigger_of_somebody_else_is_thrown_away(built, encoder):
    spoil(built, "CREATE TRIGGER evil AFTER INSERT ON seen BEGIN DELETE FROM pages; END")
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        assert "built anew" in index.notes[0]


def test_an_index_of_another_version_is_built_anew(built, encoder, monkeypatch):
    monkeypatch.setattr("harness.corpus_index._database.text_identity", lambda: "newer")
    with Corpus.open(built) as corpus:
        with pytest.raises(CorpusDamagedError, match="another version"):
            CorpusIndex.open(corpus, encoder, read_only=True)
        with CorpusIndex.open(corpus, encoder) as index:
            assert "another version" in index.notes[0]
            assert index.update().added == 40


def test_an_index_replaced_under_an_open_one_is_noticed(built, record, encoder):
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        file_of(built).unlink()
        assert index.update().added == 40
        assert len(index.search("lighthouse", limit=50)) == 40
        with CorpusIndex.open(corpus, encoder) as other:
            assert other.update().added == 0


def test_a_full_disk_is_told_in_one_sentence(built, record, encoder):
    record(pages(60))
    with Corpus.open(built) as corpus, CorpusIndex.open(corpus, encoder) as index:
        size = index._database.connection.execute("PRAGMA page_count").fetchone()[0]
        index._database.connection.execute(f"PRAGMA max_page_count = {size}")
        record({f"http://q{number}.example/": f"other {number} " * 400 for number in range(60)})
        with pytest.raises(CorpusError, match="full"):
            index.update()
        assert index.notes == []
    assert len(lexical(built)) >= 40
