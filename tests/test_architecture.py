"""The house rules that a program can check: who imports whom, and how large files are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness

PACKAGE = Path(harness.__file__).parent
ROOT = PACKAGE.parent
FILES = sorted(PACKAGE.rglob("*.py"))

CORE = {
    "_question_line",
    "atomic",
    "availability",
    "clock",
    "errors",
    "evidence",
    "home",
    "machine",
    "question_file",
    "quiz",
    "setting_groups",
    "settings",
    "trace",
}
# Each part of the package, and the parts that it may import.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "atomic": set(),
    "clock": {"errors"},
    "home": {"errors"},
    "evidence": {"errors"},
    "quiz": {"errors"},
    "trace": {"errors", "clock"},
    "availability": set(),
    "machine": set(),
    "setting_groups": set(),
    "settings": {"errors", "home", "setting_groups"},
    "_question_line": {"errors", "quiz"},
    "question_file": {"errors", "quiz", "_question_line"},
    "corpus": CORE,
    "engines": CORE,
    "models": CORE,
    "web": CORE | {"corpus"},
    "retrieval": CORE | {"engines", "models"},
    "corpus_index": CORE | {"corpus", "web", "retrieval"},
    "contestant": CORE | {"corpus", "corpus_index", "engines", "models", "web", "retrieval"},
    "games": CORE | {"corpus", "contestant", "web"},
    "importers": CORE,
    "replay": CORE | {"corpus", "contestant"},
    "scoring": CORE | {"replay"},
    "report": CORE | {"replay", "scoring"},
}
# Inside the package only what reads run records, never what plays.
RECORDS = {"digest", "rows", "run_folder", "traces"}

# A library, and the parts that may import it at the top of a module.  Nobody
# is listed for what loads slowly: functions import it when they need it.
LIBRARIES: dict[str, set[str]] = {
    "bm25s": set(),
    "diskcache": {"corpus"},
    "sentence_transformers": set(),
    "torch": set(),
    "exllamav2": set(),
    "ctransformers": set(),
    "faiss": set(),
    "httpx": {"contestant", "corpus", "corpus_index", "engines", "games", "web"},
    "huggingface_hub": set(),
    "jinja2": set(),
    "lxml": {"web"},
    "matplotlib": set(),
    "numpy": {"corpus_index", "retrieval", "scoring"},
    "onnxruntime": set(),
    "polars": set(),
    "rich": {"report"},
    "scipy": set(),
    "soxr": set(),
    "starlette": {"games"},
    "tokenizers": set(),
    "trafilatura": set(),
    "uvicorn": set(),
    "warcio": {"corpus"},
    "xllamacpp": set(),
    "zstandard": {"corpus"},
    "typer": {"cli"},
}
MODEL_LIBRARIES = {
    "ctransformers",
    "exllamav2",
    "faiss",
    "huggingface_hub",
    "onnxruntime",
    "sentence_transformers",
    "tokenizers",
    "torch",
    "xllamacpp",
}

MAX_LINES = 320


def part_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(nodes: Iterator[ast.AST] | list[ast.stmt]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            assert node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def name_of(file: Path) -> str:
    return str(file.relative_to(PACKAGE))


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_imports_run_one_way(file: Path):
    part = part_of(file)
    if part in ("cli", "__init__"):
        return
    assert part in MAY_IMPORT, f"say in this test what {part} may import"
    for name in imported(ast.walk(parse(file))):
        if not name.startswith("harness."):
            continue
        other = name.split(".")[1]
        if (PACKAGE / other).is_dir() or (PACKAGE / f"{other}.py").is_file():
            allowed = MAY_IMPORT[part] | {part}
            assert other in allowed, f"{part} must not import {name}"


@pytest.mark.parametrize(
    "file", [file for file in FILES if part_of(file) in ("scoring", "report")], ids=name_of
)
def test_scoring_and_report_read_records_only(file: Path):
    for name in imported(ast.walk(parse(file))):
        library = name.partition(".")[0]
        assert library not in MODEL_LIBRARIES
        if name.startswith("harness.replay."):
            assert name.split(".")[2] in RECORDS, f"{name} is more than a run record"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_heavy_libraries_are_imported_by_those_who_need_them(file: Path):
    for name in imported(top_level(parse(file).body)):
        library = name.partition(".")[0]
        if library in LIBRARIES:
            assert part_of(file) in LIBRARIES[library], f"import {library} inside a function"


def top_level(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the statements that run on import: no functions, nothing for types only."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from top_level(node.orelse)
        elif isinstance(node, ast.If | ast.With | ast.Try | ast.ClassDef | ast.For):
            for field in ("body", "orelse", "finalbody"):
                yield from top_level(getattr(node, field, []))


# Loaded by a command once it runs, never on a start.
LOADED_LATE = {"_replay_display.py", "_play_display.py", "_play_document.py"}


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_command_modules_import_only_typer_at_the_top(file: Path):
    if part_of(file) != "cli":
        return
    for name in imported(top_level(parse(file).body)):
        if name.startswith("harness."):
            assert name.split(".")[1] in {"cli", "errors", "__version__"} or (
                file.name in LOADED_LATE
            ), f"{name_of(file)} loads {name} on every start"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_files_stay_small(file: Path):
    lines = len(file.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_every_module_says_what_it_is_for(file: Path):
    assert ast.get_docstring(parse(file))


def test_only_harness_is_a_package():
    for folder in ("cache", "datasets", "benchmarks", "reports", "tests", "docs"):
        found = list((ROOT / folder).rglob("__init__.py"))
        assert not found, f"{found[0]} would shadow an installed package"


def test_no_pickle_and_no_eval():
    for file in FILES:
        tree = parse(file)
        names = {name.partition(".")[0] for name in imported(ast.walk(tree))}
        assert names.isdisjoint({"pickle", "cPickle", "marshal", "shelve", "dill"}), file
        calls = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert calls.isdisjoint({"eval", "exec"}), file
