"""Damage of every kind is listed, whatever it hit, and never passed on in silence."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from harness.cli import corpus as command
from harness.corpus import Corpus, check
from harness.errors import CorpusError, MissingError

URLS = tuple(f"https://e.org/{number}" for number in range(30))
QUESTION = '{"id": "q1", "answer": "a"}\n'


def run(*arguments: object) -> Result:
    app = typer.Typer()
    command.register(app)
    return CliRunner().invoke(app, ["corpus", *map(str, arguments)])


@pytest.fixture
def working(corpus: Corpus, web: Any, play: Any, tmp_path: Path) -> Path:
    """A working store with a question, closed and sealed."""
    asked = tmp_path / "asked.jsonl"
    asked.write_text(QUESTION)
    corpus.set_questions(asked)
    play(corpus.tape("record", inner=web.transport), *URLS)
    corpus._store.seal()
    corpus.close()
    return corpus.path


@pytest.fixture
def exported(working: Path, tmp_path: Path) -> Path:
    with Corpus.open(working) as opened:
        assert opened.export(tmp_path / "exported").problems == ()
    return tmp_path / "exported"


def database_of(working: Path) -> Path:
    return working / "store" / "cache.db"


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(bytes(data))


def change(folder: Path, **members: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


# Question files and manifests


def test_an_edited_question_file_is_told_until_it_is_accepted(
    working: Path, play: Any, tmp_path: Path
) -> None:
    file = working / "questions.jsonl"
    file.write_text(QUESTION.replace('"a"', '"b"'))
    told = run("verify", working)
    assert told.exit_code == 1
    assert f"hotseat record --questions {file} --corpus {working}" in told.stdout
    with Corpus.open(working) as opened:
        assert [problem.where for problem in opened.problems] == ["questions.jsonl"]
        assert play(opened.tape("replay"), URLS[0])[0].status_code == 200
        opened.set_questions(file)
        assert opened.problems == []
    assert run("verify", working).exit_code == 0


def test_every_way_to_bring_questions_keeps_their_hash(exported: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked.jsonl"
    Corpus.create(tmp_path / "made", name="t", questions=asked).close()
    Corpus.import_from(exported, tmp_path / "mine").close()
    for name in ("made", "mine"):
        assert check(tmp_path / name).problems == ()
        (tmp_path / name / "questions.jsonl").write_text("{}\n")
        assert [problem.where for problem in check(tmp_path / name).problems] == ["questions.jsonl"]


def test_damage_to_questions_outlives_an_import(exported: Path, tmp_path: Path) -> None:
    (exported / "questions.jsonl").write_text("{}\n")
    Corpus.import_from(exported, tmp_path / "mine").close()
    assert [problem.where for problem in check(tmp_path / "mine").problems] == ["questions.jsonl"]


def test_a_rotten_unpacked_question_file_is_told(exported: Path, hotseat_home: Path) -> None:
    Corpus.open(exported).close()
    (copy,) = (hotseat_home / "corpora").rglob("questions.jsonl")
    copy.write_text("{}\n")
    assert [problem.where for problem in check(exported).problems] == [str(copy)]


@pytest.mark.parametrize("members", [{"settings": {"fetch.pages": 9}}, {"created": "yesterday"}])
@pytest.mark.parametrize("kind", ["working", "exported"])
def test_a_changed_manifest_is_told(
    kind: str, members: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(kind)
    change(folder, **members)
    (problem,) = check(folder).problems
    assert problem.where == "manifest.json"
    assert "own checksum" in problem.what
    path = folder / "manifest.json"
    told = json.loads(path.read_text())
    del told["sha256"]
    path.write_text(json.dumps(told))
    assert check(folder).problems == ()


@pytest.mark.parametrize("kind", ["working", "exported"])
def test_no_byte_of_a_manifest_can_change_unseen(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.corpus import _check
    from harness.corpus._manifest import manifest_problems

    folder: Path = request.getfixturevalue(kind)
    path = folder / "manifest.json"
    data = path.read_bytes()
    meaning = json.loads(data)
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 0x02
        path.write_bytes(bytes(flipped))
        try:
            if json.loads(bytes(flipped)) == meaning:
                continue  # a blank instead of another
        except ValueError:
            pass
        told = _check._manifest_error(folder)
        assert told is not None or manifest_problems(folder), (place, data[place - 9 : place + 9])


@pytest.mark.parametrize("kind", ["working", "exported"])
def test_without_a_readable_manifest_the_rest_is_checked(
    kind: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(kind)
    flip(folder / "manifest.json", 0)
    told = run("verify", folder)
    assert told.exit_code == 1
    (line, total) = told.stdout.splitlines()
    assert line.startswith("manifest.json: it is damaged")
    assert "1 problem found" in total
    if kind == "working":
        with sqlite3.connect(database_of(folder)) as database:
            database.execute("UPDATE Cache SET value = x'00' WHERE key LIKE 'body:0%'")
        database.close()
    path = database_of(folder) if kind == "working" else next(folder.glob("*.warc.gz"))
    if kind == "exported":
        flip(path, path.stat().st_size // 2)
    assert len(check(folder).problems) > 1


def test_a_newer_manifest_is_no_damage(working: Path, tmp_path: Path) -> None:
    path = working / "manifest.json"
    told = json.loads(path.read_text())
    del told["sha256"]
    path.write_text(json.dumps({**told, "format": "hotseat-corpus/2"}))
    with pytest.raises(CorpusError, match="newer"):
        check(working)
    with pytest.raises(MissingError):
        check(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match=r"manifest\.json"):
        check(tmp_path)


# Stores that can't be opened or walked


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: dict[str, Callable[[Path], object]] = {
    **{f"byte {place}": lambda path, place=place: flip(path, place) for place in (0, 17, 30, 100)},
    "half": _cut,
    "empty": lambda path: path.write_bytes(b""),
    "missing": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_ruined_database_is_a_problem_and_no_error(working: Path, damage: str) -> None:
    DAMAGES[damage](database_of(working))
    told = run("verify", working)
    assert told.exit_code == 1, told
    assert isinstance(told.exception, SystemExit)
    assert told.stdout.startswith("store: ")
    assert "hotseat corpus verify" not in told.stdout
    assert json.loads(run("verify", working, "--json").stdout)["ok"] is False


@pytest.mark.parametrize("damage", DAMAGES)
def test_so_it_is_in_what_was_unpacked(exported: Path, hotseat_home: Path, damage: str) -> None:
    Corpus.open(exported).close()
    (path,) = (hotseat_home / "corpora").rglob("cache.db")
    DAMAGES[damage](path)
    assert run("verify", exported).exit_code == 1


def _shorten_index(path: Path) -> None:
    """Take cells off the leaves of the index of keys, as if they had never been there."""
    database = sqlite3.connect(path)
    (root,) = database.execute(
        "SELECT rootpage FROM sqlite_master WHERE name LIKE '%Cache_key_raw%'"
    ).fetchone()
    (size,) = database.execute("PRAGMA page_size").fetchone()
    database.close()
    data = bytearray(path.read_bytes())
    page = (root - 1) * size
    if data[page] == 2:  # the root is no leaf: its first child is
        first = int.from_bytes(data[page + 12 : page + 14], "big")
        page = (int.from_bytes(data[page + first : page + first + 4], "big") - 1) * size
    assert data[page] == 10
    cells = int.from_bytes(data[page + 3 : page + 5], "big")
    data[page + 3 : page + 5] = (cells - 5).to_bytes(2, "big")
    path.write_bytes(bytes(data))


def test_a_walk_that_ends_early_is_told(working: Path, tmp_path: Path) -> None:
    _shorten_index(database_of(working))
    told = run("verify", working)
    assert told.exit_code == 1
    assert "index of the store is damaged; 5 entries or bodies could not be looked at" in (
        told.stdout
    )
    exported = run("export", working, tmp_path / "out")
    assert exported.exit_code == 1
    assert "5 entries or bodies could not be looked at" in exported.stderr


def test_rows_come_and_go_without_alarm(working: Path, web: Any, play: Any) -> None:
    with Corpus.open(working) as opened:
        play(opened.tape("record", inner=web.transport, refresh="all"), *URLS, "https://e.org/n")
        opened._store.mark_lost("0" * 64, 3, "gone")
        assert opened._store.structural_problems() == []
        del opened._store._cache[opened._store._cache.keys("entry:")[0]]
        assert opened._store.structural_problems() == []


# Exports


def test_an_export_does_not_launder_what_its_source_had_lost(
    exported: Path, tmp_path: Path
) -> None:
    path = next(exported.glob("*.warc.gz"))
    flip(path, path.stat().st_size // 2)
    flip(path, path.stat().st_size // 3)
    told = run("export", exported, tmp_path / "out")
    assert told.exit_code == 1
    assert told.stderr.count("record at byte") == 2
    assert told.stdout.startswith(f"Exported 28 entries to {tmp_path / 'out'}")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["digest"] in told.stdout
    # Nor does an import, and an export of that.
    Corpus.import_from(exported, tmp_path / "mine").close()
    again = run("export", tmp_path / "mine", tmp_path / "again")
    assert again.exit_code == 1
    assert again.stderr.count("damaged before") == 2


def test_an_export_tells_of_a_promise_that_was_not_kept(exported: Path, tmp_path: Path) -> None:
    path = exported / "manifest.json"
    told = json.loads(path.read_text())
    del told["sha256"]
    path.write_text(json.dumps({**told, "entries": 31}))
    found = run("export", exported, tmp_path / "out")
    assert found.exit_code == 1
    assert "promises 31 entries, 30 can be read" in found.stderr


@pytest.mark.parametrize(
    "change", ["key = 'eXtry' || substr(key, 6)", "raw = 0", "value = x'00'", "key = x'00'"]
)
def test_an_unreadable_row_is_told_by_an_export(working: Path, tmp_path: Path, change: str) -> None:
    database = sqlite3.connect(database_of(working))
    with database:
        first = "(SELECT rowid FROM Cache WHERE key LIKE 'entry:%' LIMIT 1)"
        database.execute(f"UPDATE Cache SET {change} WHERE rowid = {first}")
    database.close()
    told = run("export", working, tmp_path / "out")
    assert told.exit_code == 1
    assert told.stderr.startswith("Problem: ")
    assert "Exported 29 entries" in told.stdout
    checked = check(tmp_path / "out")
    assert checked.problems == ()
    assert str(checked.digest) in told.stdout


def test_an_export_after_an_edit_of_the_questions_says_so(working: Path, tmp_path: Path) -> None:
    (working / "questions.jsonl").write_text("{}\n")
    told = run("export", working, tmp_path / "out")
    assert told.exit_code == 1
    assert "questions.jsonl" in told.stderr


# Foreign folders


@pytest.mark.parametrize("name", ["notes.txt", ".git", "store"])
def test_a_folder_of_other_things_is_left_alone(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "foreign"
    (folder / name).mkdir(parents=True)
    if name == "store":
        (folder / name / "shop.txt").write_text("mine")
    before = sorted(folder.rglob("*"))
    with pytest.raises(CorpusError, match="no corpus"):
        Corpus.create(folder, name="t")
    assert sorted(folder.rglob("*")) == before


def test_what_an_interrupted_creation_left_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    (folder / "store").mkdir(parents=True)
    (folder / ".manifest.json.x1").touch()
    (folder / "mine.jsonl").write_text("{}\n")
    Corpus.create(folder, name="t", questions=folder / "mine.jsonl").close()
    (folder / "manifest.json").unlink()
    (folder / "notes.txt").touch()
    Corpus.create(folder, name="t").close()
    shutil.rmtree(folder)
