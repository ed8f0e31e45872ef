"""What every reranker keeps to, whatever runs it, and the cross-encoders' own rules."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import EngineError, ModelMissingError
from harness.retrieval import Reranker, load_reranker
from harness.retrieval.calibration import PAIRS
from harness.retrieval.onnx_cross_encoder import OnnxPairs
from harness.retrieval.pair_reranker import PairReranker
from harness.retrieval.protocol import Asked, Candidate
from harness.retrieval.threshold import cutoff

PASSAGES = [
    "Jupiter is by far the heaviest planet.",
    "",
    "日本語 \ud800 😀",
    "The Danube rises in the Black Forest. " * 60,
    "Jupiter is by far the heaviest planet.",
    "x",
]
OPTIONS = ("Jupiter", "Saturn", "Mars", "Venus")


def asked(encoder, text: str, options=OPTIONS) -> Asked:
    question, *rest = encoder.encode([text, *options])
    return Asked(text, tuple(options), question, tuple(rest))


def candidates(encoder, question: Asked, passages) -> list[Candidate]:
    encoded = encoder.encode(passages)
    return [
        Candidate(text, one, round(float(question.encoding.pooled @ one.pooled), 6))
        for text, one in zip(passages, encoded, strict=True)
    ]


def make(kind: str, tiny, folder: Path, words, **rest) -> Reranker:
    if kind in ("none", "maxsim"):
        return load_reranker(kind, **rest)
    if kind == "gguf":
        path = tiny.write_gguf_bert(folder / "tiny.gguf", seed=1, words=words)
        return load_reranker(str(path), **rest)
    tiny.write_bert(folder, seed=33, words=words, outputs=1, forms=(kind,))
    return load_reranker(str(folder), **rest)


KINDS = ["none", "maxsim", "gguf", "onnx", pytest.param("safetensors", marks=pytest.mark.torch)]


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


@pytest.fixture
def reranker(kind, tiny, tmp_path, words, any_scale) -> Reranker:
    return make(kind, tiny, tmp_path, words)


def test_a_score_depends_on_its_candidate_only(reranker: Reranker, hashing_encoder):
    question = asked(hashing_encoder, "Which planet has the most mass?")
    all_of_them = candidates(hashing_encoder, question, PASSAGES)
    scores = reranker.score(question, all_of_them)
    alone = [reranker.score(question, [one])[0] for one in all_of_them]
    assert scores == alone == reranker.score(question, all_of_them[::-1])[::-1]
    assert scores[0] == scores[4]
    assert reranker.score(question, []) == []


def test_scores_are_plain_numbers_of_six_decimals(reranker: Reranker, hashing_encoder):
    question = asked(hashing_encoder, "Which planet has the most mass?", ())
    for score in reranker.score(question, candidates(hashing_encoder, question, PASSAGES)):
        assert type(score) is float
        assert score == round(score, 6)


def test_it_says_what_it_is(reranker: Reranker):
    told = reranker.describe()
    assert told["name"]
    assert json.loads(json.dumps(told)) == told == reranker.describe()


def test_a_long_question_leaves_room_for_the_passage(reranker: Reranker, hashing_encoder):
    question = asked(hashing_encoder, "which planet " * 2_000, ())
    found = reranker.score(question, candidates(hashing_encoder, question, PASSAGES))
    assert len(found) == len(PASSAGES)


def test_no_two_rerankers_share_a_scale(tiny, tmp_path, words, any_scale):
    names: list[str] = []
    for place, kind in enumerate(["none", "maxsim", "gguf", "onnx"]):
        folder = tmp_path / str(place)
        folder.mkdir()
        rest = {"query": "joined"} if kind in ("onnx", "gguf") else {}
        found = make(kind, tiny, folder, words, **rest)
        names += {found.scale(options=options).name for options in (False, True)}
    tiny.write_bert(tmp_path / "other", seed=34, words=words, outputs=1, forms=("onnx",))
    names.append(load_reranker(str(tmp_path / "other")).scale(options=False).name)
    assert len(set(names)) == len(names) == 8


def test_a_floor_holds_on_its_own_scale_only(tiny, tmp_path, words, any_scale):
    (tmp_path / "other").mkdir()
    one = make("onnx", tiny, tmp_path, words).scale(options=True)
    other = load_reranker("maxsim").scale(options=True)
    floors = {other.name: 9.0}
    assert cutoff(1.5, one, threshold=0.5, floors=floors) is not None
    assert cutoff(1.5, other, threshold=0.5, floors=floors) is None


# ---- models of pairs ----


class Words:
    """Scores a pair by the share of the passage's words that the query has."""

    def __init__(self, factor: float = 1.0) -> None:
        self.history: list[tuple[str, str]] = []
        self.factor = factor

    def describe(self):
        return {"name": "words", "model_sha256": "ab" * 32}

    def score(self, query: str, passage: str) -> float:
        self.history.append((query, passage))
        told = {word.strip(".,?").lower()[:6] for word in passage.split()}
        named = {word.strip(".,?").lower()[:6] for word in query.split()}
        return self.factor * len([word for word in named & told if len(word) > 3])


