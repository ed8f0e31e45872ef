"""Which model a name stands for, and that the choice is told."""

import hashlib
import importlib.util
import json
from pathlib import Path

import pytest

from harness.errors import EngineError, ModelMissingError, SettingError
from harness.models import REGISTRY, FolderSource, ModelFile, ModelSpec, ensure
from harness.retrieval import load_encoder, load_reranker
from harness.retrieval.loading import AUTO_RERANKER

PUT_TOGETHER = ("reranker", "encoder")


def register(monkeypatch, name: str, role: str, folder: Path, kind: str = "onnx") -> None:
    """Make the registry's ``name`` mean the files of ``folder``, and pull them."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    spec = ModelSpec(
        name=name,
        title="tiny",
        kind=kind,
        licence="Apache-2.0",
        upstream=REGISTRY[name].upstream if name in REGISTRY else "makers/tiny",
        files=tuple(
            ModelFile(
                path.relative_to(folder).as_posix(),
                path.stat().st_size,
                hashlib.sha256(path.read_bytes()).hexdigest(),
            )
            for path in files
        ),
        sources=(FolderSource(folder),),
        role=role,
    )
    monkeypatch.setitem(REGISTRY, name, spec)
    ensure(name)


@pytest.fixture
def pulled(monkeypatch, tiny, tmp_path: Path, any_scale) -> Path:
    """Make the automatic reranker a tiny one that has been pulled."""
    folder = tiny.write_bert(tmp_path / "tiny", seed=33, outputs=1, forms=("safetensors",))
    weights = tiny.read_safetensors(folder / "model.safetensors")
    tiny.write_bert_onnx(folder / "onnx" / "model.onnx", weights, heads=2)
    register(monkeypatch, AUTO_RERANKER, "reranker", folder)
    return folder


def test_auto_is_maxsim_without_weights_and_says_so():
    told = load_reranker("auto").describe()
    assert told["name"] == "maxsim"
    assert told["chosen"] == "auto: ms-marco-minilm-l-6-v2 is missing"


def test_auto_fetches_nothing(monkeypatch):
    def never(*_args, **_rest):
        raise AssertionError("auto must not pull")

    monkeypatch.setattr("harness.retrieval.loading.ensure", never)
    assert load_reranker("auto").describe()["name"] == "maxsim"


def test_auto_is_the_cross_encoder_where_its_weights_are(pulled: Path):
    reranker = load_reranker("auto", threads=1)
    told = reranker.describe()
    assert told["name"] == AUTO_RERANKER
    assert told["chosen"] == f"auto: {AUTO_RERANKER} is here; onnxruntime"
    assert (
        told["model_sha256"]
        == hashlib.sha256((pulled / "onnx" / "model.onnx").read_bytes()).hexdigest()
    )
    assert reranker.scale(options=True).name == f"{AUTO_RERANKER}:logit"
    assert json.loads(json.dumps(told)) == told


@pytest.mark.parametrize("name", [AUTO_RERANKER, "cross-encoder/ms-marco-MiniLM-L-6-v2"])
def test_a_reranker_goes_by_its_name_and_its_makers(pulled: Path, name: str):
    assert load_reranker(name).describe()["chosen"] == "by name; onnxruntime"


@pytest.mark.torch
def test_the_graphics_card_is_never_silently_left_out(pulled: Path):
    import torch

    if torch.cuda.is_available():
        assert "cuda" not in load_reranker(AUTO_RERANKER, device="cuda").describe()["device"]
        return
    with pytest.raises(EngineError, match="torch finds none"):
        load_reranker(AUTO_RERANKER, device="cuda")


def test_a_graphics_card_needs_weights_for_it(tiny, tmp_path: Path):
    folder = tiny.write_bert(tmp_path / "own", seed=1, forms=("onnx",))
    with pytest.raises(EngineError, match=r"needs model\.safetensors"):
        load_encoder(str(folder), device="cuda")


def test_auto_does_not_pass_over_a_damaged_model(pulled: Path, isolated_home: Path):
    (isolated_home / "models" / AUTO_RERANKER / "tokenizer.json").unlink()
    with pytest.raises(ModelMissingError, match=r"tokenizer\.json is missing.*models pull"):
        load_reranker("auto")


@pytest.mark.parametrize("role", PUT_TOGETHER)
def test_weights_that_changed_since_they_were_pulled_are_refused(
    monkeypatch, tiny, tmp_path: Path, isolated_home: Path, any_scale, role: str
):
    outputs = 1 if role == "reranker" else 0
    folder = tiny.write_bert(tmp_path / "a", seed=1, outputs=outputs, forms=("onnx",))
    register(monkeypatch, "tiny", role, folder)
    load = load_reranker if role == "reranker" else load_encoder
    load("tiny")
    other = tiny.write_bert(tmp_path / "b", seed=2, outputs=outputs, forms=("onnx",))
    changed = isolated_home / "models" / "tiny" / "model.onnx"
    assert changed.stat().st_size == (other / "model.onnx").stat().st_size
    changed.write_bytes((other / "model.onnx").read_bytes())
    with pytest.raises(ModelMissingError, match=r"damaged.*models pull tiny"):
        load("tiny")


def test_names_nobody_knows_get_the_nearest():
    with pytest.raises(SettingError, match=r"no reranker 'maxim'.*Did you mean 'maxsim'"):
        load_reranker("maxim")
    with pytest.raises(SettingError, match=r"no encoder 'minilm-l6-v3'.*'minilm-l6-v2'"):
        load_encoder("minilm-l6-v3")


def test_a_model_of_another_role_is_refused_before_it_is_fetched():
    with pytest.raises(SettingError, match="'ms-marco-minilm-l-6-v2' is no encoder"):
        load_encoder(AUTO_RERANKER)
    with pytest.raises(SettingError, match="'minilm-l6-v2' is no reranker"):
        load_reranker("minilm")
    with pytest.raises(SettingError, match=r"is no reranker.*maxsim.*ms-marco"):
        load_reranker("smollm2")


def test_a_path_that_leads_nowhere(tmp_path: Path):
    with pytest.raises(ModelMissingError, match=r"no model file .*nowhere\.gguf"):
        load_reranker(str(tmp_path / "nowhere.gguf"))
    with pytest.raises(SettingError, match="no reranker"):
        load_reranker(str(tmp_path / "nowhere"))


def test_safetensors_without_the_library_say_what_to_install(monkeypatch, tiny, tmp_path: Path):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "sentence_transformers" else real(name, *rest),
    )
    encoder = tiny.write_bert(tmp_path / "e", seed=1, forms=("safetensors",))
    reranker = tiny.write_bert(tmp_path / "r", seed=1, outputs=1, forms=("safetensors",))
    for load, folder in ((load_encoder, encoder), (load_reranker, reranker)):
        with pytest.raises(EngineError, match=r"isn't installed.*pip install 'hotseat\[torch\]'"):
            load(str(folder))
