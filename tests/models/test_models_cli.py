"""``hotseat models`` on small models."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.cli import models as cli
from harness.errors import BadInputError, ModelMissingError
from harness.home import home
from harness.models import FolderSource, ModelSpec, known_names, locate

AddModel = Callable[..., ModelSpec]
CONTENTS = {"m.gguf": b"m" * 1_000}


@pytest.fixture
def run() -> Callable[..., Any]:
    app = typer.Typer()
    app.callback()(lambda: None)
    cli.register(app)

    def call(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["models", *arguments])

    return call


@pytest.fixture
def stick(tmp_path: Path) -> Path:
    folder = tmp_path / "stick"
    folder.mkdir()
    (folder / "m.gguf").write_bytes(CONTENTS["m.gguf"])
    return folder


def test_list_shows_each_model_and_its_state(
    run: Callable[..., Any], add_model: AddModel, stick: Path
) -> None:
    add_model("tiny", CONTENTS, (FolderSource(stick),))
    assert run("pull", "tiny").exit_code == 0
    lines = run("list").stdout.splitlines()
    assert lines[0].split() == [
        "NAME",
        "SHORT",
        "NAMES",
        "KIND",
        "LICENCE",
        "SIZE",
        "SOURCES",
        "STATE",
    ]
    assert ["tiny", "gguf", "Apache-2.0", "1", "kB", "folder", "pulled"] in map(str.split, lines)
    assert any("smollm2" in line.split() for line in lines)
    assert any(line.startswith("minilm-l6-v2-int8*") and "missing" in line for line in lines)


def test_list_as_json_is_one_document(run: Callable[..., Any]) -> None:
    document = json.loads(run("list", "--json").stdout)
    rows = {row["name"]: row for row in document["models"]}
    row = rows["qwen2.5-coder-1.5b-instruct-q4_k_m"]
    assert row["default"] is True
    assert row["size_bytes"] == 1_117_320_768
    assert row["state"] == "missing"
    assert row["folder"] == str(home() / "models" / row["name"])


def test_pull_from_a_folder_then_verify_then_repair(
    run: Callable[..., Any], add_model: AddModel, stick: Path
) -> None:
    add_model("tiny", CONTENTS, ())
    result = run("pull", "tiny", "tiny", "--from", str(stick))
    assert result.exit_code == 0
    assert result.stdout == f"tiny: {locate('tiny')}\n"
    good = run("verify")
    assert (good.exit_code, good.stdout) == (0, "tiny: good\n")
    (locate("tiny") / "m.gguf").write_bytes(b"n" * 1_000)
    bad = run("verify", "tiny")
    assert bad.exit_code == 1
    assert "m.gguf has sha256" in bad.stdout
    assert "Run 'hotseat models pull tiny' to repair it." in bad.stdout
    repaired = run("pull", "tiny", "--from", str(stick))
    assert repaired.exit_code == 0
    assert "m.gguf has sha256" in repaired.stderr
    assert run("verify", "tiny").exit_code == 0


def test_verify_without_models_says_so(run: Callable[..., Any]) -> None:
    result = run("verify")
    assert (result.exit_code, result.stdout) == (0, "No model has been pulled yet.\n")


def test_verify_of_a_model_that_is_not_there(run: Callable[..., Any]) -> None:
    error = run("verify", "smollm2").exception
    assert isinstance(error, ModelMissingError)
    assert "hotseat models pull smollm2-135m-instruct-q4_1" in str(error)


def test_a_bad_name_stops_before_anything_is_pulled(
    run: Callable[..., Any], add_model: AddModel, stick: Path
) -> None:
    add_model("tiny", CONTENTS, (FolderSource(stick),))
    error = run("pull", "tiny", "smollm").exception
    assert isinstance(error, BadInputError)
    assert "Did you mean 'smollm2'?" in str(error)
    assert not home().exists()


def test_a_folder_that_is_none(run: Callable[..., Any]) -> None:
    assert isinstance(run("pull", "smollm2", "--from", "/nonesuch").exception, BadInputError)


def test_one_failure_does_not_keep_the_others_from_coming(
    run: Callable[..., Any], add_model: AddModel, stick: Path
) -> None:
    add_model("first", CONTENTS, ())
    add_model("tiny", CONTENTS, (FolderSource(stick),))
    add_model("last", {"x.gguf": b"x"}, ())
    result = run("pull", "first", "tiny", "last")
    assert isinstance(result.exception, ModelMissingError)
    assert result.exception.exit_code == 3
    assert "'first'" in str(result.exception)
    assert "'last'" in str(result.exception)
    assert locate("tiny").is_dir()


def test_without_names_the_defaults_are_pulled(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def note(name: str, **_: Any) -> Path:
        asked.append(name)
        return home()

    monkeypatch.setattr("harness.models.ensure", note)
    run("pull")
    assert asked == ["qwen2.5-coder-1.5b-instruct-q4_k_m", "minilm-l6-v2-int8"]
    asked.clear()
    run("pull", "smollm2", "minilm-int8", "--all-default")
    assert asked == [
        "smollm2-135m-instruct-q4_1",
        "minilm-l6-v2-int8",
        "qwen2.5-coder-1.5b-instruct-q4_k_m",
    ]


def test_names_are_completed() -> None:
    assert cli._complete("smol") == ["smollm2-135m-instruct-q4_1", "smollm2"]


def test_help_shows_examples(run: Callable[..., Any]) -> None:
    assert "hotseat models pull smollm2" in " ".join(run("pull", "--help").stdout.split())


def test_the_documentation_shows_what_list_prints(run: Callable[..., Any]) -> None:
    page = Path(__file__).parents[2] / "docs" / "models.md"
    assert f"```\n{run('list').stdout}```" in page.read_text(encoding="utf-8")


def test_the_documentation_names_each_model_and_alias() -> None:
    text = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    for name in known_names():
        assert f"`{name}`" in text
