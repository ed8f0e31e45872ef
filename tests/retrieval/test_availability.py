"""What `hotseat doctor` is told of encoders and rerankers."""

import subprocess
import sys
from importlib import metadata

import pytest

from harness.models import REGISTRY
from harness.retrieval.availability import available


def by_name() -> dict:
    found = {item.name: item for item in available()}
    assert len(found) == len(available())
    return found


def test_every_registered_encoder_and_reranker_is_listed():
    for spec in REGISTRY.values():
        if spec.role != "engine":
            assert any(
                item.kind == spec.role and item.name.startswith(spec.name) for item in available()
            )


def test_missing_weights_come_with_the_command():
    item = by_name()["minilm-l6-v2-int8"]
    assert not item.ready
    assert item.detail == "weights missing, 24 MB"
    assert item.install == "hotseat models pull minilm-l6-v2-int8"
    assert item.limits


def test_a_missing_library_comes_with_the_extra(monkeypatch):
    real = metadata.version

    def version(package: str) -> str:
        if package in ("torch", "sentence-transformers"):
            raise metadata.PackageNotFoundError(package)
        return real(package)

    monkeypatch.setattr(metadata, "version", version)
    item = by_name()["ms-marco-minilm-l-6-v2 (sentence-transformers)"]
    assert not item.ready
    assert item.detail.startswith("sentence-transformers and torch not installed; weights missing")
    assert item.install == (
        "pip install 'hotseat[torch]' && hotseat models pull ms-marco-minilm-l-6-v2"
    )


@pytest.mark.models
def test_what_is_here_is_ready_with_its_versions(real_models):
    real_models("minilm-l6-v2-int8")
    item = by_name()["minilm-l6-v2-int8"]
    assert item.ready
    assert item.install == ""
    assert f"onnxruntime {metadata.version('onnxruntime')}" in item.detail


def test_maxsim_needs_nothing():
    assert by_name()["maxsim"].ready


def test_finding_out_loads_nothing_heavy():
    heavy = ("torch", "sentence_transformers", "onnxruntime", "xllamacpp", "tokenizers")
    code = (
        "import sys; from harness.retrieval.availability import available; available(); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
