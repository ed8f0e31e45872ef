from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from harness.corpus import Corpus, _unpack, clean
from harness.corpus._derived import derived_folder
from harness.errors import CorpusError


@pytest.fixture
def exported(corpus: Corpus, web: Any, play: Any, tmp_path: Path) -> Path:
    play(corpus.tape("record", inner=web.transport), "https://e.org/a", "https://e.org/b")
    corpus.export(tmp_path / "out")
    Corpus.open(tmp_path / "out").close()
    return tmp_path / "out"


def age(folder: Path, days: float) -> None:
    long_ago = time.time() - days * 86_400
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (long_ago, long_ago))


def unpacked(home: Path) -> Path:
    (folder,) = (path for path in (home / "corpora").iterdir() if path.is_dir())
    return folder


def test_what_is_in_use_stays(exported: Path, hotseat_home: Path) -> None:
    assert clean(remove=True) == []
    folder = unpacked(hotseat_home)
    age(folder, 40)
    Corpus.open(exported).close()  # which counts as use
    assert clean(remove=True) == []
    assert folder.exists()


def test_a_home_that_is_a_file_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOTSEAT_HOME", str(tmp_path / "file"))
    assert clean(everything=True, remove=True) == []


def test_what_was_not_used_goes_and_comes_back(
    exported: Path, hotseat_home: Path, corpus: Corpus
) -> None:
    folder = unpacked(hotseat_home)
    age(folder, 40)
    (told,) = clean()
    assert (told.path, told.kind, told.source) == (folder, "unpacked corpus", str(exported))
    assert told.size_bytes > 10_000
    assert told.used_days == pytest.approx(40, abs=0.1)
    assert folder.exists()  # it was only asked
    assert clean(days=50) == []
    (gone,) = clean(remove=True)
    assert gone.path == folder
    assert not folder.exists()
    with Corpus.open(exported) as again:
        assert again.digest() == corpus.digest()


def test_what_was_unpacked_from_files_that_changed_goes(
    exported: Path, hotseat_home: Path, tmp_path: Path
) -> None:
    moved = exported.rename(tmp_path / "moved")
    (told,) = clean()
    assert "gone or was changed" in told.reason
    Corpus.open(moved).close()  # the same files at another place
    assert clean() == []
    manifest = json.loads((moved / "manifest.json").read_text())
    del manifest["sha256"]
    (moved / "manifest.json").write_text(json.dumps({**manifest, "name": "other"}))
    Corpus.open(moved).close()
    assert len([path for path in (hotseat_home / "corpora").iterdir() if path.is_dir()]) == 2
    (told,) = clean(remove=True)
    assert "gone or was changed" in told.reason
    Corpus.open(moved).close()
    assert clean() == []


def test_unfinished_and_derived_folders_go_and_strange_ones_stay(hotseat_home: Path) -> None:
    corpora = hotseat_home / "corpora"
    unfinished = corpora / f".{'0' * 32}.abc"
    strange = corpora / "notes"
    derived = hotseat_home / "derived" / ("1" * 64)
    for folder in (unfinished, strange, derived):
        folder.mkdir(parents=True)
        (folder / "x").write_bytes(b"x")
    assert clean() == []
    for folder in (unfinished, strange, derived):
        age(folder, 31)
    assert {item.kind for item in clean(remove=True)} == {"unfinished unpacking", "derived data"}
    assert [folder.exists() for folder in (unfinished, strange, derived)] == [False, True, False]


def test_an_unpacking_under_way_is_left_alone(
    exported: Path, hotseat_home: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean(everything=True, remove=True)
    original, refused = _unpack._take_in, []

    def take_in(store: Any, found: Any) -> Any:
        with pytest.raises(CorpusError, match="is being unpacked by another program"):
            clean(everything=True, remove=True)
        refused.append(1)
        return original(store, found)

    monkeypatch.setattr(_unpack, "_take_in", take_in)
    with Corpus.open(exported) as opened:
        assert opened.digest() == corpus.digest()
        assert opened.verify() == []
    assert len(refused) == 2


def test_what_nobody_unpacks_any_more_goes_and_leaves_no_lock_of_its_own(
    exported: Path, hotseat_home: Path
) -> None:
    folder = unpacked(hotseat_home)
    killed = folder.with_name(f".{folder.name[:32]}.abc")
    others = folder.with_name(f".{'0' * 32}.abc")
    derived = hotseat_home / "derived" / ("1" * 64)
    for path in (killed, others, derived):
        path.mkdir(parents=True)
    assert len(clean(everything=True, remove=True)) == 4
    left = sorted(path.name for path in (hotseat_home / "corpora").iterdir())
    assert left == [f"{folder.name}.lock"]
    assert list((hotseat_home / "derived").iterdir()) == []


def test_everything_goes_when_asked(exported: Path, hotseat_home: Path, corpus: Corpus) -> None:
    (told,) = clean(everything=True, remove=True)
    assert told.reason == "all are to go"
    assert not told.path.exists()
    assert corpus.verify() == []
    assert clean(everything=True) == []


def test_derived_data_of_an_unpacked_corpus_lies_with_it(
    exported: Path, hotseat_home: Path
) -> None:
    with Corpus.open(exported) as opened:
        assert opened.derived == derived_folder(unpacked(hotseat_home))
        assert opened.derived.is_relative_to(unpacked(hotseat_home))
