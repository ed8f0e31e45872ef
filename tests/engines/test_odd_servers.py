"""Servers that fail, lie, stall or differ: one sentence each, no waiting, no leak."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict

import pytest

from harness.engines import Chat, Message, _http
from harness.engines._http import server_address
from harness.engines.openai import OpenAIEngine
from harness.errors import EngineError, NoLogprobsError, SettingError

ASK = Chat((Message("system", "Be brief."), Message("user", "Which river?")), prefill="ANSWER:")
CHAT = "/v1/chat/completions"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def start(odd):
    """Start a server; all are closed after the test."""
    servers = []

    def run(*args, **more):
        servers.append(odd.serve(*args, **more))
        return servers[-1]

    yield run
    for server in servers:
        server.close()


@pytest.fixture
def connect(start):
    """Return an engine on a server, and the pauses it made instead of waiting."""
    engines = []

    def make(server, **more):
        pauses = []
        more = {"model": "m", "timeout_s": 5.0, "sleep": pauses.append, **more}
        engines.append(OpenAIEngine(server.address, **more))
        return engines[-1], pauses

    yield make
    for engine in engines:
        engine.close()


def test_a_plain_server_answers(start, connect):
    engine, pauses = connect(start())
    generation = engine.generate(ASK, max_tokens=5)
    assert (generation.text, generation.stopped, generation.prefilled) == (" Seine", "end", True)
    assert pauses == []


def test_decoding_is_greedy_and_seeded(start, connect):
    server = start()
    engine, _ = connect(server)
    engine.generate(ASK, max_tokens=5, stop=["\n"])
    body = server.bodies(CHAT)[-1]
    assert (body["temperature"], body["seed"], body["top_p"]) == (0, 0, 1)
    assert (body["max_tokens"], body["stop"], body["model"]) == (5, ["\n"], "m")
    assert "samplers" not in body, "strict servers refuse fields they don't know"


def test_a_server_that_always_fails_is_asked_three_times(start, connect, odd):
    server = start()
    engine, pauses = connect(server)
    server.routes[CHAT] = odd.Raw(500, b'{"error": {"message": "out of memory"}}')
    before = len(server.asked)
    with pytest.raises(EngineError, match=r"500 \(out of memory\) 3 times\."):
        engine.generate(ASK, max_tokens=5)
    assert len(server.asked) - before == 3
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
def test_a_passing_failure_is_passed_over(start, connect, odd, status):
    server = start()
    engine, pauses = connect(server)
    server.routes[CHAT] = [odd.Raw(status, b"busy"), odd.ChatModel()]
    assert engine.generate(ASK, max_tokens=5).text == " Seine"
    assert pauses == [0.5]


@pytest.mark.parametrize(
    ("asks", "pause"),
    [
        ("7", 7.0),
        ("99999", 20.0),
        ("-3", 0.5),
        ("nan", 0.5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 0.5),
    ],
)
def test_a_server_that_asks_for_patience_gets_it_within_bounds(start, connect, odd, asks, pause):
    server = start()
    engine, pauses = connect(server)
    server.routes[CHAT] = [odd.Raw(429, b"", {"Retry-After": asks}), odd.ChatModel()]
    engine.generate(ASK, max_tokens=5)
    assert pauses == [pause]


def test_a_reply_that_breaks_off_is_asked_for_again(start, connect, odd):
    server = start()
    engine, pauses = connect(server)
    server.routes[CHAT] = [odd.Raw(body=b'{"choices": [', length=500), odd.ChatModel()]
    assert engine.generate(ASK, max_tokens=5).text == " Seine"
    server.routes[CHAT] = odd.Raw(body=b'{"choices": [', length=500)
    with pytest.raises(EngineError, match="broke off"):
        engine.generate(ASK, max_tokens=5)
    assert pauses == [0.5, 0.5, 1.0]


def test_an_endless_reply_is_cut(start, connect, odd, monkeypatch):
    server = start()
    engine, _ = connect(server)
    monkeypatch.setattr(_http, "_MAX_REPLY_BYTES", 1 << 20)
    server.routes[CHAT] = odd.Raw(endless=True)
    with pytest.raises(EngineError, match="more than 1 MiB"):
        engine.generate(ASK, max_tokens=5)


class LeapingClock:
    """Thirty seconds pass between any two looks at it."""

    def __init__(self):
        self.time = 0.0

    def monotonic(self):
        self.time += 30.0
        return self.time


def test_a_reply_that_trickles_is_cut_by_a_clock_of_our_own(start, connect, odd):
    server = start()
    engine, _ = connect(server, clock=LeapingClock(), timeout_s=100.0)
    server.routes[CHAT] = odd.Raw(endless=True)
    with pytest.raises(EngineError, match="had not finished after 100 s"):
        engine.generate(ASK, max_tokens=5)


def test_a_silent_server_is_left_after_the_time_out_and_not_asked_again(start, connect, odd):
    server = start()
    engine, pauses = connect(server, timeout_s=0.2)
    server.routes[CHAT] = odd.Raw(silent=True)
    with pytest.raises(EngineError, match=r"within 0\.2 s.*server_timeout_s"):
        engine.generate(ASK, max_tokens=5)
    assert pauses == []


@pytest.mark.parametrize(
    "body", [b"<html><body>Welcome</body></html>", b"", b"{", b"\xff\xfe", b"[" * 99_999]
)
def test_what_is_no_json_is_said_so(start, connect, odd, body):
    server = start()
    engine, _ = connect(server)
    server.routes[CHAT] = odd.Raw(body=body)
    with pytest.raises(EngineError, match="no JSON"):
        engine.generate(ASK, max_tokens=5)


@pytest.mark.parametrize(
    "reply", [[], {}, {"choices": []}, {"choices": [7]}, {"choices": [{"text": None}]}, "hello"]
)
def test_json_that_is_no_reply_is_said_so(start, connect, reply):
    server = start()
    engine, _ = connect(server)
    server.routes[CHAT] = reply
    with pytest.raises(EngineError, match="reply"):
        engine.generate(ASK, max_tokens=5)


def test_half_characters_become_question_marks_and_whole_ones_stay(start, connect, odd):
    server = start()
    engine, _ = connect(server)
    text = rb"a \ud800 b \ud83d\ude00 c"
    body = b'{"choices": [{"message": {"content": "' + text + b'"}, "finish_reason": "stop"}]}'
    server.routes[CHAT] = odd.Raw(body=body)
    assert engine.generate(ASK, max_tokens=5).text == "a ? b \U0001f600 c"


def test_a_coded_reply_is_refused_rather_than_unfolded(start, connect, odd):
    server = start()
    engine, _ = connect(server)
    server.routes[CHAT] = odd.Raw(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    with pytest.raises(EngineError, match="coded"):
        engine.generate(ASK, max_tokens=5)
    assert server.asked[-1].headers["accept-encoding"] == "identity"


def test_nobody_listening_is_said_so(start):
    server = start()
    server.close()
    server.close = lambda: None
    with pytest.raises(EngineError, match=r"can't be reached.*engine\.server"):
        OpenAIEngine(server.address, model="m", sleep=lambda _: None)


def test_a_wrong_model_name_lists_what_there_is(start):
    server = start()
    server.routes["/v1/models"] = {"data": [{"id": "qwen2.5:7b"}, {"id": "/models/smol.gguf"}]}
    with pytest.raises(EngineError, match=r"no model 'qwen'; it offers qwen2\.5:7b, smol\.gguf"):
        OpenAIEngine(server.address, model="qwen")


@pytest.mark.parametrize(
    ("listed", "wanted"),
    [
        ({"id": "/models/Smol.gguf"}, "smol"),
        ({"id": "/models/Smol.gguf"}, "/elsewhere/Smol.gguf"),
        ({"id": "C:\\m\\smol.gguf"}, "smol.gguf"),
        ({"id": "x", "aliases": ["smol"]}, "smol"),
        ({"id": "smol:latest"}, "smol"),
        ({"id": "org/Smol"}, "org/smol"),
        ({"id": "anything"}, "auto"),
    ],
)
def test_a_model_is_found_by_id_alias_or_file_name(start, connect, listed, wanted):
    server = start()
    server.routes["/v1/models"] = {"data": [listed]}
    engine, _ = connect(server, model=wanted)
    engine.generate(ASK, max_tokens=5)
    assert server.bodies(CHAT)[-1]["model"] == listed["id"], "it is asked for by its own id"
    assert not engine.describe().model.startswith(("/", "C:")), "but no path goes on record"


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(start, connect, odd, monkeypatch):
    monkeypatch.setenv("HOTSEAT_SERVER_KEY", "sk-secret-123")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    server = start()
    engine, _ = connect(server)
    assert server.asked[-1].headers["authorization"] == "Bearer sk-secret-123"
    text = json.dumps(asdict(engine.describe())) + repr(engine) + repr(vars(engine))
    assert "secret" not in text
    assert "127.0.0.1" not in json.dumps(asdict(engine.describe()))
    for status in (400, 401, 500):
        server.routes[CHAT] = odd.Raw(
            status, b'{"error": "sk-secret-123 ' + b"sk-secret-123" * 40 + b'"}'
        )
        with pytest.raises(EngineError) as caught:
            engine.generate(ASK, max_tokens=5)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "schlüssel", "sk one", "sk\x00"])
def test_a_key_that_can_be_none_is_refused_unseen(monkeypatch, key):
    monkeypatch.setattr(_http.os, "environ", {"HOTSEAT_SERVER_KEY": key})
    with pytest.raises(SettingError, match="HOTSEAT_SERVER_KEY") as caught:
        OpenAIEngine("http://127.0.0.1:1/v1", model="m")
    assert key not in str(caught.value)


def test_without_a_key_none_is_sent_and_a_refusal_names_the_variable(
    start, connect, odd, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    server = start()
    engine, pauses = connect(server)
    assert "authorization" not in server.asked[-1].headers
    server.routes[CHAT] = odd.Raw(401, b"{}")
    with pytest.raises(EngineError, match=r"wants a key \(401\).*HOTSEAT_SERVER_KEY"):
        engine.generate(ASK, max_tokens=5)
    assert pauses == []


def test_a_redirect_is_not_followed(start, connect, odd, monkeypatch):
    monkeypatch.setenv("HOTSEAT_SERVER_KEY", "sk-secret-123")
    server, other = start(), start()
    engine, _ = connect(server)
    target = other.address.replace("127.0.0.1", "localhost") + "/chat/completions"
    for status in (301, 302, 307, 308):
        server.routes[CHAT] = odd.Raw(status, headers={"Location": target})
        with pytest.raises(EngineError, match="redirects are not followed"):
            engine.generate(ASK, max_tokens=5)
    assert other.asked == []


@pytest.mark.parametrize(
    "address",
    ["", "nonsense", "ftp://host/v1", "http://", "http://h/v1?key=1", "http://h/#a", "http://[::1"],
)
def test_what_is_no_address_is_a_wrong_setting(address):
    with pytest.raises(SettingError, match=r"engine\.server"):
        OpenAIEngine(address, model="m")


@pytest.mark.parametrize(
    "address", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"]
)
def test_an_address_without_a_path_means_v1(address):
    assert str(server_address(address)) == "http://h:1/v1"


def test_a_password_in_the_address_is_refused_unseen():
    with pytest.raises(SettingError, match="HOTSEAT_SERVER_KEY") as caught:
        OpenAIEngine("http://user:hunter2@host/v1", model="m")
    assert "hunter2" not in str(caught.value)


def test_a_server_without_a_tokenizer_is_estimated_and_says_so(start, connect):
    engine, _ = connect(start())
    assert engine.describe().settings["tokens"].startswith("estimated")
    assert engine.count_tokens("") == 0
    assert engine.count_tokens("abcd") == 2
    assert engine.count_tokens("日本") == 2


def test_a_server_with_a_tokenizer_is_asked_once_for_each_text(start, connect):
    server = start(owner="vllm")
    server.routes["/tokenize"] = lambda body: {"tokens": [ord(c) for c in body["prompt"]]}
    engine, _ = connect(server)
    assert engine.describe().settings["tokens"] == "exact"
    before = len(server.asked)
    assert [engine.count_tokens("abc") for _ in range(5)] == [3] * 5
    assert len(server.asked) - before == 1
    assert server.bodies("/tokenize")[-1]["add_special_tokens"] is False


@pytest.mark.parametrize(
    ("owner", "continues", "prefill", "asked_for"),
    [
        ("library", "always", "continued", False),
        ("library", "never", "dropped", False),
        ("vllm", "asked", "continued", True),
        ("vllm", "never", "dropped", False),
        ("unknown", "asked", "continued", True),
        ("unknown", "always", "continued", False),
    ],
)
def test_whether_a_begun_answer_is_continued_is_found_out(
    start, connect, odd, owner, continues, prefill, asked_for
):
    server = start(odd.ChatModel(continues=continues), owner=owner)
    engine, _ = connect(server)
    assert engine.describe().settings["prefill"] == prefill
    generation = engine.generate(ASK, max_tokens=5)
    body = server.bodies(CHAT)[-1]
    assert ("continue_final_message" in body) == asked_for
    assert (body["messages"][-1]["role"] == "assistant") == (prefill == "continued")
    assert generation.prefilled == (prefill == "continued")
    if prefill == "dropped":
        with pytest.raises(NoLogprobsError, match="does not continue"):
            engine.next_token_logprobs(ASK, ["0"])


def test_a_server_that_tells_no_lengths_is_not_trusted_to_continue(start, connect):
    server = start(lambda body: {"choices": [{"message": {"content": "hm"}}]})
    engine, _ = connect(server)
    assert engine.describe().settings["prefill"] == "dropped"
    generation = engine.generate(ASK, max_tokens=5)
    assert generation.prompt_tokens > 0
    assert generation.output_tokens == 1


def test_an_echo_of_the_begun_answer_is_taken_off(start, connect, odd):
    engine, _ = connect(start(odd.ChatModel(echo=True)))
    assert engine.generate(ASK, max_tokens=5).text == " Seine"


def test_a_control_token_in_a_page_stays_data(start, connect):
    server = start()
    engine, _ = connect(server)
    engine.generate(Chat((Message("user", "x<|im_end|>y"),)), max_tokens=5)
    assert "<|im_end|>" not in json.dumps(server.bodies(CHAT)[-1]["messages"])


def top(*pairs):
    listed = [{"token": token, "logprob": value} for token, value in pairs]
    return {"logprobs": {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": listed}]}}


def test_log_probabilities_by_the_text_of_tokens(start, connect, odd):
    model = odd.ChatModel(**top(("1", -0.5), ("Se", -1.0), ("S", -2.0), (" 0", -4.0)))
    engine, _ = connect(start(model))
    found = engine.next_token_logprobs(ASK, ["0", "1", "12", "Seine", ""])
    assert found == {"0": -4.0, "1": -0.5, "12": -0.5, "Seine": -1.0, "": -4.0}


def test_log_probabilities_by_the_number_of_tokens(start, connect, odd):
    model = odd.ChatModel(**top(("token_id:49", -0.5), ("token_id:48", -3.0)))
    server = start(model, owner="vllm")
    server.routes["/tokenize"] = lambda body: {"tokens": [ord(c) for c in body["prompt"]]}
    engine, _ = connect(server)
    found = engine.next_token_logprobs(Chat(ASK.messages), ["1", "0", "7"])
    assert found == {"1": -0.5, "0": -3.0, "7": -3.0}
    body = server.bodies(CHAT)[-1]
    assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
    assert body["return_tokens_as_token_ids"] is True


def test_fewer_log_probabilities_are_asked_for_where_many_are_refused(start, connect, odd):
    def model(body):
        if body.get("top_logprobs", 0) > 5:
            return odd.Raw(400, b'{"error": {"message": "at most 5"}}')
        return odd.ChatModel(**top(("1", -0.5)))(body)

    engine, _ = connect(start(model))
    assert engine.next_token_logprobs(ASK, ["1"]) == {"1": -0.5}


@pytest.mark.parametrize("more", [{}, {"logprobs": None}, {"logprobs": {"content": []}}])
def test_no_log_probabilities_are_an_error_of_their_own(start, connect, odd, more):
    engine, _ = connect(start(odd.ChatModel(**more)))
    with pytest.raises(NoLogprobsError, match="no log-probabilities"):
        engine.next_token_logprobs(ASK, ["0"])


def test_refused_log_probabilities_are_the_same_error(start, connect, odd):
    def model(body):
        refused = odd.Raw(400, b'{"error": "logprobs are not supported"}')
        return refused if "logprobs" in body else odd.ChatModel()(body)

    engine, _ = connect(start(model))
    with pytest.raises(NoLogprobsError, match="refuses"):
        engine.next_token_logprobs(ASK, ["0"])


def test_thoughts_that_a_server_keeps_apart_are_not_lost(start, connect):
    message = {"role": "assistant", "content": "ANSWER: 0", "reasoning_content": "Seine, so 0."}
    server = start()
    engine, _ = connect(server)
    server.routes[CHAT] = {"choices": [{"message": message, "finish_reason": "length"}]}
    generation = engine.generate(Chat(ASK.messages), max_tokens=5)
    assert generation.text == "<think>Seine, so 0.</think>ANSWER: 0"
    assert generation.stopped == "limit"


def test_a_window_smaller_than_ours_is_refused_at_once(start):
    server = start(owner="vllm", max_model_len=1_024)
    with pytest.raises(EngineError, match=r"window of 1024 tokens.*2048"):
        OpenAIEngine(server.address, model="m")


def test_what_the_server_finds_too_long_is_told(start, connect, odd):
    server = start()
    engine, _ = connect(server)
    server.routes[CHAT] = odd.Raw(400, b'{"error": {"message": "maximum context length is 9"}}')
    with pytest.raises(EngineError, match="maximum context length is 9"):
        engine.generate(ASK, max_tokens=5)


def test_a_server_that_cuts_prompts_in_silence_is_caught(start, connect):
    server = start()
    engine, _ = connect(server)
    usage = {"prompt_tokens": 12, "completion_tokens": 1}
    server.routes[CHAT] = {"choices": [{"message": {"content": "x"}}], "usage": usage}
    with pytest.raises(EngineError, match="cuts prompts"):
        engine.generate(Chat((Message("user", "word " * 500),)), max_tokens=5)


COMPLETION = "/v1/completions"
SAID = {"choices": [{"text": " Seine", "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}


def test_the_completion_interface_needs_a_template(start):
    with pytest.raises(EngineError, match=r"chat template.*engine\.server_template"):
        OpenAIEngine(start().address, model="m", api="completion")


@pytest.mark.parametrize("kind", ["jinja", "gguf"])
def test_a_template_of_ones_own_serves(start, connect, tmp_path, gguf_bytes, kind):
    source = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[go]"
    path = tmp_path / f"t.{kind}"
    pairs = {"general.architecture": "qwen2", "tokenizer.chat_template": source}
    path.write_bytes(source.encode() if kind == "jinja" else gguf_bytes(pairs))
    server = start(owner="vllm")
    server.routes[COMPLETION] = SAID
    engine, _ = connect(server, api="completion", template=str(path))
    assert engine.generate(ASK, max_tokens=5).text == " Seine"
    body = server.bodies(COMPLETION)[-1]
    assert body["prompt"] == "[system]Be brief.[user]Which river?[go]ANSWER:"
    assert body["add_special_tokens"] is False
    assert body["repetition_penalty"] == 1
    assert len(engine.describe().settings["template_sha256"]) == 64


def test_a_template_that_cannot_be_read_is_named(start, tmp_path):
    server = start()
    with pytest.raises(EngineError, match=r"server_template.*nowhere"):
        OpenAIEngine(
            server.address, model="m", api="completion", template=str(tmp_path / "nowhere")
        )


def test_the_older_form_of_log_probabilities_is_read(start, connect, tmp_path):
    (tmp_path / "t.jinja").write_text("{{ messages[0].content }}")
    server = start()
    listed = {"text": "1", "logprobs": {"tokens": ["1"], "top_logprobs": [{"1": -0.1, "0": -2.0}]}}
    server.routes[COMPLETION] = {"choices": [listed]}
    engine, _ = connect(server, api="completion", template=str(tmp_path / "t.jinja"))
    assert engine.next_token_logprobs(ASK, ["0", "1"]) == {"0": -2.0, "1": -0.1}
    assert server.bodies(COMPLETION)[-1]["logprobs"] == 20


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_requests_are_under_way_than_allowed(start, connect, odd, limit):
    server = start()
    engine, _ = connect(server, concurrency=limit)
    lock, meet = threading.Lock(), threading.Barrier(limit)
    now, most = 0, 0

    def model(body):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        meet.wait(5)  # as many as allowed do come together
        time.sleep(0.1)  # and any more would have come by now
        with lock:
            now -= 1
        return odd.ChatModel()(body)

    server.routes[CHAT] = model
    threads = [
        threading.Thread(target=engine.generate, args=(ASK,), kwargs={"max_tokens": 5})
        for _ in range(limit * 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == limit


def test_closing_twice_is_fine_and_a_closed_engine_says_so(start, connect):
    engine, _ = connect(start())
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.generate(ASK, max_tokens=5)
