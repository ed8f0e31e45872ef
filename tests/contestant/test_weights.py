"""The weights a setting names are the right ones, or the run does not begin."""

from __future__ import annotations

import hashlib

import pytest

from harness.contestant import weights
from harness.errors import BadInputError, ModelMissingError

CONTENT = b"GGUF and the rest of a model"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """A registered model whose file lies in a folder of this test's own."""
    from harness.models import get_spec

    spec = get_spec("smollm2")
    (tmp_path / spec.main).write_bytes(CONTENT)
    monkeypatch.setattr(weights, "ensure", lambda name, progress=None: tmp_path)
    monkeypatch.setattr(weights, "hashes", lambda name: {spec.main: SHA256})
    return tmp_path / spec.main


def test_a_registered_model_is_known_by_the_hash_of_its_bytes(registered):
    found = weights.find_weights("smollm2")
    assert found == weights.Weights(registered, "smollm2-135m-instruct-q4_1", SHA256)


def test_a_changed_byte_stops_the_run_and_names_the_repair(registered):
    registered.write_bytes(CONTENT.replace(b"rest", b"rust"))
    with pytest.raises(ModelMissingError, match=r"models pull smollm2-135m-instruct-q4_1"):
        weights.find_weights("smollm2")


def test_a_file_of_ones_own_is_known_by_its_hash(tmp_path):
    path = tmp_path / "mine.GGUF"
    path.write_bytes(CONTENT)
    assert weights.find_weights(str(path)) == weights.Weights(path, "mine.GGUF", SHA256)


def test_a_missing_file_and_an_unknown_name_are_told_apart():
    with pytest.raises(ModelMissingError, match=r"no model file .*gone\.gguf"):
        weights.find_weights("/nowhere/gone.gguf")
    with pytest.raises(BadInputError, match="smollm2"):
        weights.find_weights("smolm2")


def test_a_split_model_is_known_by_all_its_parts(tmp_path):
    parts = [tmp_path / f"m-0000{n}-of-00002.gguf" for n in (1, 2)]
    for part in parts:
        part.write_bytes(CONTENT)
    found = weights.find_weights(str(parts[1]))
    assert (found.path, found.name) == (parts[0], "m-00001-of-00002.gguf")
    assert weights.find_weights(str(parts[0])) == found
    parts[1].write_bytes(CONTENT + b"!")
    assert weights.find_weights(str(parts[0])).sha256 != found.sha256
    parts[1].unlink()
    with pytest.raises(ModelMissingError, match=r"m-00002-of-00002\.gguf is missing"):
        weights.find_weights(str(parts[0]))


def test_a_folder_is_known_by_the_files_in_it(tmp_path):
    folder = tmp_path / "Qwen 7B exl2"
    folder.mkdir()
    with pytest.raises(ModelMissingError, match="empty"):
        weights.find_weights(str(folder))
    (folder / "model.safetensors").write_bytes(CONTENT)
    (folder / "config.json").write_bytes(b"{}")
    found = weights.find_weights(str(folder))
    assert (found.path, found.name) == (folder, "Qwen 7B exl2")
    (folder / ".cache").write_bytes(b"left by a tool")
    assert weights.find_weights(str(folder)) == found
    (folder / "config.json").rename(folder / "other.json")
    renamed = weights.find_weights(str(folder))
    (folder / "other.json").write_bytes(b"{ }")
    changed = weights.find_weights(str(folder))
    assert len({found.sha256, renamed.sha256, changed.sha256}) == 3


@pytest.mark.parametrize("name", ["old.ggml.bin", "old.bin", "m.ggml"])
def test_older_files_are_taken_as_paths_too(tmp_path, name):
    (tmp_path / name).write_bytes(CONTENT)
    assert weights.find_weights(str(tmp_path / name)).sha256 == SHA256


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere/at-all", "~/no-such-folder-here"])
def test_a_path_to_nothing_is_no_unknown_name(model):
    with pytest.raises(ModelMissingError, match="no model file"):
        weights.find_weights(model)


def test_a_folder_that_is_called_like_a_model_does_not_hide_it(registered, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").mkdir()
    assert weights.find_weights("smollm2").path == registered


def test_a_file_of_ones_own_is_looked_at_before_all_of_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "huge.gguf"
    path.write_bytes(CONTENT)
    monkeypatch.setattr(weights, "hash_file", lambda _: pytest.fail("read before it was checked"))

    def refuse(checked):
        raise ModelMissingError(f"no use: {checked.name}")

    with pytest.raises(ModelMissingError, match=r"no use: huge\.gguf"):
        weights.find_weights(str(path), check=refuse)
