from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import MissingError
from harness.replay import sample


def put(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sample, "__file__", str(tmp_path / "harness" / "replay" / "sample.py"))
    return tmp_path


def test_a_checkout_has_it_in_the_cache_folder(root: Path):
    assert put(root / "cache" / "sample") == sample.sample_path()


def test_an_installed_package_brings_its_own(root: Path):
    put(root / "cache" / "sample")
    assert put(root / "harness" / "_sample") == sample.sample_path()


def test_without_either_it_says_what_to_do(root: Path):
    (root / "harness" / "_sample").mkdir(parents=True)
    with pytest.raises(MissingError, match=r"not there\. Install"):
        sample.sample_path()


def test_this_tree_has_one():
    assert sample.sample_path().is_dir()
