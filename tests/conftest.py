"""What every test gets: its own state folder, a clean environment, real models on demand."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from harness.errors import HotseatError
from harness.home import home

# Taken before any test hides them.
_MODELS_HOME = Path(os.environ.get("HOTSEAT_TEST_HOME") or home())
_MODELS_REQUIRED = os.environ.get("HOTSEAT_REQUIRE_MODELS", "") not in ("", "0")


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Let Ctrl-C work in tests, also where the suite runs in a shell's background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def isolated_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Put all state into a folder of this test's own, and hide the developer's settings."""
    for name in list(os.environ):
        if name.startswith("HOTSEAT_"):
            monkeypatch.delenv(name)
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOTSEAT_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def models_home() -> Path:
    """Return the folder whose ``models`` all tests share: the per-user one.

    ``HOTSEAT_TEST_HOME`` names another.
    """
    return _MODELS_HOME


@pytest.fixture(scope="session")
def model_folder(models_home: Path) -> Callable[[str], Path]:
    """Return a function that gives a real model's folder, pulling it once.

    Where it can't be had, the test is skipped with the reason, or fails if
    ``HOTSEAT_REQUIRE_MODELS=1``.
    """
    found: dict[str, Path | str] = {}

    def give(name: str) -> Path:
        if name not in found:
            found[name] = _pull(name, models_home)
        folder = found[name]
        if isinstance(folder, Path):
            return folder
        reason = f"model {name} can't be had: {folder}"
        if _MODELS_REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)

    return give


def _pull(name: str, models_home: Path) -> Path | str:
    from harness.models import ensure

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOTSEAT_HOME", str(models_home))
        try:
            return ensure(name)
        except HotseatError as error:
            return str(error)


@pytest.fixture
def real_models(
    isolated_home: Path, models_home: Path, model_folder: Callable[[str], Path]
) -> Callable[..., Path]:
    """Return a function that makes real models visible to this test.

    ``real_models("minilm-l6-v2-int8")`` makes sure of the model and links the
    shared ``models`` folder into the test's own home, which it returns.
    """

    def link(*names: str) -> Path:
        for name in names:
            model_folder(name)
        place = isolated_home / "models"
        if not place.is_symlink():
            place.symlink_to(models_home / "models", target_is_directory=True)
        return isolated_home

    return link


@pytest.fixture(scope="session")
def fakes() -> ModuleType:
    """Return the module of fake contestant and corpus (a script too, for tests that kill it)."""
    path = Path(__file__).parent / "replay" / "fakes.py"
    spec = importlib.util.spec_from_file_location("hotseat_test_fakes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
