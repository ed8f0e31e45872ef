"""The presets: what they name exists, every command offers them, and the GPU's fails early."""

from __future__ import annotations

import pytest

from harness.cli import main
from harness.cli._options import complete_preset
from harness.errors import EngineError
from harness.models import get_spec
from harness.settings import PRESETS, resolve


@pytest.mark.parametrize("preset", PRESETS)
def test_what_a_preset_names_is_in_the_registry(preset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = resolve(preset=preset, env={}).settings
    assert get_spec(settings.engine.model).role == "engine"
    assert get_spec(settings.retrieval.encoder).role == "encoder"
    if settings.retrieval.reranker != "auto":
        assert get_spec(settings.retrieval.reranker).role == "reranker"


def test_the_gpu_preset_has_room_for_its_context_and_its_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = resolve(preset="gpu", env={}).settings
    rest = settings.engine.context_window - settings.retrieval.context_tokens
    usual = resolve(env={}).settings
    assert rest >= usual.engine.context_window - usual.retrieval.context_tokens
    assert settings.retrieval.device == "cuda"


@pytest.mark.parametrize("command", ["demo", "replay", "settings", "doctor"])
def test_help_names_every_preset(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "--preset" in text
    for preset in PRESETS:
        assert f"{preset} (" in text


def test_completion_offers_the_presets():
    assert complete_preset("") == list(PRESETS)
    assert complete_preset("g") == ["gpu"]
    assert complete_preset("x") == []


def test_a_preset_without_its_gpu_fails_in_a_sentence_before_anything_is_fetched(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def fetch(*args, **options):
        pytest.fail("fetched a model first")

    monkeypatch.setattr("harness.models._pull._pull", fetch)
    assert main(["demo", "--preset", "gpu", "--limit", "1"]) == EngineError.exit_code == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    last = captured.err.splitlines()[-1]
    assert last == (
        "hotseat: The exllamav2 engine needs an NVIDIA GPU, and none was found on this machine. "
        "Use --preset cpu."
    )
    assert "Traceback" not in captured.err
