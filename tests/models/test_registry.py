"""The registry is well formed, and names lead where they should."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError
from harness.models import (
    DEFAULT_MODELS,
    REGISTRY,
    HubSource,
    ModelFile,
    ModelSpec,
    WheelSource,
    get_spec,
    known_names,
)
from harness.settings import Settings

SPECS = list(REGISTRY.values())
# Could not be fetched by anybody who wrote the registry: the hub tells the large files' hashes.
UNHASHED = {"qwen2.5-7b-instruct-gptq-int4"}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_entry_is_well_formed(spec: ModelSpec) -> None:
    assert re.fullmatch(r"[a-z0-9._-]+", spec.name)
    assert spec.licence == "Apache-2.0"
    assert "/" in spec.upstream
    assert spec.title
    assert spec.sources
    assert len({file.name for file in spec.files}) == len(spec.files)
    for file in spec.files:
        if spec.name not in UNHASHED:
            assert file.sha256 is not None
            assert file.size_bytes
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert any(source.delivers(file.name) for source in spec.sources)
    assert spec.main.endswith({"gguf": ".gguf", "onnx": ".onnx"}.get(spec.kind, ".safetensors"))
    for source in spec.sources:
        if isinstance(source, HubSource):
            assert re.fullmatch(r"[0-9a-f]{40}", source.revision)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_wheel_parts_add_up_to_their_file(spec: ModelSpec) -> None:
    sizes = {file.name: file.size_bytes for file in spec.files}
    for source in spec.sources:
        if not isinstance(source, WheelSource):
            continue
        assert len(set(source.parts)) == len(source.parts)
        for file in {part.file for part in source.parts}:
            own = [part.size_bytes for part in source.parts if part.file == file]
            assert sum(own) == sizes[file]


def test_names_and_aliases_are_unambiguous() -> None:
    names = known_names()
    assert len({name.casefold() for name in names}) == len(names)
    for spec in SPECS:
        for name in (spec.name, *spec.aliases):
            assert get_spec(name) is spec
            assert get_spec(f" {name.upper()} ") is spec


def test_default_models_are_what_the_default_settings_name() -> None:
    settings = Settings()
    assert set(DEFAULT_MODELS) == {settings.engine.model, settings.retrieval.encoder}


def test_roles_tell_which_part_loads_a_model() -> None:
    roles = {spec.name: spec.role for spec in SPECS}
    assert {name for name, role in roles.items() if role == "encoder"} == {
        "minilm-l6-v2",
        "minilm-l6-v2-int8",
    }
    assert {name for name, role in roles.items() if role == "reranker"} == {
        "ms-marco-minilm-l-6-v2",
        "bge-reranker-v2-m3-q8_0",
    }


def test_the_cross_encoder_comes_in_both_forms() -> None:
    files = {file.name for file in get_spec("ms-marco").files}
    assert {"onnx/model.onnx", "model.safetensors", "tokenizer.json", "config.json"} <= files


def test_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(BadInputError, match=r"'minilm-l6-v3'.*Did you mean 'minilm-l6-v2'") as info:
        get_spec("minilm-l6-v3")
    assert info.value.exit_code == 2


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../x", "a/../../x", "a\\b", "C:x", "a//b", "./a", "a/", "a\0"]
)
def test_file_names_that_could_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(BadInputError):
        ModelFile(name, None, None)


@given(st.text(alphabet="ab./\\: ", max_size=12))
def test_an_accepted_file_name_stays_in_its_folder(name: str) -> None:
    try:
        ModelFile(name, None, None)
    except BadInputError:
        return
    root = Path("/models/x")
    assert (root / name).parts[:3] == root.parts
    assert ".." not in Path(name).parts
