"""The sample's modules, which are scripts beside the data and no package."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "datasets" / "sample"


def load(file: str, name: str) -> ModuleType:
    """Import ``file`` of the sample under ``name``, where its siblings find it."""
    spec = importlib.util.spec_from_file_location(name, SAMPLE / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def sample() -> Iterator[SimpleNamespace]:
    """Give the modules of ``datasets/sample`` and where it lies."""
    # In the order of their imports; "build" is also the name of a package.
    siblings = ("site_pages", "site_templates", "site_search", "site_server")
    modules = {name: load(f"{name}.py", name) for name in siblings}
    modules["build"] = load("build.py", "sample_build")
    yield SimpleNamespace(folder=SAMPLE, root=SAMPLE.parents[1], **modules)
    for module in modules.values():
        sys.modules.pop(module.__name__, None)
