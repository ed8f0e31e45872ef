"""The default engine, on a small real model: determinism before all."""

from __future__ import annotations

import math
import random

import pytest

from harness.engines import Chat, Message, _gguf_check, _memory, check_model, xllamacpp
from harness.engines._gguf_check import is_known
from harness.engines.xllamacpp import FIXED_SLOTS, LlamaCppEngine
from harness.errors import EngineError, NoLogprobsError
from harness.setting_groups import EngineSettings

pytestmark = pytest.mark.models

RULES = Message("system", "You answer quiz questions with one word. " * 4)
OTHER_RULES = Message("system", "You are a pirate and speak like one. " * 4)
QUESTIONS = [
    "Which river flows through Paris?",
    "Which river flows through Rome, and which through London? " * 3,
    "How many legs has a spider?",
    "Who wrote 'Hamlet'?",
]


def chat(number: int, rules: Message = RULES, *, fixed: int = 1) -> Chat:
    turn = Message("user", QUESTIONS[number] + "\n0 Seine\n1 Eight\n2 Shakespeare")
    return Chat((rules, turn), prefill="ANSWER: ", fixed=fixed)


def look(engine: LlamaCppEngine, conversation: Chat):
    probabilities = engine.next_token_logprobs(conversation, ["0", "1", "2"])
    generation = engine.generate(conversation, max_tokens=12)
    return probabilities, generation


def test_results_do_not_depend_on_the_order_of_questions(smol):
    asked = [(n, rules) for n in range(len(QUESTIONS)) for rules in (RULES, OTHER_RULES)]
    first = {(n, r.content): look(smol, chat(n, r)) for n, r in asked}
    for seed in (1, 2):
        random.Random(seed).shuffle(asked)
        again = {(n, r.content): look(smol, chat(n, r)) for n, r in asked}
        assert again == first


def test_the_fixed_part_is_computed_once_and_reused_exactly(smol):
    look(smol, chat(0))
    reused = {look(smol, chat(n))[1].reused_tokens for n in range(len(QUESTIONS))}
    fixed_text = smol._template.render([RULES], open_turn=False)
    assert reused == {smol.count_tokens(fixed_text)}


def test_more_fixed_parts_than_slots_stay_reproducible(smol):
    rules = [Message("system", f"Rule number {n}. " * 5) for n in range(FIXED_SLOTS + 2)]
    first = [look(smol, chat(0, r)) for r in rules]
    assert [look(smol, chat(0, r)) for r in reversed(rules)] == first[::-1]


def test_without_reuse_nothing_is_reused_and_order_is_irrelevant(smol_path):
    engine = LlamaCppEngine(smol_path, model="m", model_sha256="0", threads=1, prefix="none")
    try:
        first = [look(engine, chat(n)) for n in (0, 1, 2)]
        assert [look(engine, chat(n)) for n in (2, 1, 0)] == first[::-1]
        assert all(generation.reused_tokens == 0 for _, generation in first)
        assert engine.describe().settings["prefix"] == "none"
    finally:
        engine.close()


def test_a_chat_without_fixed_part_works_under_the_fixed_rule(smol):
    one = look(smol, chat(0, fixed=0))
    look(smol, chat(1))
    assert look(smol, chat(0, fixed=0)) == one
    assert one[1].reused_tokens == 0


def test_a_slot_that_something_else_went_through_is_made_anew(smol):
    before = look(smol, chat(0))
    for slot in range(FIXED_SLOTS):
        smol._call({"prompt": "Once upon", "n_predict": 2, "id_slot": slot, "cache_prompt": False})
    assert look(smol, chat(0)) == before


def test_tokens_are_counted_as_the_model_counts_them(smol):
    for number in range(len(QUESTIONS)):
        conversation = chat(number)
        prompt = smol._template.render(conversation.messages, open_turn=True) + "ANSWER: "
        assert smol.generate(conversation, max_tokens=1).prompt_tokens == smol.count_tokens(prompt)


@pytest.mark.parametrize(
    "text", ["", " ", "1994–2026, 3.14 €", "naïve Übermut", "日本語 русский العربية", "😀\n\n\t x"]
)
def test_odd_text_is_counted_as_the_model_counts_it(smol, text):
    conversation = Chat((Message("user", f"a{text}b"),))
    prompt = smol._template.render(conversation.messages, open_turn=True)
    assert smol.generate(conversation, max_tokens=1).prompt_tokens == smol.count_tokens(prompt)


def test_log_probabilities_are_those_of_one_distribution(smol):
    found = smol.next_token_logprobs(chat(0), ["0", "1", "2"])
    assert list(found) == ["0", "1", "2"]
    assert all(value <= 0 for value in found.values())
    assert sum(math.exp(value) for value in found.values()) <= 1 + 1e-6


@pytest.mark.parametrize("left_out", ["logprobs", "content"])
def test_a_reply_without_log_probabilities_is_told_apart_from_a_failure(
    smol, monkeypatch, left_out
):
    real = smol._call

    def call(request):
        reply = real(request)
        choice = reply["choices"][0]
        del (choice if left_out == "logprobs" else choice["logprobs"])[left_out]
        return reply

    smol.next_token_logprobs(chat(0), [])  # the fixed part is there
    monkeypatch.setattr(smol._prefix, "send", lambda fixed, request: call(request))
    with pytest.raises(NoLogprobsError, match="no log-probabilities"):
        smol.next_token_logprobs(chat(0), ["0"])


def test_the_most_probable_token_is_the_one_generated(smol):
    best = smol.generate(chat(0), max_tokens=1).text
    found = smol.next_token_logprobs(chat(0), [best, "0", "1", "2"])
    assert found[best] == max(found.values())


