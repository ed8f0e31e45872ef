"""The command that prints every benchmark's table."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TABLES = Path(__file__).parents[2] / "benchmarks" / "tables.py"

GOOD = """import sys
print("## Good\\n\\n| n |\\n|---|\\n|", "few" if "--quick" in sys.argv else "many", "|")
"""
BAD = "print('## Bad')\nraise SystemExit(3)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(TABLES, tmp_path)
    (tmp_path / "bench_good.py").write_text(GOOD)
    (tmp_path / "bench_bad.py").write_text(BAD)
    (tmp_path / "quality.py").write_text("raise SystemExit('not a benchmark')")
    return tmp_path


def run(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(folder / "tables.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_all_run_in_order_and_a_failure_is_told(folder: Path):
    done = run(folder)
    assert done.returncode == 1
    assert done.stdout.index("## Bad") < done.stdout.index("## Good")
    assert "`bench_bad.py` failed with exit code 3." in done.stdout
    assert "| many |" in done.stdout
    assert "bad: failed in" in done.stderr


def test_the_machine_and_the_versions_come_first(folder: Path):
    done = run(folder, "--only", "good")
    assert done.returncode == 0
    head = done.stdout.partition("## Good")[0]
    assert "cores" in head
    assert "xllamacpp" in head
    assert "Bad" not in done.stdout


def test_quick_is_handed_on(folder: Path):
    assert "| few |" in run(folder, "--only", "good", "--quick").stdout


def test_an_unknown_benchmark_is_refused(folder: Path):
    done = run(folder, "--only", "good,absent")
    assert done.returncode == 2
    assert "no benchmark is called absent" in done.stderr
