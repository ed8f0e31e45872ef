"""The forms of one model agree, within the tolerances that ``docs/rerankers.md`` states.

``pytest tests/retrieval/test_agreement.py -rP`` prints the figures.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.contestant.research import search_documents
from harness.corpus import Corpus
from harness.question_file import load_questions
from harness.quiz import Category
from harness.replay import sample_path
from harness.retrieval import Encoder, Encoding, load_encoder
from harness.retrieval.calibration import PAIRS
from harness.retrieval.chunking import chunk_text
from harness.retrieval.onnx_cross_encoder import OnnxPairs
from harness.settings import resolve
from harness.trace import Trace

# Smallest cosine of the two forms' vectors of a text: pooled, and of each token.
SAME_PRECISION = 0.99999
INT8_POOLED, INT8_TOKENS = 0.995, 0.99
# Largest difference of a cross-encoder's raw numbers.
LOGITS = 1e-4

SMALL_FILES = ("tokenizer.json", "config.json", "sentence_bert_config.json")
TOP = 10
PASSAGES = 250


def sample_texts() -> tuple[list[str], list[str]]:
    """Return questions of the shipped recording, and the passages of the pages found for them."""
    corpus = Corpus.open(sample_path())
    settings = resolve(corpus=corpus.manifest.settings, env={}).settings
    asked = load_questions(corpus.questions_path).questions
    asked = [question for question in asked if question.category is not Category.MATHS][::3]
    passages: dict[str, None] = {}
    for question in asked:
        found = search_documents(
            question.text,
            question.category,
            settings=settings,
            transport=corpus.tape("replay"),
            trace=Trace(),
        )
        for document in found.documents:
            for chunk in chunk_text(document.text, chunker="sentences", size=350, overlap=100):
                passages[chunk.text] = None
    corpus.close()
    return [question.text for question in asked], list(passages)[:PASSAGES]


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str]]:
    return sample_texts()


class Forms:
    """Each form's encodings of the same texts, made once."""

    def __init__(self, load, texts) -> None:
        self._load, self._texts = load, [*texts[0], *texts[1]]
        self._asked = len(texts[0])
        self.counts = len(texts[0]), len(texts[1])
        self._made: dict[str, list[Encoding]] = {}

    def __getitem__(self, form: str) -> list[Encoding]:
        if form not in self._made:
            self._made[form] = self._load(form).encode(self._texts)
        return self._made[form]

    def cosines(self, one: str, other: str) -> tuple[float, float]:
        """Return the smallest cosine over all texts, pooled and of tokens."""
        pairs = list(zip(self[one], self[other], strict=True))
        pooled = min(float(a.pooled @ b.pooled) for a, b in pairs)
        tokens = min(float((a.tokens * b.tokens).sum(axis=1).min()) for a, b in pairs)
        return pooled, tokens

    def ranking(self, one: str, other: str) -> tuple[float, float]:
        """Return the mean share of the best ten in common, and the mean Kendall tau."""
        scores = []
        for form in (one, other):
            rows = np.stack([encoding.pooled for encoding in self[form]])
            scores.append(rows[: self._asked] @ rows[self._asked :].T)
        shares, taus = [], []
        for a, b in zip(*scores, strict=True):
            best = [set(np.argsort(-row, kind="stable")[:TOP].tolist()) for row in (a, b)]
            shares.append(len(best[0] & best[1]) / TOP)
            taus.append(kendall(a, b))
        return float(np.mean(shares)), float(np.mean(taus))


def kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the share of pairs in the same order less the share in the opposite one."""
    signs = [np.sign(np.subtract.outer(row, row)) for row in (np.asarray(one), np.asarray(other))]
    upper = np.triu_indices(len(signs[0]), 1)
    return float(np.mean(signs[0][upper] * signs[1][upper]))


@pytest.fixture(scope="module")
def forms(tiny, model_folder, tmp_path_factory, texts) -> Forms:
    def load(form: str) -> Encoder:
        if form == "int8":
            return load_encoder("minilm-l6-v2-int8", folder=model_folder("minilm-l6-v2-int8"))
        full = model_folder("minilm-l6-v2")
        if form == "sentence-transformers":
            return load_encoder("minilm-l6-v2", folder=full)
        folder = tmp_path_factory.mktemp("fp32")
        for name in SMALL_FILES:
            (folder / name).write_bytes((full / name).read_bytes())
        weights = tiny.read_safetensors(full / "model.safetensors")
        tiny.write_bert_onnx(folder / "model.onnx", weights, heads=12)
        return load_encoder("minilm-fp32", folder=folder)

    return Forms(load, texts)


def report(one: str, other: str, forms: Forms) -> tuple[float, float, float, float]:
    found = (*forms.cosines(one, other), *forms.ranking(one, other))
    print(
        f"{one} and {other}: cosine of pooled >= {found[0]:.6f}, of tokens >= {found[1]:.6f}, "
        f"best {TOP} in common {found[2]:.3f}, Kendall tau {found[3]:.4f} "
        f"({forms.counts[0]} questions, {forms.counts[1]} passages)"
    )
    return found


@pytest.mark.models
def test_int8_and_full_precision_agree(forms: Forms):
    pooled, tokens, common, tau = report("int8", "ONNX fp32", forms)
    assert pooled >= INT8_POOLED
    assert tokens >= INT8_TOKENS
    assert common >= 0.95
    assert tau >= 0.97


@pytest.mark.models
@pytest.mark.torch
def test_onnx_and_sentence_transformers_agree(forms: Forms):
    pooled, tokens, common, tau = report("ONNX fp32", "sentence-transformers", forms)
    assert min(pooled, tokens) >= SAME_PRECISION
    assert common >= 0.99
    assert tau >= 0.999


@pytest.mark.models
@pytest.mark.torch
def test_int8_and_sentence_transformers_agree(forms: Forms):
    pooled, tokens, common, tau = report("int8", "sentence-transformers", forms)
    assert pooled >= INT8_POOLED
    assert tokens >= INT8_TOKENS
    assert common >= 0.95
    assert tau >= 0.97


@pytest.mark.torch
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_tiny_encoder_gives_the_same_vectors_in_both_forms(tiny, tmp_path: Path, words, pooling):
    made = []
    for form in ("onnx", "safetensors"):
        folder = tiny.write_bert(
            tmp_path / form, seed=3, words=words, forms=(form,), pooling=pooling
        )
        made.append(load_encoder(str(folder)).encode([pair.passage for pair in PAIRS]))
    for one, other in zip(*made, strict=True):
        np.testing.assert_allclose(one.pooled, other.pooled, atol=1e-5)
        np.testing.assert_allclose(one.tokens, other.tokens, atol=1e-5)


@pytest.mark.torch
def test_a_cross_encoder_gives_the_same_numbers_in_both_forms(tiny, tmp_path: Path, words):
    from harness.retrieval.st_cross_encoder import SentenceTransformerPairs

    folder = tiny.write_bert(tmp_path / "own", seed=33, words=words, outputs=1)
    by_onnx, by_torch = OnnxPairs(folder, name="a"), SentenceTransformerPairs(folder, name="b")
    pairs = [(asked.question, told.passage) for asked in PAIRS for told in PAIRS]
    differences = [abs(by_onnx.score(*pair) - by_torch.score(*pair)) for pair in pairs]
    print(f"cross-encoder, ONNX and sentence-transformers: at most {max(differences):.1e} apart")
    assert max(differences) <= LOGITS
