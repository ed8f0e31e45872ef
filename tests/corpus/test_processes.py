"""Kills and companions: several processes on one corpus, and none that says goodbye."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.corpus import Corpus

Script = Callable[..., "subprocess.Popen[str]"]

RECORD = """
    import asyncio, sys
    import httpx
    from harness.corpus import Corpus

    async def main(folder, start, count):
        def page(request):
            return httpx.Response(200, text=f"page {request.url} " * 3000)

        inner = httpx.MockTransport(page)
        with Corpus.open(folder) as corpus:
            for number in range(int(start), int(start) + int(count)):
                tape = corpus.tape("record", inner=inner)
                async with httpx.AsyncClient(transport=tape) as client:
                    await client.get(f"https://e.org/{number}")
                print(number, flush=True)

    asyncio.run(main(*sys.argv[1:]))
"""

READ = """
    import asyncio, pathlib, sys
    import httpx
    from harness.corpus import Corpus
    from harness.errors import CorpusMissError

    async def main(folder, stop):
        read = 0
        with Corpus.open(folder, read_only=True) as corpus:
            while not pathlib.Path(stop).exists():
                async with httpx.AsyncClient(transport=corpus.tape("replay")) as client:
                    for number in range(0, 60, 7):
                        url = f"https://e.org/{number}"
                        try:
                            answer = await client.get(url)
                        except CorpusMissError:
                            continue
                        assert answer.text.startswith(f"page {url} ")
                        read += 1
                corpus.info()
        print(read, flush=True)

    asyncio.run(main(*sys.argv[1:]))
"""

DIE_WHILE_STORING = """
    import os, pathlib, signal, sqlite3, sys
    from harness.corpus import Corpus, _disk, _store
    from harness.corpus._body import body_sha256
    from harness.corpus._cache import WriteCache
    from harness.corpus._entry import Entry
    from harness.corpus._key import request_key

    folder, deadly = sys.argv[1], int(sys.argv[2])
    steps = 0

    def step():
        global steps
        steps += 1
        if steps == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    class Connection(sqlite3.Connection):
        def execute(self, *arguments):
            step()  # before it
            found = super().execute(*arguments)
            step()  # after it
            return found

    connect = sqlite3.connect
    sqlite3.connect = lambda *a, **more: connect(*a, factory=Connection, **more)
    write, remove = _disk.diskcache.Disk._write, _disk.diskcache.Disk.remove

    def wrapped(original):
        def call(*arguments, **options):
            step()
            found = original(*arguments, **options)
            step()
            return found
        return call

    _disk.diskcache.Disk._write = wrapped(write)
    _disk.diskcache.Disk.remove = wrapped(remove)

    def put(corpus, path, body, fetched):
        request = request_key("GET", f"https://e.org/{path}", {}, None)
        entry = Entry(request, 0, fetched, 0.0, status=200, body_sha256=body_sha256(body),
                      body_bytes=len(body))
        corpus._store.put(entry, body, replace=True)
        print(path, fetched, flush=True)

    with Corpus.open(folder) as corpus:
        steps = 0
        put(corpus, "new", os.urandom(40_000), "1")  # in a file
        put(corpus, "new", b"small", "2")            # replaced, in a row
        put(corpus, "new", os.urandom(40_000), "3")  # and back
    print("steps", steps, flush=True)
"""

OPEN = """
    import sys
    from harness.corpus import Corpus

    with Corpus.open(sys.argv[1]) as corpus:
        print(len(corpus.problems), corpus.digest())
"""

DIE = """
    import os, signal, sys
    from harness.corpus import Corpus, _unpack

    original, taken = _unpack._take_in, 0

    def take_in(store, found):
        global taken
        taken += 1
        if taken == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(store, found)

    _unpack._take_in = take_in
    Corpus.open(sys.argv[1])
