from __future__ import annotations

from pathlib import Path

import pytest

from harness.home import home


def test_every_test_has_a_home_of_its_own(isolated_home: Path, models_home: Path):
    assert home() == isolated_home.resolve()
    assert home() != models_home
    assert list(isolated_home.iterdir()) == []


def test_home_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOTSEAT_HOME", "~/quiz")
    assert home() == (Path.home() / "quiz").resolve()


def test_without_a_name_it_is_the_platforms_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HOTSEAT_HOME")
    assert home().name == "hotseat"
    assert home().is_absolute()
