"""Rebuild the shipped recording: ``python datasets/sample/build.py``.

Merges the question files, serves the sample web on a free loopback port,
researches every question through ``hotseat record`` and exports the corpus to
``cache/sample/``.  The result is the same bit for bit every time; ``--check``
rebuilds into a temporary folder and compares.
"""

from __future__ import annotations

import argparse
import filecmp
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from site_pages import HERE
from site_server import SEARCH_HOST, serving

ROOT = HERE.parent.parent
QUESTIONS = HERE / "questions.jsonl"
OUT = ROOT / "cache" / "sample"
CATEGORIES = ("entertainment", "history", "science", "maths", "philosophy", "news")
PER_CATEGORY = 15
VIRTUAL_TIME = "2026-11-01T09:00:00Z"

# What a cautious reader of this small web would trust, in place of the built-in
# lists; blogs, fan pages and copied quiz solutions are left out.
TRUSTED = {
    "entertainment": [
        "ordalvapedia.example",
        "cineteca-ordalva.example",
        "festadeirintocchi.example",
        "greenroom.example",
        "sarvocourier.example",
    ],
    "history": ["ordalvapedia.example", "museo-pellastra.example", "openfacts.example"],
    "science": [
        "orbisca-naturalists.example",
        "openfacts.example",
        "atlas-of-science.example",
        "uni-ruvignal.example",
        "ordalvapedia.example",
    ],
    "maths": ["openfacts.example"],
    "philosophy": ["uni-ruvignal.example", "ordalvapedia.example", "mindlab.example"],
    "news": ["sarvocourier.example", "gazette.ordalva-gov.example", "uni-ruvignal.example"],
}


def merge_questions(folder: Path = HERE / "questions") -> list[dict[str, Any]]:
    """Return the 90 questions: 15 of each category, category by category in turn.

    Real ones are taken first and invented ones fill up; inside a category the
    two kinds are spread evenly, so that any opening part is a fair mix.  Raises
    :class:`ValueError` when a category can't be filled.
    """
    real, invented = _read(folder / "real.jsonl"), _read(folder / "invented.jsonl")
    columns = []
    for category in CATEGORIES:
        first = [line for line in real if line["category"] == category][:PER_CATEGORY]
        more = [line for line in invented if line["category"] == category]
        more = more[: PER_CATEGORY - len(first)]
        if len(first) + len(more) < PER_CATEGORY:
            raise ValueError(f"only {len(first) + len(more)} questions of {category}")
        columns.append(_spread(first, more))
    return [column[turn] for turn in range(PER_CATEGORY) for column in columns]


def _read(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def _spread(*groups: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge groups so that each keeps its order and is spread over the whole."""
    placed = [
        ((turn + 0.5) / len(group), number, item)
        for number, group in enumerate(groups)
        for turn, item in enumerate(group)
    ]
    return [item for _, _, item in sorted(placed, key=lambda entry: entry[:2])]


def build(out: Path, questions: Path) -> None:
    """Write the merged ``questions`` file and the recording into the folder ``out``."""
    lines = [json.dumps(line, ensure_ascii=False) for line in merge_questions()]
    questions.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    with tempfile.TemporaryDirectory(prefix="hotseat-sample-") as scratch, serving() as server:
        corpus = Path(scratch) / "sample"  # the export is named after it
        _hotseat(
            scratch,
            "record",
            *("--questions", str(questions)),
            *("--corpus", str(corpus)),
            *("--server", f"http://{SEARCH_HOST}"),
            *("--proxy", server.proxy_url),
            *("--virtual-time", VIRTUAL_TIME),
            *("--set", f"search.trusted={json.dumps(TRUSTED)}"),
        )
        _hotseat(scratch, "corpus", "export", str(corpus), str(out))


def _hotseat(folder: str, *arguments: str) -> None:
    """Run a command where no settings of this machine or user can reach it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOTSEAT_")}
    env["HOTSEAT_HOME"] = str(Path(folder) / "home")
    code = "import sys; from harness.cli import main; sys.exit(main())"
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**env, "PYTHONPATH": str(ROOT)},
        check=True,
    )


def differences(one: Path, other: Path) -> list[str]:
    """Return the names of files that differ between two folders or lie in only one.

    Packed files are compared unpacked, and the manifest without their hashes:
    zlib and its successors pack the same bytes into different ones.
    """
    names = {file.name for folder in (one, other) for file in folder.glob("*")}
    return sorted(name for name in names if _content(one / name) != _content(other / name))


def _content(file: Path) -> Any:
    if not file.is_file():
        return None
    data = file.read_bytes()
    if file.suffix == ".gz":
        return gzip.decompress(data)
    if file.name == "manifest.json":
        manifest = json.loads(data)
        files = manifest.get("files", {})
        manifest.pop("sha256", None)  # it covers those hashes
        manifest["files"] = {n: None if n.endswith(".gz") else files[n] for n in files}
        return manifest
    return data


def _check(fresh: Path, questions: Path, out: Path) -> int:
    wrong = differences(fresh, out)
    if not QUESTIONS.is_file() or questions.read_bytes() != QUESTIONS.read_bytes():
        wrong.append(str(QUESTIONS))
    if wrong:
        print("differs: " + ", ".join(wrong))
        return 1
    names = [file.name for file in fresh.iterdir()]
    equal, _, _ = filecmp.cmpfiles(fresh, out, names, shallow=False)
    same_bytes = len(equal) == len(names)
    print("identical" if same_bytes else "identical, but packed by another zlib than this one")
    return 0


def _publish(fresh: Path, questions: Path, out: Path) -> None:
    """Put a build in place; the manifest, which vouches for the rest, comes last."""
    shutil.copyfile(questions, QUESTIONS)
    out.mkdir(parents=True, exist_ok=True)
    for file in sorted(fresh.iterdir(), key=lambda file: (file.suffix == ".json", file.name)):
        part = out / f"{file.name}.part"
        shutil.copyfile(file, part)
        part.replace(out / file.name)
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {out / file.name}")


def main() -> int:
    """Build, or check; returns the exit code."""
    parser = argparse.ArgumentParser(description="Rebuild the shipped recording.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write (cache/sample)")
    parser.add_argument(
        "--check", action="store_true", help="compare a fresh build with --out instead"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hotseat-build-") as scratch:
        fresh = Path(scratch) / "sample"
        questions = Path(scratch) / QUESTIONS.name
        build(fresh, questions)
        if chosen.check:
            return _check(fresh, questions, chosen.out)
        _publish(fresh, questions, chosen.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
