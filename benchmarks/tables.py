"""Run every benchmark and print its tables: the one command behind docs/performance.md.

    pip install -e '.[dev,bench]'
    python benchmarks/tables.py > tables.md
    python benchmarks/tables.py --only store,engine --quick

Each ``bench_….py`` beside this file prints Markdown tables when it is run, so
each can also be run alone.  They run one after the other, in processes of
their own: two at once would time each other.  Progress goes to stderr.  Exits
with 1 when a benchmark failed; the tables of the others are still printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from harness.replay.machine import machine, versions

HERE = Path(__file__).parent
# What is compared with; named so that a table can be made again.
RIVALS = ("vcrpy", "hishel", "requests-cache", "sentence-transformers", "torch")


def main() -> int:
    arguments = parse()
    print(heading(), flush=True)
    failed = []
    for name in arguments.only or names(HERE):
        took = time.monotonic()
        say(f"{name} …")
        command = [sys.executable, str(HERE / f"bench_{name}.py")]
        done = subprocess.run(
            command + (["--quick"] if arguments.quick else []), stdout=subprocess.PIPE, text=True
        )
        print(done.stdout.rstrip(), end="\n\n", flush=True)
        took = time.monotonic() - took
        if done.returncode:
            failed.append(name)
            print(f"`bench_{name}.py` failed with exit code {done.returncode}.\n", flush=True)
        say(f"{name}: {'failed' if done.returncode else 'done'} in {took:.0f} s")
    return 1 if failed else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run every benchmark and print its tables.")
    parser.add_argument(
        "--only", type=chosen, help=f"some of them, by comma: {', '.join(names(HERE))}"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    return parser.parse_args()


def names(folder: Path) -> list[str]:
    """Return the benchmarks in ``folder``, sorted."""
    return sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))


def chosen(text: str) -> list[str]:
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(names(HERE))):
        raise argparse.ArgumentTypeError(f"no benchmark is called {', '.join(unknown)}")
    return wanted


def heading() -> str:
    """Return when, on what machine and with which versions, as a Markdown list."""
    on, found = machine(), versions()
    memory = f"{on['memory_bytes'] / 2**30:.0f} GiB" if on["memory_bytes"] else "unknown memory"
    told = [f"{name} {version}" for name, version in found.items() if version]
    rivals = [f"{name} {version}" for name in RIVALS if (version := installed(name))]
    absent = [name for name in RIVALS if not installed(name)]
    lines = [
        f"- made {datetime.now(UTC):%Y-%m-%d} by `python benchmarks/tables.py`",
        f"- machine: {on['cpu']}, {on['cores']} cores, {memory}, {on['os']}, {on['arch']}; "
        f"load average before the run {load()}",
        f"- versions: {', '.join(told)}",
        f"- compared with: {', '.join(rivals) or 'nothing that is installed'}"
        + (f"; not installed: {', '.join(absent)}" if absent else ""),
    ]
    return "\n".join(lines) + "\n"


def load() -> str:
    return f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"


def installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
