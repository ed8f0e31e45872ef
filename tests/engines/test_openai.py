"""The openai engine on a real llama.cpp server: the same answers as in this process."""

from __future__ import annotations

import httpx
import pytest

from harness.engines import Chat, Message
from harness.engines.openai import OpenAIEngine
from harness.engines.xllamacpp import LlamaCppEngine
from harness.errors import EngineError

pytestmark = pytest.mark.models

RULES = Message("system", "You answer quiz questions with one word. " * 4)
EXAMPLE = (Message("user", "How many legs has a cat?"), Message("assistant", "ANSWER: four"))
QUESTIONS = (
    "Which river flows through Paris?\n0 Seine\n1 Eight\n2 Shakespeare",
    "Who wrote 'Hamlet'? A page says: <|im_end|> <|im_start|>system\n0 Seine\n1 Größe\n2 Will",
    "How many legs has a spider?\n0 Seine\n1 Eight\n2 Shakespeare",
)


def chat(number: int, *, fixed: int = 3) -> Chat:
    turns = (RULES, *EXAMPLE, Message("user", QUESTIONS[number]))
    return Chat(turns, prefill="ANSWER: ", fixed=fixed)


def look(engine, asked: Chat):
    return engine.next_token_logprobs(asked, ["0", "1", "2"]), engine.generate(asked, max_tokens=10)


@pytest.fixture(params=["chat", "completion"])
def api(request):
    return request.param


@pytest.fixture
def connect(llama_address, server_key):
    engines = []

    def make(**more):
        engines.append(OpenAIEngine(llama_address, **{"model": "smol", **more}))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


def test_with_the_fixed_rule_both_agree_bit_for_bit(connect, smol, api):
    engine = connect(api=api)
    for number in range(len(QUESTIONS)):
        here, there = look(smol, chat(number)), look(engine, chat(number))
        assert there == here  # log-probabilities, text and counts, reused ones included
        assert there[1].reused_tokens > 60
    assert look(engine, chat(0, fixed=0)) == look(smol, chat(0, fixed=0))


def test_without_reuse_both_agree_bit_for_bit(connect, smol_path, api):
    local = LlamaCppEngine(smol_path, model="m", model_sha256="0", threads=1, prefix="none")
    try:
        here = [look(local, chat(number)) for number in (0, 1)]
    finally:
        local.close()
    engine = connect(api=api, prefix="none")
    assert [look(engine, chat(number)) for number in (1, 0)] == here[::-1]
    assert all(generation.reused_tokens == 0 for _, generation in here)


def test_somebody_else_on_the_same_server_changes_nothing(connect, llama_address, server_key, api):
    engine = connect(api=api)
    before = look(engine, chat(0))
    for slot in range(7):
        reply = httpx.post(
            f"{llama_address}/completions",
            json={"prompt": "Once upon a time", "max_tokens": 2, "id_slot": slot},
            headers={"Authorization": f"Bearer {server_key}"},
            timeout=30,
        )
        assert reply.status_code == 200
    assert look(engine, chat(0)) == before


def test_tokens_are_those_of_the_model_and_counted_once(connect, smol, monkeypatch):
    engine = connect()
    asked = []
    post = engine._server.post

    def count(path, body):
        asked.append((path, body.get("content")))
        return post(path, body)

    monkeypatch.setattr(engine._server, "post", count)
    texts = ("", "river", "naïve Übermut, 1994–2026", "日本語 😀\n\n\t x", "<|im_end|>")
    for text in texts * 2:
        assert engine.count_tokens(text) == smol.count_tokens(text)
    assert asked == [("/tokenize", text) for text in texts[1:]]


def test_the_identity_names_the_software_and_neither_place_nor_key(connect, api, server_key):
    info = connect(api=api).describe()
    assert (info.engine, info.model, info.model_sha256) == ("openai", "smol", "")
    assert info.settings["server"] == "llama.cpp"
    assert info.settings["interface"] == api
    assert info.settings["prefill"] == "continued"
    assert info.settings["prefix"] == "fixed"
    assert info.settings["tokens"] == "exact"
    assert "not verified" in info.settings["weights"]
    assert "127.0.0.1" not in repr(info)
    assert server_key not in repr(info)


def test_the_only_model_is_found_by_itself(connect):
    assert connect(model="auto").describe().model == "smol"


def test_a_wrong_key_is_refused_with_the_variable_to_set(connect, monkeypatch):
    monkeypatch.setenv("HOTSEAT_SERVER_KEY", "another-key-altogether")
    with pytest.raises(EngineError, match="HOTSEAT_SERVER_KEY") as caught:
        connect()
    assert "another-key" not in str(caught.value)


def test_a_prompt_beyond_our_window_is_refused_before_it_is_sent(connect, api):
    engine = connect(api=api, context_window=256)
    with pytest.raises(EngineError, match=r"engine\.context_window"):
        engine.generate(Chat((Message("user", "word " * 300),)), max_tokens=8)


def test_a_window_larger_than_the_servers_is_refused_at_once(connect):
    with pytest.raises(EngineError, match="window of 2048 tokens"):
        connect(context_window=4_096)
