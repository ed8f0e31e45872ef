import hashlib
from pathlib import Path

import numpy as np
import pytest

from harness.errors import EngineError, ModelMissingError
from harness.evidence import Document
from harness.retrieval import load_encoder, select_passages
from harness.retrieval.onnx_encoder import OnnxEncoder
from harness.retrieval.rerank import MaxSimReranker
from harness.settings import RetrievalSettings
from harness.trace import Code, Trace

NAME = "minilm-l6-v2-int8"
TEXTS = [
    "The lighthouse of Anvera was lit by Ruth Calder in 1821.",
    "x",
    "",
    "A ferry crosses the strait twice a day. " * 40,
    "日本語の文です。 مرحبا 😀",
    "The baker of the harbour sells rye bread on Mondays.",
]


@pytest.mark.parametrize("present", [(), ("model.onnx",), ("tokenizer.json",)])
def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path, present: tuple[str, ...]):
    for name in present:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ModelMissingError, match=r"hotseat models pull minilm-l6-v2-int8"):
        load_encoder(NAME, folder=tmp_path)


def test_a_broken_tokenizer_is_an_engine_error(tmp_path: Path):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EngineError, match="not a tokenizer"):
        load_encoder(NAME, folder=tmp_path)


@pytest.mark.models
def test_a_broken_model_is_an_engine_error(tmp_path: Path, encoder_folder: Path):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_bytes((encoder_folder / "tokenizer.json").read_bytes())
    with pytest.raises(EngineError, match="not a model"):
        load_encoder(NAME, folder=tmp_path)


@pytest.mark.models
class TestRealEncoder:
    def test_it_says_what_it_is(self, encoder_folder: Path, real_encoder: OnnxEncoder):
        import onnxruntime

        model = (encoder_folder / "model.onnx").read_bytes()
        tokenizer = (encoder_folder / "tokenizer.json").read_bytes()
        assert real_encoder.describe() == {
            "name": NAME,
            "model_sha256": hashlib.sha256(model).hexdigest(),
            "tokenizer_sha256": hashlib.sha256(tokenizer).hexdigest(),
            "threads": 1,
            "max_tokens": 256,
            "pooling": "mean",
            "onnxruntime": onnxruntime.__version__,
        }

    def test_vectors_are_what_the_model_gives_pooled_by_hand(
        self, encoder_folder: Path, real_encoder: OnnxEncoder
    ):
        import onnxruntime
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(encoder_folder / "tokenizer.json"))
        tokenizer.no_padding()
        session = onnxruntime.InferenceSession(
            str(encoder_folder / "model.onnx"), providers=["CPUExecutionProvider"]
        )
        ids = tokenizer.encode(TEXTS[0]).ids
        feed = {
            "input_ids": np.array([ids], np.int64),
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "token_type_ids": np.zeros((1, len(ids)), np.int64),
        }
        hidden = session.run(["last_hidden_state"], feed)[0][0].astype(np.float64)
        pooled = sum(hidden) / len(ids)  # special tokens take part in the mean
        tokens = hidden[1:-1]  # and are no tokens of the text

        (encoded,) = real_encoder.encode([TEXTS[0]])
        np.testing.assert_allclose(encoded.pooled, pooled / np.linalg.norm(pooled), atol=1e-5)
        np.testing.assert_allclose(
            encoded.tokens, tokens / np.linalg.norm(tokens, axis=1, keepdims=True), atol=1e-5
        )

    def test_shapes_lengths_and_types(self, real_encoder: OnnxEncoder):
        for text, encoded in zip(TEXTS, real_encoder.encode(TEXTS), strict=True):
            assert encoded.pooled.shape == (384,)
            assert encoded.tokens.shape[1] == 384
            assert encoded.pooled.dtype == encoded.tokens.dtype == np.float32
            assert len(encoded.tokens) == 0 if not text else 0 < len(encoded.tokens) <= 254
            lengths = np.linalg.norm(np.vstack([encoded.tokens, encoded.pooled]), axis=1)
            np.testing.assert_allclose(lengths, 1, atol=1e-5)

    def test_only_the_opening_of_a_long_text_is_read(self, real_encoder: OnnxEncoder):
        opening = "word " * 254
        one, other = real_encoder.encode([opening, opening + "and quite another ending"])
        assert len(one.tokens) == 254
        assert same(one, other)

    def test_vectors_do_not_depend_on_neighbours_order_or_cache(
        self, encoder_folder: Path, real_encoder: OnnxEncoder
    ):
        alone = [real_encoder.encode([text])[0] for text in TEXTS]
        together = real_encoder.encode(TEXTS)
        backwards = real_encoder.encode(TEXTS[::-1])[::-1]
        doubled = real_encoder.encode(TEXTS + TEXTS)[len(TEXTS) :]
        caching = OnnxEncoder(encoder_folder, name=NAME)
        fresh, kept = caching.encode(TEXTS), caching.encode(TEXTS)
        assert all(a is b for a, b in zip(fresh, kept, strict=True))
        for others in (together, backwards, doubled, fresh):
            assert all(same(a, b) for a, b in zip(alone, others, strict=True))

    def test_a_tiny_cache_changes_nothing(self, encoder_folder: Path, real_encoder: OnnxEncoder):
        small = OnnxEncoder(encoder_folder, name=NAME, cache_bytes=40_000)
        for _ in range(2):
            pairs = zip(small.encode(TEXTS), real_encoder.encode(TEXTS), strict=True)
            assert all(same(a, b) for a, b in pairs)

    def test_shared_vectors_can_not_be_changed(self, real_encoder: OnnxEncoder):
        (encoded,) = real_encoder.encode(["text"])
        with pytest.raises(ValueError, match="read-only"):
            encoded.pooled[0] = 0
        with pytest.raises(ValueError, match="read-only"):
            encoded.tokens[0, 0] = 0

    @pytest.mark.parametrize(
        "text", ["\ud800", "a\x00b", "\u202e", "🧑\u200d🚀" * 500, "字" * 9_000]
    )
    def test_odd_texts_are_encoded(self, real_encoder: OnnxEncoder, text: str):
        (encoded,) = real_encoder.encode([text])
        assert np.isfinite(encoded.pooled).all()
        assert len(encoded.tokens) <= 254

    def test_meaning_is_nearer_than_words(self, real_encoder: OnnxEncoder):
        asked, near, far = real_encoder.encode(
            ["When do vessels cross the strait?", TEXTS[3][:40], TEXTS[5]]
        )
        assert asked.pooled @ near.pooled > asked.pooled @ far.pooled + 0.2


