"""Layouts of the store: an old corpus stays readable, a newer one is left alone."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.corpus import Corpus, _migrate, check
from harness.corpus._store import Store
from harness.errors import CorpusError

Script = Callable[..., "subprocess.Popen[str]"]

GOLDEN = Path(__file__).parent / "golden" / "schema-1"
DIGEST = "sha256:5c55c580da23c502c6784e718f9672c254fbc9f2f24ac74f9ec93507c844f8a6"
LOST = f"entry {'0' * 12}…:3: it was damaged before: record cut off"

MIGRATE_AND_DIE = """
    import os, signal, sys
    from harness.corpus import Corpus, _migrate

    def step(connection):
        connection.execute("CREATE TABLE Half (key TEXT)")
        os.kill(os.getpid(), signal.SIGKILL)

    _migrate.STEPS.append(step)
    Corpus.open(sys.argv[1])
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of a corpus that the first version recorded."""
    return Path(shutil.copytree(GOLDEN, tmp_path / "old"))


def prints(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def test_the_golden_corpus_is_what_it_was(old: Path, play: Any, tmp_path: Path) -> None:
    with Corpus.open(old) as corpus:
        assert corpus.digest() == DIGEST
        assert [str(problem) for problem in corpus.verify()] == [LOST]
        info = corpus.info()
        assert (info.entries, info.failures, info.damaged, info.bodies) == (7, 1, 1, 5)
        assert corpus.manifest.settings == {"search.language": "de"}
        answers = play(
            corpus.tape("replay"),
            "https://example.org/a",
            "https://example.org/b?x=ü&key=other",
            "https://example.org/late",
            headers={"accept-language": "de"},
        )
        assert "page https://example.org/a" in answers[0].text
        assert answers[1].status_code == 200
        assert type(answers[2]).__name__ == "ReadTimeout"
        corpus.export(tmp_path / "out")
    with Corpus.import_from(tmp_path / "out", tmp_path / "new") as made:
        assert made.digest() == DIGEST


@pytest.fixture
def two_steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend that this is a version two layouts later."""
    ran: list[str] = []

    def first(connection: sqlite3.Connection) -> None:
        ran.append("first")
        connection.execute("CREATE TABLE Sizes (key TEXT, size INTEGER)")

    def second(connection: sqlite3.Connection) -> None:
        ran.append("second")
        connection.execute("INSERT INTO Sizes SELECT key, size FROM Cache")

    monkeypatch.setattr(_migrate, "STEPS", [first, second])
    return ran


def sizes(store: Store) -> int:
    return int(store._cache.connection.execute("SELECT COUNT(*) FROM Sizes").fetchone()[0])


def test_an_old_corpus_is_brought_up_to_date_once(old: Path, two_steps: list[str]) -> None:
    for _ in range(2):
        with Corpus.open(old) as corpus:
            assert sizes(corpus._store) == 13
            assert corpus.digest() == DIGEST
            assert _migrate.schema_of(corpus._store._cache.connection) == 3
    assert two_steps == ["first", "second"]
    with Corpus.open(old, read_only=True) as corpus:
        assert not corpus._store.is_copy


def test_a_new_corpus_has_the_latest_layout(tmp_path: Path, two_steps: list[str]) -> None:
    with Corpus.create(tmp_path / "new", name="new") as corpus:
        assert sizes(corpus._store) == 0
        assert corpus.verify() == []


def test_an_old_corpus_is_read_through_without_a_change(
    old: Path, two_steps: list[str], tmp_path: Path
) -> None:
    before = prints(old)
    with Corpus.open(old, read_only=True) as corpus:
        assert sizes(corpus._store) == 13
        assert corpus.digest() == DIGEST
        assert [str(problem) for problem in corpus.verify(jobs=2)] == [LOST]
        copy = corpus._store._copy
        assert copy
        assert Path(copy).is_dir()
    assert not Path(copy).exists()
    # Reading leaves SQLite's own files at most.
    after = {name: sha for name, sha in prints(old).items() if not name.endswith(("-shm", "-wal"))}
    assert after == before


def test_a_step_that_fails_leaves_the_old_layout(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE Half (key TEXT)")
        connection.execute("INSERT INTO nowhere VALUES (1)")

    monkeypatch.setattr(_migrate, "STEPS", [step])
    with pytest.raises(CorpusError, match="no such table"):
        Corpus.open(old)
    with pytest.raises(CorpusError, match="no such table"):
        Corpus.open(old, read_only=True)
    monkeypatch.setattr(_migrate, "STEPS", [])
    assert check(old).digest == DIGEST


def test_a_kill_in_a_step_leaves_the_old_layout(old: Path, script: Script) -> None:
    process = script(MIGRATE_AND_DIE, old)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    with Corpus.open(old) as corpus:
        assert corpus.digest() == DIGEST
        tables = corpus._store._cache.connection.execute("SELECT name FROM sqlite_master")
        assert "Half" not in {row[0] for row in tables}


def test_two_at_once_migrate_once(old: Path, two_steps: list[str]) -> None:
    failures: list[BaseException] = []

    def use() -> None:
        try:
            Corpus.open(old).close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert two_steps == ["first", "second"]


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("in_log", [False, True])
def test_a_newer_store_is_refused_and_left_alone(old: Path, read_only: bool, in_log: bool) -> None:
    database = sqlite3.connect(old / "store" / "cache.db", isolation_level=None)
    if in_log:
        database.execute("PRAGMA journal_mode = wal")
    database.execute("PRAGMA user_version = 2")
    if in_log:
        copy = old.with_name("copy")
        shutil.copytree(old, copy)
        old = copy
    database.close()
    before = prints(old)
    with pytest.raises(CorpusError) as caught:
        Corpus.open(old, read_only=read_only)
    assert str(caught.value) == (
        f"The store in {old / 'store'} has schema 2, made by a newer Hotseat; "
        "this one reads up to schema 1. Upgrade Hotseat."
    )
    after = prints(old)
    if in_log:  # reading the log makes its index
        after, before = ({n: one[n] for n in one if n[-4:] != "-shm"} for one in (after, before))
    assert after == before
    with pytest.raises(CorpusError, match="newer Hotseat"):
        check(old)


@pytest.mark.parametrize("read_only", [False, True])
def test_nothing_is_left_beside_a_newer_store_at_rest(tmp_path: Path, read_only: bool) -> None:
    Corpus.create(tmp_path / "new", name="new").close()
    path = tmp_path / "new" / "store" / "cache.db"
    database = sqlite3.connect(path, isolation_level=None)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.execute("PRAGMA user_version = 2")
    database.close()
    before = prints(tmp_path)
    with pytest.raises(CorpusError, match="schema 2, made by a newer Hotseat"):
        Corpus.open(tmp_path / "new", read_only=read_only)
    assert prints(tmp_path) == before


def test_a_newer_format_is_refused_and_left_alone(old: Path) -> None:
    manifest = old / "manifest.json"
    value = json.loads(manifest.read_text(encoding="utf-8"))
    del value["sha256"]
    manifest.write_text(json.dumps({**value, "format": "hotseat-corpus/2"}), encoding="utf-8")
    before = prints(old)
    for use in (Corpus.open, check):
        with pytest.raises(CorpusError, match=r"newer Hotseat; .* Upgrade Hotseat\."):
            use(old)
    assert prints(old) == before


def test_steps_that_were_released_are_there() -> None:
    """The golden corpus of each layout is committed before the next one comes."""
    folders = {path.name for path in GOLDEN.parent.iterdir()}
    assert folders == {f"schema-{number}" for number in range(1, _migrate.latest() + 1)}
