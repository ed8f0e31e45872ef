"""sentence-transformers as an encoder: what it gives, and what it leaves alone."""

import socket
from pathlib import Path

import numpy as np
import pytest

from harness.errors import EngineError
from harness.retrieval import load_encoder
from harness.retrieval.st_encoder import SentenceTransformerEncoder

pytestmark = pytest.mark.torch

TEXTS = ["The planet Jupiter has four large moons.", "x", "river " * 90, "Größe 😀"]


@pytest.fixture
def folder(tiny, tmp_path: Path, words) -> Path:
    return tiny.write_bert(tmp_path / "own", seed=3, words=words, forms=("safetensors",))


@pytest.fixture
def no_network(monkeypatch) -> None:
    def refuse(*_args, **_rest):
        raise AssertionError("nothing may be asked of the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.models
def test_pooled_vectors_are_those_of_the_library_itself(model_folder):
    from sentence_transformers import SentenceTransformer

    folder = model_folder("minilm-l6-v2")
    plain = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    ours = load_encoder("minilm-l6-v2", folder=folder).encode(TEXTS)
    for text, found in zip(TEXTS, ours, strict=True):
        theirs = plain.encode(text, normalize_embeddings=True, show_progress_bar=False)
        np.testing.assert_allclose(found.pooled, theirs, atol=1e-6)


def test_nothing_is_asked_of_the_network(folder: Path, no_network):
    load_encoder(str(folder)).encode(TEXTS)


def test_the_number_of_threads_is_put_back(folder: Path):
    import torch

    before = torch.get_num_threads()
    encoder = load_encoder(str(folder), threads=2)
    seen = []
    encoder._model.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    encoder.encode(["x"])
    assert seen == [2]
    assert torch.get_num_threads() == before
    assert encoder.describe()["threads"] == 2


def test_device_and_versions_are_told(folder: Path):
    import torch

    told = load_encoder(str(folder)).describe()
    assert told["device"] == "cpu"
    assert told["torch"] == torch.__version__
    assert {"sentence_transformers", "transformers"} <= set(told)


def test_progress_bars_are_left_as_they_were(folder: Path, capfd):
    from transformers.utils import logging

    logging.enable_progress_bar()
    load_encoder(str(folder))
    assert logging.is_progress_bar_enabled()
    assert capfd.readouterr().err == ""


def test_weights_of_half_precision_are_widened(folder: Path):
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    halves = {name: tensor.half() for name, tensor in load_file(path).items()}
    save_file(halves, path, metadata={"format": "pt"})
    encoder = load_encoder(str(folder))
    assert next(encoder._model.parameters()).dtype == torch.float32
    assert encoder.encode(["x"])[0].pooled.dtype == np.float32


def test_a_pickle_beside_the_weights_is_never_opened(folder: Path):
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n.")
    load_encoder(str(folder)).encode(["x"])


def test_code_of_the_model_is_never_run(folder: Path, tmp_path: Path):
    import json

    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "evil.Model", "AutoConfig": "evil.Config"}
    (folder / "config.json").write_text(json.dumps(config))
    mark = tmp_path / "ran"
    (folder / "evil.py").write_text(
        f"open({str(mark)!r}, 'w')\nclass Model: ...\nclass Config: ..."
    )
    load_encoder(str(folder)).encode(["x"])
    assert not mark.exists()


def test_what_torch_says_goes_wrong_is_one_sentence(folder: Path, monkeypatch):
    encoder = SentenceTransformerEncoder(folder, name="own")

    def fail(_features):
        raise RuntimeError("CUDA out of memory\nand much more")

    monkeypatch.setattr(encoder, "_model", fail)
    with pytest.raises(EngineError, match=r"encoder 'own' failed: CUDA out of memory\.$"):
        encoder.encode(["x"])
