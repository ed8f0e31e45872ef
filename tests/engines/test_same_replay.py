"""One replay, two engines: in this process and behind a llama.cpp server, one digest."""

from __future__ import annotations

import json

import pytest

from harness.cli import main
from harness.replay import sample_path

pytestmark = pytest.mark.models

SMOL = "smollm2-135m-instruct-q4_1"


def test_a_server_gives_the_answers_of_the_embedded_engine(replay, llama_address, server_key):
    here = replay(f"engine.model={SMOL}")
    assert here["questions"] == 2
    server = ("engine.name=openai", f"engine.server={llama_address}", "engine.model=smol")
    for api in ("chat", "completion"):
        there = replay(*server, f"engine.server_api={api}")
        assert there["digest"] == here["digest"]


@pytest.fixture
def replay(real_models, tmp_path, monkeypatch, capsys):
    real_models(SMOL, "minilm-l6-v2-int8")
    monkeypatch.chdir(tmp_path)

    def run(*settings: str):
        capsys.readouterr()
        command = ["replay", str(sample_path()), "--limit", "2", "--json"]
        for setting in ("engine.threads=1", "engine.max_tokens=24", *settings):
            command += ["--set", setting]
        assert main(command) == 0
        return json.loads(capsys.readouterr().out)

    return run
