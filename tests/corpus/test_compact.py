"""Compaction: room given back, nothing recorded touched, whoever else is at it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.corpus import Corpus, _cache
from harness.errors import CorpusError

Script = Callable[..., "subprocess.Popen[str]"]

COMPACT_AND_DIE = """
    import os, pathlib, signal, sys
    from harness.corpus import Corpus, _compact

    steps = int(sys.argv[2])

    def count(original):
        def counted(*arguments, **options):
            global steps
            steps -= 1
            if steps == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **options)
        return counted

    for name in ("_drop", "_drop_files", "_repack", "pack", "_vacuum", "_drop_leftovers"):
        setattr(_compact, name, count(getattr(_compact, name)))
    _compact.WriteCache.delete = count(_compact.WriteCache.delete)
    pathlib.Path.unlink = count(pathlib.Path.unlink)
    with Corpus.open(sys.argv[1]) as corpus:
        corpus.compact(repack=True)
    print("done", flush=True)
"""


@pytest.fixture
def wasteful(corpus: Corpus, web: Any, play: Any) -> Corpus:
    """A corpus with two bodies too many, one of them in a file, and a file without a row."""
    urls = [f"https://e.org/{number}" for number in range(6)]
    play(corpus.tape("record", inner=web.transport), *urls)
    waste(corpus)
    return corpus


def waste(corpus: Corpus) -> None:
    from harness.corpus._body import body_sha256, pack

    for body in (b"nobody asks for this", os.urandom(100_000)):
        corpus._store._cache.set(f"body:{body_sha256(body)}", pack(body))
    stray = corpus._store.folder / "ab" / "cd" / f"{'0' * 28}.val"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"x" * 50_000)


def test_it_drops_what_nobody_needs_and_the_digest_stays(wasteful: Corpus) -> None:
    digest, entries = wasteful.digest(), list(wasteful.entries())
    done = wasteful.compact()
    assert (done.bodies, done.files, done.notes) == (2, 1, ())
    assert done.after_bytes < done.before_bytes - 150_000
    assert wasteful.digest() == digest
    assert list(wasteful.entries()) == entries
    assert wasteful.verify() == []
    assert list(wasteful._store.folder.rglob("*.val")) == []
    assert [path.name for path in wasteful._store.folder.iterdir() if path.is_dir()] == []
    assert (again := wasteful.compact()).bodies == again.files == 0
    assert again.after_bytes == again.before_bytes


def test_repacking_makes_bodies_smaller_and_keeps_them(corpus: Corpus, play: Any) -> None:
    import random

    import httpx

    dice = random.Random(1)
    words = [f"{dice.getrandbits(40):x}" for _ in range(300)]
    phrases = [" ".join(dice.choices(words, k=12)) for _ in range(900)]
    pages = {f"/{number}": "\n".join(dice.choices(phrases, k=2_000)) for number in range(3)}
    inner = httpx.MockTransport(lambda request: httpx.Response(200, text=pages[request.url.path]))
    play(corpus.tape("record", inner=inner), *(f"https://e.org{path}" for path in pages))
    digest = corpus.digest()
    done = corpus.compact(repack=True)
    assert done.repacked == 3
    assert done.after_bytes < done.before_bytes
    assert corpus.digest() == digest
    assert corpus.verify() == []
    assert corpus.compact(repack=True).repacked == 0
    found = play(corpus.tape("replay"), *(f"https://e.org{path}" for path in pages))
    assert [one.text for one in found] == list(pages.values())


def test_leftovers_of_a_kill_go_but_not_those_of_others(wasteful: Corpus) -> None:
    old, new = wasteful.path / ".import.old", wasteful.path / ".manifest.json.new"
    old.mkdir()
    (old / "x").write_bytes(b"x")
    new.write_bytes(b"x")
    mine = wasteful.path / ".notes"
    mine.write_bytes(b"x")
    long_ago = time.time() - 7200
    for path in (old, mine):
        os.utime(path, (long_ago, long_ago))
    wasteful.compact()
    assert not old.exists()
    assert new.exists()
    assert mine.exists()


def test_with_a_damaged_entry_no_body_is_dropped(wasteful: Corpus) -> None:
    name = wasteful._store._cache.keys("entry:")[0]
    wasteful._store._cache.set(name, b"rotten")
    done = wasteful.compact()
    assert done.bodies == 0
    assert done.files == 1
    assert "1 damaged entry" in done.notes[0]
    assert len(wasteful._store.bodies()) == 8


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 8, 11, 14, 15])
def test_a_kill_at_any_step_costs_nothing(wasteful: Corpus, script: Script, step: int) -> None:
    digest = wasteful.digest()
    process = script(COMPACT_AND_DIE, wasteful.path, step)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == (0 if output else -signal.SIGKILL)
    assert bool(output) == (step > 14)  # all steps before that are deadly
    with Corpus.open(wasteful.path) as again:
        assert again.verify() == []
        assert again.digest() == digest
        again.compact()
        assert len(again._store.bodies()) == 6
        assert list(again._store.folder.rglob("*.val")) == []
        assert again.verify() == []


def test_it_refuses_while_another_holds_the_store(
    wasteful: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite3.connect(wasteful._store.folder / "cache.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(_cache, "_BUSY_TIMEOUT_S", 0.05)
    with (
        Corpus.open(wasteful.path) as mine,
        pytest.raises(CorpusError, match="another program holds it"),
    ):
        mine.compact()
    other.execute("ROLLBACK")
    other.close()
    assert len(wasteful._store.bodies()) == 8


def test_a_body_that_comes_back_while_it_is_dropped_is_stored_again(
    corpus: Corpus, play: Any, web: Any
) -> None:
    """Between a writer's look at a body and its entry, compaction may take the body away."""
    from harness.corpus._entry import Entry

    play(corpus.tape("record", inner=web.transport), "https://e.org/a")
    (entry,) = corpus.entries()
    body = corpus.body(entry)
    del corpus._store._cache[corpus._store._cache.keys("entry:")[0]]  # now it is nobody's
    store = corpus._store
    original = store._is_sound

    def sound_and_then_gone(sha256: str, body: bytes) -> bool:
        found = original(sha256, body)
        with Corpus.open(corpus.path) as other:
            assert other.compact().bodies == 1
        return found

    store._is_sound = sound_and_then_gone  # type: ignore[method-assign]
    assert store.put(entry, body, replace=False)
    assert corpus.verify() == []
    assert isinstance(entry, Entry)


def test_recording_goes_on_while_compacting(corpus: Corpus, play: Any, web: Any) -> None:
    failures: list[BaseException] = []
    stop = threading.Event()

    def compact() -> None:
        try:
            with Corpus.open(corpus.path) as other:
                while not stop.is_set():
                    other.compact()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=compact)
    thread.start()
    urls = [f"https://e.org/{number}" for number in range(40)]
    try:
        found = play(corpus.tape("record", inner=web.transport), *urls)
    finally:
        stop.set()
        thread.join()
    assert failures == []
    assert {one.status_code for one in found} == {200}
    assert corpus.verify() == []
    assert corpus.info().entries == 40


def test_only_a_working_corpus_is_compacted(wasteful: Corpus, tmp_path: Path) -> None:
    wasteful.export(tmp_path / "out")
    with (
        Corpus.open(tmp_path / "out") as exported,
        pytest.raises(CorpusError, match="read-only"),
    ):
        exported.compact()