def test_the_scale_is_measured_and_told(hashing_encoder):
    reranker = PairReranker(Words(), chosen="by name")
    scale = reranker.scale(options=True)
    assert scale == reranker.scale(options=False)
    assert scale.name == "abababababab:logit"
    assert scale.noise < scale.floor
    told = reranker.describe()
    assert told["query"] == "question"
    assert told["chosen"] == "by name"
    (measured,) = told["scales"]
    assert measured["name"] == scale.name
    assert (measured["noise"], measured["floor"]) == (scale.noise, scale.floor)


def test_a_registered_model_has_one_scale_in_all_forms():
    assert PairReranker(Words(), meaning="ms-marco").scale(options=False).name == "ms-marco:logit"


@pytest.mark.parametrize("query", ["question", "joined"])
def test_the_question_is_asked_alone_or_with_the_options(hashing_encoder, query: str):
    scorer = Words()
    reranker = PairReranker(scorer, query=query)
    question = asked(hashing_encoder, "Which planet?")
    scorer.history.clear()
    reranker.score(question, candidates(hashing_encoder, question, ["Jupiter"]))
    joined = "Which planet? Jupiter Saturn Mars Venus"
    assert scorer.history == [("Which planet?" if query == "question" else joined, "Jupiter")]
    names = [reranker.scale(options=options).name for options in (False, True)]
    assert (names[0] != names[1]) == (query == "joined")


def test_a_model_that_tells_nothing_apart_is_refused():
    for factor in (0.0, -1.0):
        with pytest.raises(EngineError, match=r"'words' can't be used: of 12 .* only.*maxsim"):
            PairReranker(Words(factor))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_a_score_that_is_no_number_is_an_error(hashing_encoder, wrong: float):
    scorer = Words()
    reranker = PairReranker(scorer)
    scorer.score = lambda query, passage: wrong
    question = asked(hashing_encoder, "Which planet?")
    with pytest.raises(EngineError, match="instead of a score"):
        reranker.score(question, candidates(hashing_encoder, question, ["Jupiter"]))


# ---- in ONNX form ----


@pytest.fixture
def folder(tiny, tmp_path: Path, words) -> Path:
    return tiny.write_bert(tmp_path / "own", seed=33, words=words, outputs=1, forms=("onnx",))


@pytest.fixture(scope="module")
def pairs(tiny, tmp_path_factory, words) -> OnnxPairs:
    folder = tmp_path_factory.mktemp("pairs")
    return OnnxPairs(
        tiny.write_bert(folder, seed=33, words=words, outputs=1, forms=("onnx",)), name="tiny"
    )


def test_only_the_passage_is_cut(pairs: OnnxPairs):
    question = "which planet is it"  # four words and three special tokens: 57 places are left
    long = "river " * 57
    assert pairs.score(question, long) == pairs.score(question, long + "jupiter")
    assert pairs.score(question, long[:-6] + "jupiter") != pairs.score(question, long)
    assert pairs.score(question + " jupiter", long) != pairs.score(question, long)


def test_a_question_gets_half_of_the_window(pairs: OnnxPairs):
    question = "river " * 32
    assert pairs.score(question, "jupiter") == pairs.score(question + "planet planet", "jupiter")
    assert pairs.score(question, "jupiter") != pairs.score(question, "planet")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400), st.text(max_size=400))
def test_any_texts_get_a_finite_score_and_always_the_same(pairs: OnnxPairs, query, passage):
    score = pairs.score(query, passage)
    assert np.isfinite(score)
    assert score == pairs.score(query, passage)


def test_question_and_passage_are_not_interchangeable(pairs: OnnxPairs):
    pair = PAIRS[0]
    assert pairs.score(pair.question, pair.passage) != pairs.score(pair.passage, pair.question)


def refused(folder: Path, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match) as info:
        load_reranker(str(folder))
    assert info.value.remedy
    assert "\n" not in str(info.value)


def test_without_a_tokenizer(folder: Path):
    (folder / "tokenizer.json").unlink()
    refused(folder, ModelMissingError, r"reranker 'own' lacks .*tokenizer\.json")


def test_with_a_broken_model(folder: Path):
    (folder / "model.onnx").write_bytes(b"no model")
    refused(folder, EngineError, "not a model")


def test_with_a_tokenizer_of_another_model(folder: Path, tiny, words):
    tiny.write_tokenizer(folder / "tokenizer.json", [*words, "zzz", "zzzz"])
    refused(folder, EngineError, "don't belong together")


def test_a_bi_encoder_is_no_reranker(folder: Path, tiny):
    tiny.write_bert(folder, seed=3, forms=("onnx",))
    refused(folder, EngineError, "reranker 'own' is an encoder")
    (folder / "config.json").unlink()
    refused(folder, EngineError, "reranker 'own' is an encoder")
    (folder / "1_Pooling" / "config.json").unlink()
    (folder / "1_Pooling").rmdir()
    refused(folder, EngineError, "is an encoder.*no output 'logits'")


def test_a_classifier_of_several_classes_is_no_reranker(folder: Path, tiny, words):
    tiny.write_bert(folder, seed=3, words=words, outputs=3, forms=("onnx",))
    refused(folder, EngineError, "has 3 outputs; a reranker has one")


def test_a_model_of_random_weights_is_no_reranker(folder: Path, tiny, words):
    tiny.write_bert(folder, seed=0, words=words, outputs=1, forms=("onnx",))
    refused(folder, EngineError, "built-in questions")


def test_pickled_weights_only(folder: Path):
    (folder / "model.onnx").rename(folder / "pytorch_model.bin")
    refused(folder, EngineError, "pickled weights only")
