"""A replay killed or interrupted for real, in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.replay import read_manifest, read_rows

SCRIPT = Path(__file__).parent / "fakes.py"


class Shell:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "played.log"
        self.run = folder / "run"

    def hotseat(self, *arguments: str, **config: Any) -> subprocess.CompletedProcess[str]:
        config |= {"log": str(self.log), "run": str(self.run)}
        return subprocess.run(
            [sys.executable, str(SCRIPT), json.dumps(config), *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def replay(self, **stunts: str) -> subprocess.CompletedProcess[str]:
        named = {name.replace("_", "-"): stunt for name, stunt in stunts.items()}
        return self.hotseat("replay", "corpus", "--out", "run", "--json", stunts=named)

    def played(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []


@pytest.fixture
def shell(fakes: ModuleType, tmp_path: Path) -> Shell:
    fakes.make_corpus(tmp_path / "corpus", per_category=2)
    return Shell(tmp_path)


def check_complete(shell: Shell, done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    assert set(Counter(shell.played()).values()) == {1}, "a question was played twice"
    assert len(shell.played()) == 12
    cut = json.loads(done.stdout)["digest"]
    whole = json.loads(shell.hotseat("replay", "corpus", "--json", "--shuffle", "3").stdout)
    assert cut == whole["digest"]
    assert len(read_rows(shell.run)) == 12


def test_kill_nine_loses_nothing_committed(shell: Shell):
    assert shell.replay(science_0="kill").returncode == -9
    assert shell.played() == ["news-0", "history-0"]
    assert read_manifest(shell.run)["status"] == "running"
    assert shell.replay(maths_1="kill").returncode == -9
    check_complete(shell, shell.replay())


def test_kill_nine_in_the_middle_of_a_line(shell: Shell):
    assert shell.replay(science_0="torn").returncode == -9
    assert not (shell.run / "traces.jsonl").read_bytes().endswith(b"\n")
    check_complete(shell, shell.replay())
    assert read_manifest(shell.run)["resumed"][0]["dropped_lines"] == 1


def test_control_c_stops_and_says_how_to_go_on(shell: Shell):
    stopped = shell.replay(science_0="int")
    assert stopped.returncode == 130
    assert "Traceback" not in stopped.stderr
    assert stopped.stdout == ""
    assert "2 of 12 questions answered" in stopped.stderr
    command = stopped.stderr.strip().partition("Go on with: hotseat ")[2]
    assert command == "replay --resume run"
    assert read_manifest(shell.run)["status"] == "interrupted"
    check_complete(shell, shell.hotseat(*command.split(), "--json"))
