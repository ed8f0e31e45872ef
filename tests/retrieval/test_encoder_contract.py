"""What every encoder keeps to, whatever runs it."""

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import EngineError, ModelMissingError
from harness.retrieval import Encoder, load_encoder
from harness.retrieval.onnx_encoder import OnnxEncoder

TEXTS = [
    "The lighthouse of Anvera was lit by Ruth Calder in 1821.",
    "x",
    "",
    "A ferry crosses the strait twice a day. " * 40,
    "日本語の文です。 مرحبا 😀",
    "\ud800 a\x00b \u202e",
    "The baker of the harbour sells rye bread on Mondays.",
]
TINY = [("onnx", "mean"), ("onnx", "cls"), ("safetensors", "mean"), ("safetensors", "cls")]


def tiny_encoder(tiny: ModuleType, folder: Path, form: str, pooling: str) -> Encoder:
    tiny.write_bert(folder, seed=3, forms=(form,), pooling=pooling)
    return load_encoder("tiny", folder=folder)


@pytest.fixture(
    scope="module",
    params=[
        *(
            pytest.param(case, id="-".join(case), marks=[pytest.mark.torch] * (case[0] != "onnx"))
            for case in TINY
        ),
        pytest.param("minilm-l6-v2-int8", marks=pytest.mark.models),
        pytest.param("minilm-l6-v2", marks=[pytest.mark.models, pytest.mark.torch]),
    ],
)
def encoder(request, tiny, tmp_path_factory, model_folder) -> Encoder:
    if isinstance(request.param, str):
        return load_encoder(request.param, folder=model_folder(request.param))
    return tiny_encoder(tiny, tmp_path_factory.mktemp("encoder"), *request.param)


def same(one, other) -> bool:
    return (
        one.pooled.tobytes() == other.pooled.tobytes()
        and one.tokens.tobytes() == other.tokens.tobytes()
    )


def test_one_encoding_per_text_in_order_whatever_stands_beside_it(encoder: Encoder):
    alone = [encoder.encode([text])[0] for text in TEXTS]
    for texts in (TEXTS, TEXTS[::-1], [*TEXTS, *TEXTS], TEXTS[2:4]):
        for text, found in zip(texts, encoder.encode(texts), strict=True):
            assert same(found, alone[TEXTS.index(text)])
    assert encoder.encode([]) == []


def test_it_computes_the_same_again(encoder: Encoder):
    fresh = encoder._encode_one(TEXTS[0])  # past the cache
    assert same(fresh, encoder._encode_one(TEXTS[0]))
    assert same(fresh, encoder.encode([TEXTS[0]])[0])


def test_vectors_are_float32_of_length_1_and_read_only(encoder: Encoder):
    width = len(encoder.encode(["x"])[0].pooled)
    for found in encoder.encode(TEXTS):
        assert found.pooled.shape == (width,)
        assert found.tokens.shape[1:] == (width,)
        assert found.pooled.dtype == found.tokens.dtype == np.float32
        rows = np.vstack([found.pooled[None, :], found.tokens])
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        for array in (found.pooled, found.tokens):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_special_tokens_are_no_tokens_of_the_text(encoder: Encoder):
    nothing, something = encoder.encode(["", "x"])
    assert len(nothing.tokens) == 0
    assert np.isfinite(nothing.pooled).all()
    assert len(something.tokens) == 1


def test_a_long_text_is_judged_by_its_opening(encoder: Encoder):
    room = encoder.describe()["max_tokens"] - 2
    opening = "a " * room
    one, other = encoder.encode([opening, opening + "b b b b"])
    assert len(one.tokens) == len(other.tokens) == room
    assert same(one, other)


def test_it_says_what_it_is(encoder: Encoder):
    told = encoder.describe()
    assert json.loads(json.dumps(told)) == told == encoder.describe()
    assert {"name", "model_sha256", "tokenizer_sha256", "threads", "max_tokens", "pooling"} <= set(
        told
    )


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(max_size=120), max_size=6), data=st.data())
def test_no_text_breaks_it_or_depends_on_the_others(tiny_onnx: OnnxEncoder, texts, data):
    order = data.draw(st.permutations(range(len(texts))))
    found = tiny_onnx.encode(texts)
    again = tiny_onnx.encode([texts[place] for place in order])
    assert all(same(found[place], other) for place, other in zip(order, again, strict=True))


