"""A reranker in GGUF form, made on the spot and run by llama.cpp."""

from pathlib import Path

import pytest

from harness.errors import EngineError, ModelMissingError
from harness.retrieval import load_reranker
from harness.retrieval.gguf_reranker import GgufPairs


@pytest.fixture(scope="module")
def pairs(tiny, tmp_path_factory, words) -> GgufPairs:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return GgufPairs(tiny.write_gguf_bert(path, seed=1, words=words), name="tiny")


def test_texts_decide_the_score(pairs: GgufPairs):
    first = pairs.score("which planet", "jupiter")
    assert first == pairs.score("which planet", "jupiter")
    assert first != pairs.score("which planet", "danube")
    assert first != pairs.score("which river", "jupiter")


def test_what_was_scored_before_changes_nothing(tiny, tmp_path: Path, words, pairs: GgufPairs):
    fresh = GgufPairs(tiny.write_gguf_bert(tmp_path / "x.gguf", seed=1, words=words), name="x")
    texts = ["jupiter", "danube " * 50, "", "river"]
    assert [fresh.score("which planet", text) for text in texts[::-1]][::-1] == [
        pairs.score("which planet", text) for text in texts
    ]


def test_a_passage_too_long_is_halved_until_it_fits(pairs: GgufPairs):
    short = "river " * 200
    long = short + "jupiter " * 150  # as many characters again
    assert pairs.score("planet", long) == pairs.score("planet", short)
    assert isinstance(pairs.score("planet " * 3_000, "river"), float)


def test_it_says_what_it_is(pairs: GgufPairs):
    told = pairs.describe()
    assert told["max_tokens"] == 256
    assert told["device"] == "cpu"
    assert len(told["model_sha256"]) == 64


def test_a_model_without_a_head_is_no_reranker(tiny, tmp_path: Path):
    path = tiny.write_gguf_bert(tmp_path / "bert.gguf", seed=1, head=False)
    with pytest.raises(EngineError, match=r"bert\.gguf is no reranker"):
        load_reranker(str(path))


def test_a_model_of_random_weights_is_no_reranker(tiny, tmp_path: Path, words):
    path = tiny.write_gguf_bert(tmp_path / "bert.gguf", seed=1, words=words)
    with pytest.raises(EngineError, match="built-in questions"):
        load_reranker(str(path))


def test_files_that_can_not_be_used(tiny, tmp_path: Path):
    with pytest.raises(ModelMissingError, match="no model file"):
        load_reranker(str(tmp_path / "none.gguf"))
    (tmp_path / "text.gguf").write_text("no model at all")
    with pytest.raises(EngineError, match="not a GGUF file"):
        load_reranker(str(tmp_path / "text.gguf"))
    whole = tiny.write_gguf_bert(tmp_path / "whole.gguf", seed=1).read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EngineError, match=r"cut\.gguf is cut short"):
        load_reranker(str(tmp_path / "cut.gguf"))


def test_the_choice_is_told(tiny, tmp_path: Path, any_scale):
    path = tiny.write_gguf_bert(tmp_path / "bert.gguf", seed=1)
    reranker = load_reranker(str(path))
    told = reranker.describe()
    assert told["chosen"] == "by name; llama.cpp, on the CPU"
    assert reranker.scale(options=True).name == f"{told['model_sha256'][:12]}:logit"
