"""``hotseat doctor``: true on this machine, and on machines that are pretended."""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.availability import Availability
from harness.cli import _diagnosis, main
from harness.engines import availability as engines
from harness.engines.availability import Gpu
from harness.retrieval import availability as retrieval

ENCODERS = (
    Availability("encoder", "minilm-l6-v2-int8", True, "onnxruntime 1.20", "", "CPU only"),
    Availability(
        "encoder", "minilm-l6-v2", False, "torch not installed", "pip install 'hotseat[torch]'"
    ),
    Availability("reranker", "maxsim", True, "needs nothing besides the encoder"),
    Availability(
        "reranker",
        "ms-marco-minilm-l-6-v2 (onnxruntime)",
        False,
        "weights missing, 183 MB",
        "hotseat models pull ms-marco-minilm-l-6-v2",
    ),
    Availability(
        "reranker",
        "ms-marco-minilm-l-6-v2 (sentence-transformers)",
        False,
        "torch not installed",
        "pip install 'hotseat[torch]' && hotseat models pull ms-marco-minilm-l-6-v2",
    ),
)


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU, with the packages of the default install."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engines, "gpus", lambda: ())
    versions = {"xllamacpp": "2026.10", "httpx": "0.28"}
    monkeypatch.setattr(engines, "_version", versions.get)
    monkeypatch.setattr(retrieval, "available", lambda: ENCODERS)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict]]:
    def run(*arguments: str) -> tuple[int, dict]:
        capsys.readouterr()
        code = main(["doctor", "--json", *arguments])
        captured = capsys.readouterr()
        assert captured.err == ""
        return code, json.loads(captured.out)

    return run


def test_the_default_settings_can_run_with_models_that_are_fetched_on_first_use(ask):
    code, found = ask()
    assert code == 0
    assert found["ready"]
    assert found["problems"] == []
    assert [model["state"] for model in found["models"]] == ["missing", "missing"]
    assert found["models"][0]["size_bytes"] > 10**9
    assert found["changed_settings"] == {}


def test_every_part_is_ready_or_missing_with_what_brings_it(ask):
    _, found = ask()
    kinds = {part["kind"] for part in found["parts"]}
    assert kinds == {"engine", "encoder", "reranker", "transcriber"}
    states = {part["name"]: part["ready"] for part in found["parts"] if part["kind"] == "engine"}
    assert states == {
        "xllamacpp": True,
        "openai": True,
        "exllamav2": False,
        "ctransformers": False,
    }
    assert all(part["detail"] for part in found["parts"])
    speech = next(part for part in found["parts"] if part["kind"] == "transcriber")
    assert not speech["ready"]
    assert "not part of this version" in speech["detail"]
    assert speech["install"] == ""


def used(found: dict) -> set[str]:
    return {part["name"] for part in found["parts"] if part["in_use"]}


def test_what_the_settings_use_is_marked(ask):
    _, found = ask()
    assert used(found) == {"xllamacpp", "minilm-l6-v2-int8", "maxsim"}
    _, found = ask("--set", "search.enabled=false", "--set", "engine.name=openai")
    assert used(found) == {"openai"}
    _, found = ask("--set", "retrieval.reranker=ms-marco-minilm-l-6-v2")
    assert used(found) - {"xllamacpp"} == {
        "minilm-l6-v2-int8",
        "ms-marco-minilm-l-6-v2 (onnxruntime)",
    }


def test_an_alias_is_the_same_part(ask):
    code, found = ask("--set", "retrieval.encoder=minilm-int8")
    assert code == 0
    assert "minilm-l6-v2-int8" in used(found)


def test_a_reranker_that_lacks_only_weights_is_fetched(ask):
    code, found = ask("--set", "retrieval.reranker=ms-marco-minilm-l-6-v2")
    assert code == 0
    assert found["models"][-1]["setting"] == "retrieval.reranker"


def test_the_gpu_preset_without_a_gpu_is_not_ready_and_says_why(ask):
    code, found = ask("--preset", "gpu")
    assert code == 1
    assert not found["ready"]
    assert found["problems"][0].startswith("The exllamav2 engine needs an NVIDIA GPU")
    assert any("retrieval.device=cuda" in problem for problem in found["problems"])
    assert any("hotseat[torch]" in problem for problem in found["problems"])
    assert found["changed_settings"]["engine.name"] == {
        "value": "exllamav2",
        "origin": "preset gpu",
    }
    assert "ms-marco-minilm-l-6-v2 (sentence-transformers)" in used(found)


def test_the_gpu_preset_is_ready_with_all_of_it(ask, monkeypatch):
    monkeypatch.setattr(engines, "gpus", lambda: (Gpu("H200", (9, 0), 99 << 30, 99 << 30),))
    versions = {"xllamacpp": "1", "httpx": "1", "exllamav2": "0.3.2", "torch": "2.13"}
    monkeypatch.setattr(engines, "_version", versions.get)
    monkeypatch.setattr(engines, "_has_cuda_compiler", lambda: True)
    ready = [Availability(p.kind, p.name, True, "here") for p in ENCODERS]
    monkeypatch.setattr(retrieval, "available", lambda: tuple(ready))
    code, found = ask("--preset", "gpu")
    assert (code, found["problems"]) == (0, [])
    assert found["machine"]["gpus"][0]["name"] == "H200"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("engine.name=ctransformers", "hotseat[ctransformers]"),
        ("engine.model=qwen-7b-gptq", "does not read qwen2.5-7b-instruct-gptq-int4"),
        ("engine.model=smollm3", "Unknown model 'smollm3'"),
        ("engine.model=none.gguf", "engine.model"),
        ("retrieval.device=cuda", "needs an NVIDIA GPU"),
        ("retrieval.encoder=minilm-l6-v2", "hotseat[torch]"),
    ],
)
def test_settings_that_can_not_run_are_told(ask, change, told):
    code, found = ask("--set", change)
    assert code == 1
    assert told in " ".join(found["problems"])


