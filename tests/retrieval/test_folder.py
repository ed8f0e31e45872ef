"""What models from a folder say of themselves, and of what went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import ModelMissingError
from harness.retrieval._folder import Identity, first_line, needed_file


def test_only_an_encoder_names_its_pooling():
    told = {
        "name": "tiny",
        "model_sha256": "ab",
        "tokenizer_sha256": "cd",
        "threads": 1,
        "max_tokens": 8,
    }
    assert list(Identity(**told).describe(torch="2").items()) == [*told.items(), ("torch", "2")]
    assert Identity(**told, pooling="cls").describe() == {**told, "pooling": "cls"}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("\n no such layer.\nmore"), "no such layer"),
        (RuntimeError(""), "RuntimeError"),
        (RuntimeError(" \n"), "RuntimeError"),
        (RuntimeError("x" * 900), "x" * 300),
    ],
)
def test_an_error_is_told_in_one_line(error: Exception, told: str):
    assert first_line(error) == told


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("minilm-l6-v2", "hotseat models pull minilm-l6-v2"),
        ("it's mine", "Put tokenizer.json into that folder"),
    ],
)
def test_a_missing_file_says_what_brings_it(tmp_path: Path, name: str, remedy: str):
    with pytest.raises(ModelMissingError, match="The encoder 'x' lacks") as raised:
        needed_file(tmp_path / "tokenizer.json", "encoder 'x'", name)
    assert remedy in raised.value.remedy
