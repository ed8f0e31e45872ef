"""Two runs of 100,000 rows compared from disk: seconds and memory of the whole command.

    python benchmarks/bench_compare.py [--quick]
    pytest benchmarks/bench_compare.py

Each command runs in a process of its own, from reading and checking both run
folders to the printed document; memory is the most that process ever held.
A third of the questions has no known truth, some have no partner, and a fifth
flips, so no short cut is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.quiz import Category
from harness.replay.digest import results_digest
from harness.replay.rows import COLUMNS, to_frame
from harness.trace import STAGES

SIZE = 100_000
RUNS = ("before", "after")
COMMAND = "import sys; from harness.cli import main; sys.exit(main(sys.argv[1:]))"
CATEGORIES = [category.value for category in Category]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare two large runs.")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--write", nargs=2, metavar=("FOLDER", "ROWS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        for number, run in enumerate(RUNS):
            write_run(Path(arguments.write[0]) / run, int(arguments.write[1]), number)
        return
    size = 2_000 if arguments.quick else SIZE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_runs(folder, size)
        print("## Comparing two runs")
        print(f"{size:,} rows each, read and checked from disk, whole command\n")
        print("| command | seconds | peak memory |\n|---|---|---|")
        for options in ([], ["--json"], ["--by", "tag"]):
            seconds, peak = timed(folder, options)
            command = " ".join(["hotseat compare", *RUNS, *options])
            print(f"| `{command}` | {seconds:.2f} | {peak / 1e6:.0f} MB |", flush=True)


def make_runs(folder: Path, size: int) -> None:
    """Write both runs in another process: what a parent holds counts as its children's peak."""
    subprocess.run(
        [sys.executable, __file__, "--write", str(folder), str(size)], check=True, timeout=600
    )


def timed(folder: Path, options: list[str]) -> tuple[float, float]:
    """Return the seconds of one command and its peak memory in bytes."""
    started = time.monotonic()
    done = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "compare", *RUNS, *options],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        sys.exit(f"the command failed: {done.returncode}")
    return time.monotonic() - started, usage.ru_maxrss * 1024


def write_run(path: Path, size: int, seed: int) -> None:
    """Write a finished run folder as a replay would, without playing."""
    dice = random.Random(seed)
    truth = random.Random(99)
    rows = [row(number, dice, truth) for number in range(size)]
    # Some questions of either run have no partner in the other.
    rows = [r for n, r in enumerate(rows) if n % 500 != seed]
    path.mkdir()
    to_frame(rows).write_parquet(path / "answers.parquet")
    manifest = {
        "format": "hotseat-run/1",
        "status": "finished",
        "name": path.name,
        "digest": results_digest(rows),
        "settings": {"retrieval.keep": 40 + seed, "time.allowed_s": 30.0},
        "questions": {"n": len(rows), "digest": "sha256:0"},
    }
    (path / "manifest.json").write_text(json.dumps(manifest))
    (path / "traces.jsonl").write_bytes(b"")


def row(number: int, dice: random.Random, truth: random.Random) -> dict[str, Any]:
    options = [f"answer {number} {letter}" for letter in "abcd"]
    gold = options[truth.randrange(4)]
    known = truth.random() < 0.66
    answer = gold if dice.random() < 0.8 else options[dice.randrange(4)]
    values: dict[str, Any] = {
        "question_id": f"question-{number:06}",
        "question_key": f"{number:016x}",
        "category": CATEGORIES[number % 6],
        "level": number % 15 + 1,
        "tags": ["dated"] if number % 3 else ["dated", "invented"],
        "options": options,
        "option_ids": [0, 1, 2, 3],
        "gold_kind": "known" if known else "unknown",
        "gold_text": gold if known else None,
        "refused": [],
        "status": "answered",
        "answer_id": options.index(answer),
        "answer_text": answer,
        "correct": answer == gold if known else None,
        "basis": "retrieved passages",
        "parsed_by": "text",
        "degradations": ["page_failed"] if dice.random() < 0.1 else [],
        "output": f"The passages say that it is so, and so the answer is: {answer} " * 3,
    }
    for stage in STAGES:
        values[f"t_{stage}_s"] = None if stage == "lookup" else dice.lognormvariate(-1, 0.5)
    values |= {
        "t_network_recorded_s": dice.lognormvariate(0, 0.5),
        "t_network_live_s": 0.0,
        "t_compute_s": dice.lognormvariate(1, 0.5),
        "t_total_s": dice.lognormvariate(1.5, 0.5),
    }
    return {column.name: values.get(column.name, 3) for column in COLUMNS}


def test_compare_is_quick_and_small(benchmark: Any, tmp_path: Path) -> None:
    make_runs(tmp_path, SIZE)
    _, peak = benchmark.pedantic(timed, args=(tmp_path, ["--json"]), rounds=3)
    assert peak < 500e6
    assert benchmark.stats.stats.median < 3


if __name__ == "__main__":
    main()
