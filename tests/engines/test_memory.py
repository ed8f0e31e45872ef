"""Need and room are estimated from what is known before a model is loaded."""

from __future__ import annotations

import pytest

from harness.engines import _memory
from harness.engines._gguf import GgufHeader
from harness.engines._memory import check_fits, free_bytes, needed_bytes
from harness.errors import EngineError

MIB = 2**20
# Qwen2.5-1.5B: 28 layers, 2 heads of 128 for keys and values.
QWEN = GgufHeader(
    3,
    {
        "general.architecture": "qwen2",
        "qwen2.block_count": 28,
        "qwen2.embedding_length": 1_536,
        "qwen2.feed_forward_length": 8_960,
        "qwen2.attention.head_count": 12,
        "qwen2.attention.head_count_kv": 2,
    },
)


def test_the_cache_is_two_bytes_a_key_and_a_value_of_every_layer():
    empty = needed_bytes(QWEN, file_bytes=0, tokens=0)
    full = needed_bytes(QWEN, file_bytes=0, tokens=1_000)
    assert full - empty == 1_000 * 28 * 2 * (128 + 128) * 2


def test_the_weights_count_as_they_are_on_disk():
    more = needed_bytes(QWEN, file_bytes=1_000 * MIB, tokens=0)
    assert more - needed_bytes(QWEN, file_bytes=0, tokens=0) == 1_000 * MIB


def test_layers_may_have_different_heads():
    layers = {**QWEN.metadata, "qwen2.attention.head_count_kv": [2] * 27 + [0]}
    mixed = needed_bytes(GgufHeader(3, layers), file_bytes=0, tokens=1_000)
    whole = needed_bytes(QWEN, file_bytes=0, tokens=1_000)
    assert whole - mixed == 1_000 * 2 * (128 + 128) * 2


def test_layers_on_a_gpu_need_no_memory_here():
    def need(layers):
        return needed_bytes(QWEN, file_bytes=1_000 * MIB, tokens=1_000, layers=layers)

    assert need(0) > need(14) > need(28) == need(-1) == need(99)


@pytest.mark.parametrize("metadata", [{}, {"general.architecture": "x", "x.block_count": "many"}])
def test_a_header_that_says_nothing_leaves_the_weights(metadata):
    assert needed_bytes(GgufHeader(3, metadata), file_bytes=500, tokens=9) == 500 + 64 * MIB


def test_a_model_that_fits_is_let_through_and_the_next_byte_is_not(monkeypatch, tmp_path):
    need = needed_bytes(QWEN, file_bytes=1_000 * MIB, tokens=2_048)
    ask = {"file_bytes": 1_000 * MIB, "tokens": 2_048, "layers": 0}
    monkeypatch.setattr(_memory, "free_bytes", lambda: need)
    check_fits(tmp_path / "m.gguf", QWEN, **ask)
    monkeypatch.setattr(_memory, "free_bytes", lambda: need - 1)
    with pytest.raises(EngineError, match=r"m\.gguf needs about 1\.2 GiB.*1\.2 GiB are free"):
        check_fits(tmp_path / "m.gguf", QWEN, **ask)
    monkeypatch.setattr(_memory, "free_bytes", lambda: None)
    check_fits(tmp_path / "m.gguf", QWEN, **ask)


def test_this_machine_has_memory():
    free = free_bytes()
    assert free is None or 2**20 < free < 2**50


def test_what_the_kernel_calls_available_is_read(tmp_path):
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:  100 kB\nMemFree: 5 kB\nMemAvailable:   42 kB\n")
    assert _memory._meminfo(file) == 42 * 1024
    file.write_text("MemTotal:  100 kB\n")
    assert _memory._meminfo(file) is None
    assert _memory._meminfo(tmp_path / "none") is None


def group(folder, limit, usage, cached, *, old=False):
    folder.mkdir(parents=True, exist_ok=True)
    names = (
        ("memory.limit_in_bytes", "memory.usage_in_bytes")
        if old
        else ("memory.max", "memory.current")
    )
    for name, value in zip(names, (limit, usage), strict=True):
        (folder / name).write_text(f"{value}\n")
    (folder / "memory.stat").write_text(
        f"anon 1\n{'total_inactive_file' if old else 'inactive_file'} {cached}\n"
    )


def test_every_limit_above_this_process_counts(tmp_path):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("0::/work/job\n")
    group(root / "work", 1_000, 400, 100)
    group(root / "work" / "job", "max", 300, 0)
    assert sorted(_memory._cgroup_rooms(root, own)) == [700]
    group(root / "work" / "job", 500, 300, 50)
    assert sorted(_memory._cgroup_rooms(root, own)) == [250, 700]


def test_the_older_control_groups_are_read_too(tmp_path):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("5:cpuset:/\n4:cpu,memory:/job\n0::/\n")
    group(root / "memory" / "job", 900, 300, 20, old=True)
    assert _memory._cgroup_rooms(root, own) == [620]


def test_a_container_sees_its_limit_at_the_root(tmp_path):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("0::/docker/abc\n")
    group(root, 900, 300, 0)
    assert _memory._cgroup_rooms(root, own) == [600]
