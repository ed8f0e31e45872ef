from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from harness.cli import corpus as command
from harness.corpus import Corpus
from harness.errors import CorpusError, HotseatError, MissingError


def run(*arguments: object) -> Result:
    app = typer.Typer()
    command.register(app)
    return CliRunner().invoke(app, ["corpus", *map(str, arguments)])


@pytest.fixture
def recorded(corpus: Corpus, web: Any, play: Any) -> Path:
    play(corpus.tape("record", inner=web.transport), "https://e.org/a", "https://e.org/fail")
    return corpus.path


def test_info(recorded: Path, corpus: Corpus) -> None:
    told = run("info", recorded)
    assert told.exit_code == 0
    assert "2 (page 2) for 2 different requests" in told.stdout
    assert corpus.digest() in told.stdout
    value = json.loads(run("info", recorded, "--json").stdout)
    assert value["entries"] == 2
    assert value["failures"] == 1
    assert value["digest"] == corpus.digest()
    assert value["problems"] == []


def test_info_tells_what_can_be_recorded_into_and_where_the_questions_are(tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    line = {"category": "news", "question": "Who?", "options": ["a", "b"]}
    questions.write_text(json.dumps(line), encoding="utf-8")
    mine, out = tmp_path / "mine", tmp_path / "out"
    with Corpus.create(mine, name="mine", questions=questions) as made:
        made.export(out)
    for folder, words in ((mine, "(working store)"), (out, "(interchange folder, read-only)")):
        told = dict(line.split(maxsplit=1) for line in run("info", folder).stdout.splitlines())
        assert told["corpus"] == f"mine {words}"
        assert told["questions"] == "1"
        assert told["question"] == f"file  {folder / 'questions.jsonl'}"
        value = json.loads(run("info", folder, "--json").stdout)
        assert value["read_only"] is (folder == out)
        assert value["question_count"] == 1


def test_export_import_and_verify(recorded: Path, corpus: Corpus, tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine"
    assert run("export", recorded, out).exit_code == 0
    assert run("export", recorded, out, "--replace").exit_code == 0
    assert run("import", out, mine).exit_code == 0
    for folder in (recorded, out, mine):
        told = run("verify", folder)
        assert told.exit_code == 0
        assert told.stdout == f"2 entries checked, no problem found; digest {corpus.digest()}\n"


def test_verify_lists_problems_and_fails(recorded: Path, corpus: Corpus) -> None:
    for name in corpus._store._cache.keys("entry:"):
        corpus._store._cache.set(name, b"rotten")
    told = run("verify", recorded)
    assert told.exit_code == 1
    lines = told.stdout.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("entry ") for line in lines[:2])
    assert "2 problems found" in lines[2]
    value = json.loads((told := run("verify", recorded, "--json")).stdout)
    assert told.exit_code == 1
    assert not value["ok"]
    assert len(value["problems"]) == 2


def test_a_damaged_import_says_so_and_fails(recorded: Path, corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "c.warc.gz"
    corpus.export(path)
    path.write_bytes(path.read_bytes()[:-20])
    told = run("import", path, tmp_path / "mine")
    assert told.exit_code == 1
    assert "Imported 1 entry into" in told.stdout
    assert "cut off" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (("info", "nowhere"), MissingError, 3),
        (("verify", "nowhere"), MissingError, 3),
        (("import", "nowhere", "x"), MissingError, 3),
        (("verify", __file__), CorpusError, 2),
    ],
)
def test_errors_reach_the_main_program(
    arguments: tuple[str, ...], kind: type[HotseatError], code: int
) -> None:
    error = run(*arguments).exception
    assert isinstance(error, kind)
    assert error.exit_code == code


@pytest.mark.parametrize("name", ["info", "verify", "export", "import", "compact", "clean"])
def test_help_gives_an_example(name: str) -> None:
    assert f"hotseat corpus {name} " in " ".join(run(name, "--help").stdout.split())


def test_importing_the_command_loads_nothing_heavy() -> None:
    code = (
        "import sys, harness.cli.corpus; "
        "print([name for name in ('httpx', 'diskcache', 'rich', 'zstandard', 'warcio') "
        "if name in sys.modules])"
    )
    # typer itself may bring rich along; then this test has nothing to say of it.
    plain = subprocess.run(
        [sys.executable, "-c", code.replace("harness.cli.corpus", "typer")],
        capture_output=True,
        text=True,
        check=True,
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == plain.stdout