def test_generation_stops_at_the_limit_and_says_so(smol):
    generation = smol.generate(chat(0), max_tokens=3)
    assert generation.output_tokens == 3
    assert generation.stopped == "limit"


def test_a_stop_string_ends_the_text(smol):
    long = smol.generate(Chat((Message("user", "Count from 1 to 9."),)), max_tokens=40)
    assert len(long.text) > 4
    stop = long.text[3]
    cut = smol.generate(Chat((Message("user", "Count from 1 to 9."),)), max_tokens=40, stop=[stop])
    assert cut.text == long.text[: long.text.index(stop)]
    assert cut.stopped == "stop"


def test_a_prompt_beyond_the_window_is_refused_before_it_is_computed(smol):
    with pytest.raises(EngineError, match=r"engine\.context_window"):
        smol.generate(Chat((Message("user", "word " * 5_000),)), max_tokens=8)


def test_a_closed_engine_says_so(smol_path):
    engine = LlamaCppEngine(smol_path, model="m", model_sha256="0", threads=1, prefix="none")
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.generate(chat(0), max_tokens=1)


def edited(smol_path, tmp_path, old: bytes, new: bytes):
    """A copy of the small model with one change in its header."""
    data = smol_path.read_bytes()
    assert len(old) == len(new)
    assert data.count(old, 0, 100_000) == 1
    path = tmp_path / "edited.gguf"
    path.write_bytes(data.replace(old, new, 1))
    return path


def refuse(path, monkeypatch, **more):
    """Return what is said of a model that is refused before llama.cpp sees it."""
    monkeypatch.setattr(LlamaCppEngine, "_load", lambda *_: pytest.fail("it was loaded"))
    with pytest.raises(EngineError) as caught:
        LlamaCppEngine(path, model="m", model_sha256="0", threads=1, **more)
    return str(caught.value)


def test_a_truncated_model_is_refused_before_it_is_loaded(smol_path, tmp_path, monkeypatch):
    cut = tmp_path / "cut.gguf"
    size = smol_path.stat().st_size
    with smol_path.open("rb") as source:
        cut.write_bytes(source.read(size - 1))
    said = refuse(cut, monkeypatch)
    assert f"cut.gguf is cut short: it has {size - 1:,} bytes of at least {size:,}" in said


def test_an_unknown_architecture_is_named_in_a_sentence(smol_path, tmp_path):
    field = b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0"
    path = edited(smol_path, tmp_path, field + b"llama", field + b"zebra")
    with pytest.raises(EngineError, match=r"architecture 'zebra'.*does not know.*pip install -U"):
        LlamaCppEngine(path, model="m", model_sha256="0", threads=1)


def test_a_known_architecture_is_not_called_unknown():
    assert all(is_known(name) for name in ("llama", "qwen2", "qwen3", "gemma3", "bert", "mpt"))
    assert is_known("zebra") is False


def test_a_model_that_only_makes_vectors_is_refused(tmp_path, gguf_bytes, monkeypatch):
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes({"general.architecture": "nomic-bert"}))
    assert "makes vectors (nomic-bert); it can't write" in refuse(path, monkeypatch)


def test_a_tokenizer_that_can_not_be_counted_with_is_refused_before_loading(
    tmp_path, gguf_bytes, monkeypatch
):
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes({"general.architecture": "llama", "tokenizer.ggml.model": "llama"}))
    said = refuse(path, monkeypatch)
    assert "not a byte-level BPE" in said
    assert "llama-server" in said
    assert "engine.name=openai" in said
    with pytest.raises(EngineError, match="byte-level BPE"):
        check_model(EngineSettings(), path)


def test_a_header_is_read_once(smol_path, monkeypatch):
    read = []
    real = xllamacpp.read_header
    monkeypatch.setattr(xllamacpp, "read_header", lambda path: read.append(path) or real(path))
    monkeypatch.setattr(_gguf_check, "read_header", lambda path: read.append(path) or real(path))
    check_model(EngineSettings(check_memory=False), smol_path)
    assert read == [smol_path]


def test_a_file_without_architecture_and_a_folder_are_refused(tmp_path, gguf_bytes, monkeypatch):
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes({"n": 1}))
    assert "which architecture" in refuse(path, monkeypatch)
    assert "engine.name=exllamav2" in refuse(tmp_path, monkeypatch)


def test_a_model_too_large_for_memory_is_refused_with_need_and_room(smol_path, monkeypatch):
    monkeypatch.setattr(_memory, "free_bytes", lambda: 400 * 2**20)
    said = refuse(smol_path, monkeypatch)
    assert "needs about 0.5 GiB of memory" in said
    assert "14,336 tokens of context" in said
    assert "0.4 GiB are free" in said
    assert "engine.check_memory=false" in said


def test_without_slots_for_fixed_parts_the_same_memory_suffices(smol_path, monkeypatch):
    monkeypatch.setattr(_memory, "free_bytes", lambda: 400 * 2**20)
    monkeypatch.setattr(LlamaCppEngine, "_load", lambda *_: None)
    LlamaCppEngine(smol_path, model="m", model_sha256="0", threads=1, prefix="none")
    LlamaCppEngine(smol_path, model="m", model_sha256="0", threads=1, check_memory=False)


def test_a_window_that_the_model_was_not_trained_for_is_refused(smol_path):
    with pytest.raises(EngineError, match=r"trained for \d+ tokens.*is 131072"):
        LlamaCppEngine(smol_path, model="m", model_sha256="0", context_window=131_072)


def test_a_bad_file_is_refused_without_reading_the_whole_of_it(tmp_path):
    path = tmp_path / "sparse.gguf"
    with path.open("wb") as file:
        file.truncate(3 * 2**40)
    with pytest.raises(EngineError):
        check_model(EngineSettings(), path)
