"""Finding, hashing and reporting models that are there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ModelMissingError
from harness.models import (
    FolderSource,
    ModelSpec,
    _installed,
    ensure,
    hashes,
    locate,
    status,
    verify,
)

CONTENTS = {"model.onnx": b"weights" * 100, "1_Pooling/config.json": b"{}"}
AddModel = Callable[..., ModelSpec]


@pytest.fixture
def pulled(tmp_path: Path, add_model: AddModel) -> Path:
    source = tmp_path / "stick"
    for name, data in CONTENTS.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(data)
    add_model("tiny", CONTENTS, (FolderSource(source),))
    return ensure("tiny")


def test_a_model_that_was_never_pulled(add_model: AddModel) -> None:
    add_model("tiny", CONTENTS, ())
    with pytest.raises(ModelMissingError) as info:
        locate("tiny")
    assert info.value.exit_code == 3
    assert info.value.remedy == "Run 'hotseat models pull tiny'."
    assert status("tiny").state == "missing"
    with pytest.raises(ModelMissingError):
        verify("tiny")


def test_a_pulled_model_is_found_without_hashing(
    pulled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(path: Path) -> Any:
        raise AssertionError(path)

    monkeypatch.setattr(_installed, "hash_file", never)
    assert locate("TINY") == pulled
    assert status("tiny").state == "pulled"
    assert {name: (pulled / name).read_bytes() for name in CONTENTS} == CONTENTS


def test_recorded_hashes_are_those_of_the_files(pulled: Path) -> None:
    import hashlib

    assert hashes("tiny") == {n: hashlib.sha256(d).hexdigest() for n, d in CONTENTS.items()}
    assert verify("tiny") == []


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), "model.onnx is missing"),
        (lambda folder: (folder / "model.onnx").write_bytes(b"x"), "1 bytes instead of 700"),
        (lambda folder: (folder / _installed.MANIFEST).write_text("{"), "not been pulled"),
        (lambda folder: (folder / _installed.MANIFEST).write_text('{"files": 3}'), "not been"),
        (lambda folder: (folder / _installed.MANIFEST).write_text('{"files": []}'), "manifest"),
    ],
)
def test_a_damaged_model_is_not_handed_out(
    pulled: Path, spoil: Callable[[Path], Any], complaint: str
) -> None:
    spoil(pulled)
    assert status("tiny").state == "damaged"
    with pytest.raises(ModelMissingError, match=complaint):
        locate("tiny")
    assert verify("tiny")
    assert ensure("tiny") == pulled
    assert verify("tiny") == []


def test_a_flipped_byte_is_found_by_verify_and_mended_by_a_recheck(pulled: Path) -> None:
    path = pulled / "model.onnx"
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    assert locate("tiny") == pulled  # cheap on purpose
    (problem,) = verify("tiny")
    assert "model.onnx has sha256" in problem
    ensure("tiny")
    assert verify("tiny") != []
    ensure("tiny", recheck=True)
    assert verify("tiny") == []


def test_another_registered_version_is_not_the_same_model(
    pulled: Path, add_model: AddModel
) -> None:
    add_model("tiny", {**CONTENTS, "model.onnx": b"newer"}, ())
    with pytest.raises(ModelMissingError, match="another version"):
        locate("tiny")


def test_an_oversized_manifest_is_not_read(pulled: Path) -> None:
    path = pulled / _installed.MANIFEST
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "pad": "x" * 2_000_000}))
    assert status("tiny").state == "damaged"
