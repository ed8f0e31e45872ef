"""The whole pipeline with real models over the shipped recording.

The smallest language model answers: what is proved here is that results are
the same, not that they are good.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.corpus import Corpus
from harness.replay import sample_path

pytestmark = pytest.mark.models

SMOL = "smollm2-135m-instruct-q4_1"
LIMIT = "3"


@pytest.fixture(autouse=True)
def forbid_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whatever tries to reach anything over a network socket of Python's."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a replay touched the network")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def replay(real_models, tmp_path, monkeypatch, capsys):
    """A function that replays and returns the JSON document."""
    real_models(SMOL, "minilm-l6-v2-int8")
    monkeypatch.chdir(tmp_path)

    def run(corpus: Path, *more: str) -> dict[str, Any]:
        capsys.readouterr()
        command = ["replay", str(corpus), "--limit", LIMIT, "--json"]
        status = main([*command, "--set", f"engine.model={SMOL}", *more])
        assert status == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return run


def test_two_orders_and_an_exported_corpus_give_one_digest(replay, tmp_path):
    first = replay(sample_path(), "--shuffle", "1")
    with Corpus.open(sample_path()) as corpus:
        corpus.export(tmp_path / "exported")
    Corpus.import_from(tmp_path / "exported", tmp_path / "imported").close()
    again = replay(tmp_path / "imported", "--shuffle", "2")
    assert again["digest"] == first["digest"]

    assert first["questions"] == int(LIMIT)
    assert {"known", "correct", "estimate", "lower", "upper"} <= set(first["accuracy"])
    assert "retrieved passages" in first["by_basis"]
    assert first["stages"]["search"]["source"] == "recorded network"
    assert first["stages"]["generate"]["median_s"] > 0


def test_the_model_alone_is_another_run(replay):
    alone = replay(sample_path(), "--no-search")
    assert set(alone["by_basis"]) <= {"model alone", "parser fallback"}
    assert "search" not in alone["stages"]
