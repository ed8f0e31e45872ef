"""The commands that change things, and all of them on an odd path and on an empty corpus."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from harness.cli import corpus as command
from harness.corpus import Corpus, _verify_bodies
from harness.errors import BadInputError, CorpusError


def run(*arguments: object) -> Result:
    app = typer.Typer()
    command.register(app)
    return CliRunner().invoke(app, ["corpus", *map(str, arguments)])


def good(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def make(path: Path, play: Any, web: Any, *urls: str) -> Path:
    with Corpus.create(path, name=path.name) as made:
        play(made.tape("record", inner=web.transport), *urls)
    return path


@pytest.mark.parametrize("pages", [0, 3])
@pytest.mark.parametrize("name", ["plain", "ein Örtchen für “Käse” 🧀 #1 100% ?", "a'b;c &d"])
def test_every_command_on_any_path_and_on_an_empty_corpus(
    tmp_path: Path, play: Any, web: Any, name: str, pages: int
) -> None:
    place = tmp_path / name
    place.mkdir()
    mine = make(place / "mine", play, web, *(f"https://e.org/{n}" for n in range(pages)))
    digest = json.loads(good("info", mine, "--json"))["digest"]
    entries = f"{pages} entries checked, no problem found; digest {digest}\n"
    assert good("verify", mine) == entries
    assert "0 bodies and 0 stale files dropped" in good("compact", mine)
    good("export", mine, place / "out")
    good("export", mine, place / "out.warc.gz")
    good("import", place / "out", place / "copy")
    assert f"digest {digest}" in good("import", place / "out.warc.gz", place / "copy 2")
    told = good("import", mine, place / "out", place / "out.warc.gz", "--into", place / "all")
    assert told.splitlines()[-1] == f"{place / 'all'} now has the digest {digest}"
    for folder in ("out", "copy", "all", "out.warc.gz"):
        assert good("verify", place / folder) == entries
        assert digest in good("info", place / folder)
    assert "Deleted 2 folders" in good("clean", "--all", "--yes")
    with Corpus.open(mine, read_only=True) as opened:
        found = play(opened.tape("replay"), *(f"https://e.org/{n}" for n in range(pages)))
        assert [one.status_code for one in found] == [200] * pages


def test_an_import_lists_conflicts_and_fails_on_damage(tmp_path: Path, play: Any, web: Any) -> None:
    urls = [f"https://e.org/{n}" for n in range(25)]
    one = make(tmp_path / "one", play, web, *urls)
    two = make(tmp_path / "two", play, web, *urls, "https://e.org/new")
    told = good("import", one, two, "--into", tmp_path / "all").splitlines()
    assert told[0] == f"{one}: 25 new entries, 0 there before, 0 conflicts"
    assert told[1] == f"{two}: 1 new entry, 0 there before, 25 conflicts"
    assert "recorded differently; the imported one replaced it: it was fetched later" in told[2]
    assert told[22] == "  … and 5 more"
    with Corpus.open(two) as corpus:
        corpus._store._cache.set(corpus._store._cache.keys("entry:")[0], b"rotten")
    done = run("import", two, "--into", tmp_path / "all")
    assert done.exit_code == 1
    assert "Problem: " in done.stderr


def test_an_import_without_into_takes_two(tmp_path: Path) -> None:
    for count in (1, 3):
        error = run("import", *["x"] * count).exception
        assert isinstance(error, BadInputError)
        assert "--into" in str(error)


def test_compact_and_clean_print_documents(tmp_path: Path, play: Any, web: Any) -> None:
    mine = make(tmp_path / "mine", play, web, "https://e.org/a")
    value = json.loads(good("compact", mine, "--repack", "--json"))
    assert value["path"] == str(mine)
    assert value["bodies"] == value["files"] == 0
    good("export", mine, tmp_path / "out")
    good("info", tmp_path / "out")
    value = json.loads(good("clean", "--days", 0, "--json"))
    assert not value["deleted"]
    (folder,) = value["folders"]
    assert folder["source"] == str(tmp_path / "out")
    assert Path(folder["path"]).is_dir()
    assert "may go; delete them with --yes" in good("clean", "--days", 0)
    assert "Deleted 1 folder" in good("clean", "--days", 0, "--yes")
    assert not Path(folder["path"]).exists()
    assert "0 folders, 0 B, may go\n" in good("clean")


def test_processes_find_what_one_finds(
    corpus: Corpus, play: Any, web: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_verify_bodies, "_MANY_BODIES", 1)
    monkeypatch.setattr(_verify_bodies, "_ROWS", 7)
    urls = [f"https://e.org/{n}" for n in range(30)]
    play(corpus.tape("record", inner=web.transport), *urls)
    cache = corpus._store._cache
    assert corpus.verify(jobs=2) == []
    names = cache.keys("body:")
    cache.set(names[3], b"rotten")
    cache.set(names[4], cache.get(names[5]))
    cache.set(names[6], os.urandom(100_000))
    del cache[names[7]]
    cache.set(cache.keys("entry:")[9], b"rotten")
    alone = corpus.verify()
    assert len(alone) == 5
    seen: list[tuple[int, int]] = []
    found = corpus.checked(lambda done, total: seen.append((done, total)), jobs=2)
    assert sorted(map(str, found.problems)) == sorted(map(str, alone))
    assert found.digest == corpus.digest()
    assert found.entries == 29
    assert seen[-1] == (59, 59)


def test_processes_that_die_cost_only_time(
    corpus: Corpus, play: Any, web: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_verify_bodies, "_MANY_BODIES", 1)
    play(corpus.tape("record", inner=web.transport), "https://e.org/a", "https://e.org/b")
    killed: list[int | None] = []
    seen: list[tuple[int, int]] = []

    def kill(done: int, total: int) -> None:
        seen.append((done, total))
        for child in multiprocessing.active_children():
            child.kill()
            child.join()
            killed.append(child.exitcode)

    for rotten in (0, 1):
        killed.clear()
        assert len(corpus.verify(kill, jobs=2)) == rotten
        assert killed == [-signal.SIGKILL]  # one range of rows, so one process
        assert seen[-1] == (4, 4)
        corpus._store._cache.set(corpus._store._cache.keys("body:")[0], b"rotten")


def test_processes_that_die_while_work_is_handed_out_cost_only_time(
    corpus: Corpus, play: Any, web: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_verify_bodies, "_MANY_BODIES", 1)
    monkeypatch.setattr(_verify_bodies, "_ROWS", 1)
    urls = [f"https://e.org/{n}" for n in range(3)]
    play(corpus.tape("record", inner=web.transport), *urls)
    handed_out = []

    class Breaking(ProcessPoolExecutor):
        def submit(self, *work: Any, **more: Any) -> Any:
            if len(handed_out) == 2:
                raise BrokenProcessPool("all of them were killed")
            handed_out.append(work)
            return super().submit(*work, **more)

    monkeypatch.setattr(_verify_bodies, "ProcessPoolExecutor", Breaking)
    seen: list[tuple[int, int]] = []
    assert corpus.verify(lambda *step: seen.append(step), jobs=2) == []
    assert len(handed_out) == 2
    assert seen[-1] == (6, 6)
    handed_out.clear()
    corpus._store._cache.set(corpus._store._cache.keys("body:")[2], b"rotten")
    assert len(corpus.verify(jobs=2)) == 1


def test_verify_takes_a_number_of_jobs(tmp_path: Path, play: Any, web: Any) -> None:
    mine = make(tmp_path / "mine", play, web, "https://e.org/a")
    assert "1 entry checked" in good("verify", mine, "--jobs", 1)
    assert run("verify", mine, "--jobs", 0).exit_code == 2


@contextmanager
def no_rights(folder: Path) -> Iterator[None]:
    """Take away the right to write, also from root."""
    everything = [folder, *folder.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)
        for path in everything:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of another kind")
def test_a_corpus_without_write_permission(
    play: Any, web: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path(tempfile.mkdtemp())
    try:
        mine = make(place / "mine", play, web, "https://e.org/a")
        (place / "home").mkdir(mode=0o777)
        (place / "home").chmod(0o777)
        place.chmod(0o755)
        monkeypatch.setenv("HOTSEAT_HOME", str(place / "home"))
        # Whatever is imported late may lie where only its owner may read.
        for arguments in (("info", mine), ("verify", mine), ("compact", mine)):
            good(*arguments)
        with no_rights(mine):
            assert "read-only" in good("info", mine)
            assert "1 entry checked, no problem" in good("verify", mine)
            with Corpus.open(mine) as opened:
                assert opened.read_only
                (found,) = play(opened.tape("replay"), "https://e.org/a")
                assert found.status_code == 200
                assert opened.derived.is_relative_to(place / "home")
            for arguments in (("compact", mine), ("import", mine, "--into", mine)):
                error = run(*arguments).exception
                assert isinstance(error, CorpusError), error
                assert "is read-only. 'hotseat corpus import' makes a copy" in str(error)
    finally:
        shutil.rmtree(place)