@pytest.fixture(scope="module")
def tiny_onnx(tiny, tmp_path_factory) -> OnnxEncoder:
    folder = tiny.write_bert(tmp_path_factory.mktemp("tiny"), seed=5, forms=("onnx",))
    return OnnxEncoder(folder, name="tiny", cache_bytes=0)


def test_cls_pooling_takes_the_first_vector(tiny, tmp_path: Path):
    mean = tiny_encoder(tiny, tmp_path / "m", "onnx", "mean").encode(["jupiter"])[0]
    first = tiny_encoder(tiny, tmp_path / "c", "onnx", "cls").encode(["jupiter"])[0]
    assert mean.tokens.tobytes() == first.tokens.tobytes()
    assert float(mean.pooled @ first.pooled) < 0.999


# ---- folders that can't be used; each in one sentence with a remedy ----

FORMS = ["onnx", pytest.param("safetensors", marks=pytest.mark.torch)]


@pytest.fixture(params=FORMS)
def folder(request, tiny, tmp_path: Path) -> Path:
    return tiny.write_bert(tmp_path / "own", seed=3, forms=(request.param,))


def refused(folder: Path, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match) as info:
        load_encoder(str(folder))
    assert info.value.remedy
    assert "\n" not in str(info.value)


def test_a_folder_of_ones_own_is_named_by_its_path(folder: Path):
    assert load_encoder(str(folder)).describe()["name"] == "own"


def test_without_a_tokenizer(folder: Path):
    (folder / "tokenizer.json").unlink()
    refused(folder, ModelMissingError, r"encoder 'own' lacks .*tokenizer\.json")


def test_with_a_broken_tokenizer(folder: Path):
    (folder / "tokenizer.json").write_text("{}")
    refused(folder, EngineError, "not a tokenizer")


def test_with_a_broken_model(folder: Path):
    for name in ("model.onnx", "model.safetensors"):
        if (folder / name).exists():
            (folder / name).write_bytes((folder / name).read_bytes()[:900])
    refused(folder, EngineError, "can load|can't load")


def test_with_a_tokenizer_of_another_model(folder: Path, tiny):
    tiny.write_tokenizer(folder / "tokenizer.json", ["further", "words"])
    refused(folder, EngineError, "don't belong together")


def test_with_weights_that_are_no_numbers(folder: Path, tiny):
    size = tiny.write_tokenizer(folder / "tokenizer.json", [])
    weights = tiny.random_bert(3, size)
    weights["encoder.layer.0.output.dense.bias"][:] = np.nan
    if (folder / "model.onnx").exists():
        tiny.write_bert_onnx(folder / "model.onnx", weights, heads=2)
    else:
        tiny.write_safetensors(folder / "model.safetensors", weights)
    with pytest.raises(EngineError, match="no numbers"):
        load_encoder(str(folder)).encode(["x"])


def test_a_cross_encoder_is_no_encoder(folder: Path, tiny):
    forms = ("onnx",) if (folder / "model.onnx").exists() else ("safetensors",)
    tiny.write_bert(folder, seed=3, outputs=1, forms=forms)
    refused(folder, EngineError, "is a cross-encoder")
    (folder / "config.json").unlink()
    if forms == ("onnx",):
        refused(folder, EngineError, "is a cross-encoder.*no output 'last_hidden_state'")


def test_layers_of_unknown_kinds(folder: Path):
    modules = json.loads((folder / "modules.json").read_text())
    for kind in ("sentence_transformers.models.Dense", "os.system"):
        (folder / "modules.json").write_text(json.dumps([*modules, {"type": kind}]))
        refused(folder, EngineError, f"layer of type '{kind}'")


def test_a_pooling_that_is_not_supported(folder: Path):
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    refused(folder, EngineError, "pools its token vectors by 'pooling_mode_max_tokens'")


@pytest.mark.parametrize("raw", ["{", "[" * 100_000, '"' + "x" * (1 << 20) + '"'])
def test_a_configuration_that_is_no_json(folder: Path, raw: str):
    (folder / "config.json").write_text(raw)
    refused(folder, EngineError, "config.json is")


def test_pickled_weights_only(tiny, tmp_path: Path):
    folder = tiny.write_bert(tmp_path / "own", seed=3, forms=())
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    refused(folder, EngineError, "pickled weights only")


def test_no_weights_at_all(tiny, tmp_path: Path):
    folder = tiny.write_bert(tmp_path / "own", seed=3, forms=())
    refused(folder, ModelMissingError, "lacks .*model.onnx")
