"""The test site, for the tests of this folder."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def _load() -> Any:
    name = "hotseat_test_site"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("site.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def web() -> Any:
    """Return the module ``site.py``: replies, articles, search results."""
    return _load()


@pytest.fixture
def site(web: Any) -> Iterator[Any]:
    """Return a running site."""
    running = web.Site()
    yield running
    running.close()