def test_a_model_file_of_one_s_own_is_here(ask, tmp_path):
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    code, found = ask("--set", "engine.model=own.gguf")
    assert code == 0
    assert found["models"][0]["state"] == "pulled"


def test_a_folder_that_can_not_be_written_to_is_told(ask, tmp_path, monkeypatch):
    place = tmp_path / "file"
    place.write_text("in the way")
    monkeypatch.setenv("HOTSEAT_HOME", str(place))
    code, found = ask()
    assert code == 1
    assert "can't be written to" in found["problems"][0]
    assert "HOTSEAT_HOME" in found["problems"][0]


def test_too_little_room_for_the_models_is_told(ask, monkeypatch):
    from types import SimpleNamespace

    monkeypatch.setattr(_diagnosis.shutil, "disk_usage", lambda place: SimpleNamespace(free=10**6))
    code, found = ask()
    assert code == 1
    assert "1.1 GB, and 0.0 GB are free" in found["problems"][0]


def test_looking_leaves_nothing_behind(ask, isolated_home):
    before = sorted(isolated_home.rglob("*"))
    ask()
    assert sorted(isolated_home.rglob("*")) == before


def test_the_last_line_says_what_is_missing(capsys):
    assert main(["doctor", "--preset", "gpu"]) == 1
    out = capsys.readouterr().out
    last = out.splitlines()[-1]
    assert last.startswith("Not ready (preset gpu): The exllamav2 engine needs an NVIDIA GPU")
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("Ready:")
    assert "Get it with: pip install 'hotseat[ctransformers]'" in out
    assert "First use fetches qwen2.5-coder-1.5b-instruct-q4_k_m, minilm-l6-v2-int8." in out


def test_a_terminal_gets_tables_and_the_same_last_line(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")
    assert main(["doctor"]) == 0
    out = re.sub(r" +\n", "\n", capsys.readouterr().out)
    for title in ("engines", "encoders", "rerankers", "transcribers", "models in use", "servers"):
        assert f"\n{title}\n" in out
    assert "* xllamacpp" in out
    assert out.splitlines()[-1].startswith("Ready:")


def test_no_network_is_used_by_default(ask, monkeypatch):
    monkeypatch.setattr(_diagnosis, "_request", lambda url: pytest.fail("asked"))
    _, found = ask()
    assert found["servers"][0]["state"] == "not asked"


class Quiet(http.server.BaseHTTPRequestHandler):
    status, body = 404, b""

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Quiet) as found:
        threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


def test_servers_are_asked_when_told_to(ask, server):
    code, found = ask("--online", "--set", f"search.url={server}")
    assert code == 0
    assert found["servers"][0]["state"] == "answers"
    assert "404" in found["servers"][0]["detail"]


def test_a_silent_search_server_is_told_and_does_not_matter_to_a_replay(ask):
    code, found = ask("--online", "--set", "search.url=http://127.0.0.1:9")
    assert code == 0
    assert found["servers"][0]["state"] == "silent"


def test_a_silent_engine_server_is_a_problem(ask, server):
    silent = "engine.server=http://someone:secret@127.0.0.1:9/v1"
    options = ("--set", "engine.name=openai", "--set", f"search.url={server}", "--set", silent)
    code, found = ask("--online", *options)
    assert code == 1
    assert "engine.server http://127.0.0.1:9/v1" in found["problems"][0]
    assert "secret" not in json.dumps(found)
    assert ask(*options)[0] == 0, "without --online nobody asked"


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (200, b"<html>hello</html>", "sent no JSON"),
        (500, b"", "answered 500"),
        (307, b"", "points elsewhere"),
        (401, b"", "HOTSEAT_SERVER_KEY"),
        (200, b'{"data": [{"id": "other"}]}', "has no model 'mine'"),
        (200, b'{"data": [{"id": "mine"}]}', ""),
        (404, b"", ""),
    ],
)
def test_an_engine_server_that_can_not_be_used_is_a_problem(ask, server, status, body, told):
    Quiet.status, Quiet.body = status, body
    try:
        settings = ("engine.name=openai", f"engine.server={server}/v1", "engine.model=mine")
        code, found = ask("--online", *(part for one in settings for part in ("--set", one)))
    finally:
        Quiet.status, Quiet.body = 404, b""
    assert code == bool(told)
    assert told in " ".join(found["problems"])


def test_a_server_that_never_answers_is_given_up(ask, monkeypatch):
    monkeypatch.setattr(_diagnosis, "SERVER_TIMEOUT_S", 0.05)
    monkeypatch.setattr(_diagnosis, "_request", lambda url: time.sleep(0.5) or ("late", ""))
    _, found = ask("--online")
    assert found["servers"][0]["state"] == "silent"


def test_wrong_usage_is_wrong_usage(capsys):
    assert main(["doctor", "--preset", "gpi"]) == 2
    assert "Did you mean 'gpu'?" in capsys.readouterr().err


def test_it_loads_no_model_library():
    code = (
        "import sys; from harness.cli import main; main(['doctor', '--json']); "
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ
    )
    assert json.loads(done.stdout)["parts"]
    heavy = {"torch", "exllamav2", "ctransformers", "xllamacpp", "onnxruntime", "tokenizers",
             "faiss", "httpx", "huggingface_hub", "sentence_transformers", "polars"}  # fmt: skip
    assert heavy.isdisjoint(done.stderr.split())
