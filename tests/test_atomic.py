from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from harness.atomic import atomic_file, write_atomic


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_file(path) as file:
        file.write(b"n")
        file.flush()
        assert path.read_bytes() == b"old"
        (beside,) = (one for one in tmp_path.iterdir() if one != path)
        assert beside.name.startswith(".file.")
        file.write(b"ew")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("links", [True, False])
def test_an_exclusive_one_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    path = tmp_path / "file"
    write_atomic(path, b"first", exclusive=True)
    with pytest.raises(FileExistsError):
        write_atomic(path, b"second", exclusive=True)
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x" * 255, "ü" * 127])
def test_the_longest_names_can_be_written(tmp_path: Path, name: str) -> None:
    write_atomic(tmp_path / name, b"x")
    assert (tmp_path / name).read_bytes() == b"x"


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of Unix")
@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_who_may_read_it_is_said(tmp_path: Path, mode: int) -> None:
    write_atomic(tmp_path / "file", b"x", mode=mode)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
