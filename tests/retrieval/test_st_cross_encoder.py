"""sentence-transformers' CrossEncoder: the same numbers as its own, cut by our rule."""

from pathlib import Path

import pytest

from harness.errors import EngineError, ModelMissingError
from harness.retrieval import load_reranker
from harness.retrieval.st_cross_encoder import SentenceTransformerPairs

pytestmark = pytest.mark.torch


@pytest.fixture
def folder(tiny, tmp_path: Path, words) -> Path:
    return tiny.write_bert(
        tmp_path / "own", seed=33, words=words, outputs=1, forms=("safetensors",)
    )


def test_the_numbers_are_the_librarys_own_before_its_activation(folder: Path):
    import torch
    from sentence_transformers import CrossEncoder

    pairs = [("which planet", "jupiter is a planet"), ("which river", "danube"), ("x", "")]
    plain = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    theirs = plain.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False)
    ours = SentenceTransformerPairs(folder, name="own")
    for pair, number in zip(pairs, theirs, strict=True):
        assert ours.score(*pair) == pytest.approx(float(number), abs=1e-5)


def test_only_the_passage_is_cut(folder: Path):
    ours = SentenceTransformerPairs(folder, name="own")
    long = "river " * 57
    assert ours.score("which planet is it", long) == ours.score(
        "which planet is it", long + "jupiter"
    )


def test_threads_device_and_versions_are_told(folder: Path):
    import torch

    before = torch.get_num_threads()
    ours = SentenceTransformerPairs(folder, name="own", threads=2)
    ours.score("a", "b")
    told = ours.describe()
    assert (told["threads"], told["device"]) == (2, "cpu")
    assert told["torch"] == torch.__version__
    assert torch.get_num_threads() == before


def refused(folder: Path, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match) as info:
        load_reranker(str(folder))
    assert info.value.remedy
    assert "\n" not in str(info.value)


def test_without_a_tokenizer(folder: Path):
    (folder / "tokenizer.json").unlink()
    refused(folder, ModelMissingError, r"lacks .*tokenizer\.json")


def test_with_broken_weights(folder: Path):
    (folder / "model.safetensors").write_bytes(b"no weights")
    refused(folder, EngineError, "can't load the reranker 'own'")


def test_with_a_tokenizer_of_another_model(folder: Path, tiny, words):
    tiny.write_tokenizer(folder / "tokenizer.json", [*words, "zzz"])
    refused(folder, EngineError, "don't belong together")


def test_a_bi_encoder_is_no_reranker(folder: Path, tiny):
    tiny.write_bert(folder, seed=3, forms=("safetensors",))
    refused(folder, EngineError, "reranker 'own' is an encoder")


def test_a_classifier_of_several_classes_is_no_reranker(folder: Path, tiny, words):
    tiny.write_bert(folder, seed=3, words=words, outputs=3, forms=("safetensors",))
    refused(folder, EngineError, "has 3 outputs; a reranker has one")


def test_the_choice_is_told(folder: Path, any_scale):
    told = load_reranker(str(folder)).describe()
    assert told["chosen"] == "by name; sentence-transformers, on cpu"