"""


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=60)
    return output


def test_nothing_committed_is_lost_by_a_kill(corpus: Corpus, script: Script, play: Any) -> None:
    process = script(RECORD, corpus.path, 0, 100_000)
    assert process.stdout is not None
    printed = [int(process.stdout.readline()) for _ in range(25)]
    process.kill()
    printed += [int(line) for line in finish(process).split()]
    assert process.returncode == -signal.SIGKILL
    with Corpus.open(corpus.path) as again:
        assert again.verify() == []
        found = play(again.tape("replay"), *(f"https://e.org/{number}" for number in printed))
        assert [one.status_code for one in found] == [200] * len(printed)
        # It goes on where it stopped: what is there is not fetched again.
        assert "1\n" in finish(script(RECORD, corpus.path, 0, 30))
        assert again.verify() == []


def test_two_processes_record_into_one_corpus(corpus: Corpus, script: Script) -> None:
    both = [script(RECORD, corpus.path, start, 40) for start in (0, 20)]
    for process in both:
        assert len(finish(process).split()) == 40
        assert process.returncode == 0
    assert corpus.verify() == []
    assert corpus.info().entries == 60
    assert corpus.info().bodies == 60


def test_many_write_and_read_at_once_and_some_are_killed(
    corpus: Corpus, script: Script, tmp_path: Path, play: Any
) -> None:
    """What a writer said it had stored is there, whoever died; readers see whole pages only."""
    stop = tmp_path / "stop"
    readers = [script(READ, corpus.path, stop) for _ in range(2)]
    writers = [script(RECORD, corpus.path, start, 40) for start in (0, 10, 20)]
    victims = [script(RECORD, corpus.path, start, 100_000) for start in (1_000, 2_000)]
    told: list[int] = []
    for number, process in enumerate(victims):
        assert process.stdout is not None
        told += [int(process.stdout.readline()) for _ in range(3 + 4 * number)]
        process.kill()
        told += [int(line) for line in finish(process).split()]
        assert process.returncode == -signal.SIGKILL
    for process in writers:
        told += [int(line) for line in finish(process).split()]
        assert process.returncode == 0
    stop.touch()
    for process in readers:
        finish(process)
        assert process.returncode == 0
    assert corpus.verify() == []
    assert set(range(60)) <= set(told)
    found = play(corpus.tape("replay"), *(f"https://e.org/{number}" for number in set(told)))
    assert {one.status_code for one in found} == {200}


@pytest.mark.parametrize("part", range(4))
def test_a_kill_at_each_step_of_storing_leaves_the_old_or_the_new(
    tmp_path: Path, script: Script, part: int
) -> None:
    """Before and after each statement and each file of three storings."""
    with Corpus.create(tmp_path / "count", name="c"):
        pass
    last = int(finish(script(DIE_WHILE_STORING, tmp_path / "count", 0)).split()[-1])
    assert last > 40
    deadly = [step for step in range(1, last + 1) if step % 12 == 3 * part]
    running = []
    for step in deadly:
        path = tmp_path / f"corpus {step}"
        Corpus.create(path, name="c").close()
        running.append((path, script(DIE_WHILE_STORING, path, step)))
    for path, process in running:
        said = finish(process).split()
        assert process.returncode == -signal.SIGKILL
        with Corpus.open(path) as corpus:
            assert corpus.verify() == []
            kept = [entry.fetched_at for entry in corpus.entries()]
            before = said[-1] if said else None  # what it had said, or what it was at
            assert kept in [[before] if before else [], [str(int(before or 0) + 1)]]
            corpus.compact()
            assert corpus.verify() == []
            assert len(list(corpus._store.folder.rglob("*.val"))) == (kept in (["1"], ["3"]))


@pytest.mark.parametrize("read_only", [False, True])
def test_a_corpus_open_twice_in_one_process_goes_on_writing_for_all(
    corpus: Corpus, script: Script, play: Any, web: Any, read_only: bool
) -> None:
    """Opening the second one, or closing it, must not cost the first one its locks."""
    play(corpus.tape("record", inner=web.transport), "https://e.org/a")
    with Corpus.open(corpus.path, read_only=read_only) as second:
        assert second.digest() == corpus.digest()
    # The last program to close a store deletes its log, unless it sees the first one's locks.
    assert finish(script(OPEN, corpus.path)) == f"0 {corpus.digest()}\n"
    play(corpus.tape("record", inner=web.transport), "https://e.org/b")
    assert corpus.info().entries == 2
    assert finish(script(OPEN, corpus.path)) == f"0 {corpus.digest()}\n"


@pytest.fixture
def exported(corpus: Corpus, web: Any, play: Any, tmp_path: Path) -> Path:
    play(corpus.tape("record", inner=web.transport), *(f"https://e.org/{n}" for n in range(9)))
    corpus.export(tmp_path / "exported")
    return tmp_path / "exported"


def test_two_processes_unpack_the_same_corpus(
    exported: Path, corpus: Corpus, script: Script, hotseat_home: Path
) -> None:
    both = [script(OPEN, exported) for _ in range(3)]
    assert [finish(process) for process in both] == [f"0 {corpus.digest()}\n"] * 3
    assert len([path for path in (hotseat_home / "corpora").iterdir() if path.is_dir()]) == 1


def test_a_kill_while_unpacking_leaves_nothing_half_usable(
    exported: Path, corpus: Corpus, script: Script, hotseat_home: Path
) -> None:
    process = script(DIE, exported)
    finish(process)
    assert process.returncode == -signal.SIGKILL
    left = [path for path in (hotseat_home / "corpora").iterdir() if path.is_dir()]
    assert [path.name[0] for path in left] == ["."]
    with Corpus.open(exported) as opened:
        assert opened.digest() == corpus.digest()
        assert opened.verify() == []
    assert not left[0].exists()
