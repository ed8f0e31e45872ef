"""The GGUF header reader: right on good files, one sentence on any other."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.engines import model_parts
from harness.engines._gguf import read_header
from harness.engines._gguf_check import check_whole
from harness.errors import EngineError, ModelMissingError


def test_reads_scalars_strings_and_arrays(tmp_path, gguf_bytes):
    path = tmp_path / "m.gguf"
    pairs = {"general.architecture": "qwen2", "n": 7, "words": ["a", "é"], "kinds": [1, -3]}
    path.write_bytes(gguf_bytes(pairs))
    header = read_header(path)
    assert header.metadata == pairs
    assert header.architecture == "qwen2"
    assert header.version == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04....", "not a GGUF file"),
        (b"GGUF", "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 99, 0, 0), "version"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62), "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40), "version"),
    ],
)
def test_a_file_that_is_no_whole_header_is_refused_in_a_sentence(tmp_path, content, says):
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(EngineError, match=says) as caught:
        read_header(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(EngineError, match=r"nowhere\.gguf"):
        read_header(tmp_path / "nowhere.gguf")


@given(cut=st.integers(min_value=0, max_value=200), noise=st.binary(max_size=40))
def test_cut_and_noisy_headers_never_escape_as_other_errors(
    tmp_path_factory, gguf_bytes, cut, noise
):
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    whole = gguf_bytes({"general.architecture": "qwen2", "words": ["a", "b"], "n": 3})
    path.write_bytes(whole[:cut] + noise)
    with contextlib.suppress(EngineError):
        read_header(path)


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    raw = name.encode()
    return (
        struct.pack("<Q", len(raw))
        + raw
        + struct.pack("<I", len(shape))
        + struct.pack(f"<{len(shape)}Q", *shape)
        + struct.pack("<IQ", kind, offset)
    )


@pytest.mark.parametrize(
    ("kind", "shape", "size_bytes"),
    [
        (0, (10, 3), 120),  # f32
        (1, (10, 3), 60),  # f16
        (2, (64,), 36),  # q4_0: 18 bytes for 32 weights
        (12, (256, 2), 288),  # q4_k: 144 bytes for 256
        (14, (512,), 420),  # q6_k: 210 bytes for 256
        (999, (512,), 0),  # a type of the future: only where it begins is known
    ],
)
def test_the_end_of_the_last_tensor_is_known_from_the_header(tmp_path, kind, shape, size_bytes):
    entries = tensor("a", (1,), 0, 0) + tensor("b", shape, kind, 64)
    header = b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + entries
    start = -(-len(header) // 32) * 32
    path = tmp_path / "m.gguf"
    path.write_bytes(header.ljust(start + 64 + size_bytes, b"\0"))
    assert read_header(path).size_bytes == start + 64 + size_bytes
    assert read_header(path).tensors == {"a", "b"}
    assert check_whole([path]) == path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(EngineError, match="cut short"):
        check_whole([path])


@pytest.mark.models
def test_the_real_file_ends_where_its_header_says(smol_path):
    assert read_header(smol_path).size_bytes == smol_path.stat().st_size


def split(folder, count=3, missing=()):
    paths = [folder / f"m-{n:05d}-of-{count:05d}.gguf" for n in range(1, count + 1)]
    for number, path in enumerate(paths, 1):
        if number not in missing:
            path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    return paths


def test_any_part_of_a_split_model_leads_to_all_in_order(tmp_path):
    paths = split(tmp_path, 12)
    assert model_parts(paths[0]) == model_parts(paths[6]) == tuple(paths)
    assert model_parts(tmp_path / "m.gguf") == (tmp_path / "m.gguf",)


@pytest.mark.parametrize(
    ("missing", "says"),
    [((2,), "m-00002-of-00003.gguf is missing"), ((2, 3), "m-00003-of-00003.gguf are missing")],
)
def test_a_missing_part_is_named(tmp_path, missing, says):
    paths = split(tmp_path, 3, missing)
    with pytest.raises(ModelMissingError, match=says):
        model_parts(paths[0])


@pytest.mark.parametrize("name", ["m-00004-of-00003.gguf", "m-00000-of-00003.gguf"])
def test_a_part_that_cannot_be_is_refused(tmp_path, name):
    with pytest.raises(EngineError, match="numbers"):
        model_parts(tmp_path / name)


def test_a_truncated_part_is_the_one_named(tmp_path):
    paths = split(tmp_path)
    entry = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor("a", (1_000,), 0, 0)
    paths[1].write_bytes(entry)
    with pytest.raises(EngineError, match=r"m-00002-of-00003\.gguf is cut short"):
        check_whole(paths)