@pytest.mark.models
class TestRealSelection:
    def choose(self, encoder: OnnxEncoder, documents: list[Document], trace: Trace):
        return select_passages(
            "Who lit the lighthouse of Anvera?",
            documents,
            settings=RetrievalSettings(),
            encoder=encoder,
            reranker=MaxSimReranker(),
            count_tokens=lambda text: len(text) // 4 + 1,
            trace=trace,
            options=["Ruth Calder", "Tom Brown", "Ida Voss", "Nobody"],
        )

    def test_the_evidence_is_found_and_the_rest_left_out(self, real_encoder: OnnxEncoder):
        pages = [TEXTS[3], TEXTS[0], TEXTS[5]]
        documents = [Document(f"https://{n}.example", "", t, "page") for n, t in enumerate(pages)]
        trace = Trace()
        found = self.choose(real_encoder, documents, trace)
        assert [p.text for p in found.passages] == [TEXTS[0]]
        assert trace.degradations == []

    def test_pages_without_any_bearing_are_refused(self, real_encoder: OnnxEncoder):
        documents = [Document("https://a.example", "", TEXTS[5], "page")]
        trace = Trace()
        assert self.choose(real_encoder, documents, trace).passages == ()
        assert trace.codes() == [Code.NOTHING_OVER_THRESHOLD.value]

    def test_scores_do_not_depend_on_the_other_documents(self, real_encoder: OnnxEncoder):
        alone = self.choose(
            real_encoder, [Document("https://a.example", "", TEXTS[0], "page")], Trace()
        )
        crowd = [
            Document(f"https://{n}.example", "", TEXTS[0 if n == 7 else 3] + str(n or ""), "page")
            for n in range(7)
        ]
        crowd.append(Document("https://a.example", "", TEXTS[0], "page"))
        among = self.choose(real_encoder, crowd, Trace())
        assert among.passages[0].text == TEXTS[0]
        assert among.passages[0].score == pytest.approx(alone.passages[0].score, abs=2e-6)


def same(one, other) -> bool:
    return (
        one.pooled.tobytes() == other.pooled.tobytes()
        and one.tokens.tobytes() == other.tokens.tobytes()
    )
