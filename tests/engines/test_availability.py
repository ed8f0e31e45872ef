"""Which engines are ready, on machines with and without packages and GPUs."""

from __future__ import annotations

import importlib
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.engines import availability as module
from harness.engines.availability import (
    ENGINES,
    Gpu,
    availability,
    available,
    check_engine,
    check_ready,
    gpus,
)
from harness.errors import EngineError
from harness.settings import Settings

H200 = Gpu("NVIDIA H200", (9, 0), 140 << 30, 141 << 30)
OLD = Gpu("GeForce GTX 980", (5, 2), 4 << 30, 4 << 30)


@pytest.fixture
def machine(monkeypatch):
    """A machine with these GPUs and package versions."""

    def make(*found: Gpu, **versions: str) -> None:
        monkeypatch.setattr(module, "gpus", lambda: found)
        monkeypatch.setattr(module, "_version", lambda package: versions.get(package))
        monkeypatch.setattr(module, "_is_there", lambda name: name in versions)
        monkeypatch.setattr(module, "_has_cuda_compiler", lambda: "nvcc" in versions)

    return make


def test_every_engine_of_the_settings_is_told_about():
    choices = Settings.model_fields["engine"].annotation.model_fields["name"].annotation
    assert set(ENGINES) == set(choices.__args__)
    found = available()
    assert [item.name for item in found] == list(ENGINES)
    assert all(item.kind == "engine" and item.detail and item.limits for item in found)


def test_a_missing_part_says_what_brings_it_and_a_ready_one_does_not(machine):
    machine(xllamacpp="2026.10")
    by_name = {item.name: item for item in available()}
    assert by_name["xllamacpp"].ready
    assert by_name["xllamacpp"].install == ""
    assert "2026.10" in by_name["xllamacpp"].detail
    assert not by_name["ctransformers"].ready
    assert by_name["ctransformers"].install == "pip install 'hotseat[ctransformers]'"


@pytest.mark.parametrize(
    ("found", "versions", "told", "install"),
    [
        ((), {}, "needs an NVIDIA GPU", ""),
        ((OLD,), {}, "6.0 or newer, and GeForce GTX 980 has 5.2", ""),
        ((H200,), {}, "package exllamav2", "pip install 'hotseat[gpu]'"),
        ((H200,), {"exllamav2": "0.3.2"}, "torch is not installed", "pip install 'hotseat[gpu]'"),
        (
            (H200,),
            {"exllamav2": "0.3.2", "torch": "2.13.0+cpu"},
            "built for the CPU alone",
            "pip install --force-reinstall torch",
        ),
        ((H200,), {"exllamav2": "0.3.2", "torch": "2.13.0"}, "nvcc", "releases"),
    ],
)
def test_the_first_thing_that_exllamav2_lacks_is_told(machine, found, versions, told, install):
    machine(*found, **versions)
    item = availability("exllamav2")
    assert not item.ready
    assert told in item.detail
    assert item.detail.endswith(".")
    assert item.detail.rstrip(".").count(". ") == 0, "one sentence"
    assert install in item.install
    assert bool(install) == bool(item.install)
    with pytest.raises(EngineError) as info:
        check_ready("exllamav2")
    assert info.value.exit_code == 3
    assert "--preset cpu" in info.value.remedy
    assert item.install in info.value.remedy


@pytest.mark.parametrize("built", ["nvcc", "exllamav2_ext"])
def test_exllamav2_is_ready_with_all_of_it(machine, built):
    machine(H200, exllamav2="0.3.2", torch="2.13.0", **{built: "1"})
    item = availability("exllamav2")
    assert item.ready
    assert "NVIDIA H200" in item.detail
    check_ready("exllamav2")


def test_one_good_gpu_beside_an_old_one_is_enough(machine):
    machine(OLD, H200, exllamav2="0.3.2", torch="2.13.0", nvcc="1")
    assert availability("exllamav2").ready


def test_the_engine_of_the_settings_is_the_one_checked(machine):
    machine(xllamacpp="1", httpx="1")
    engine = Settings().engine
    check_engine(engine)
    check_engine(engine.model_copy(update={"name": "openai"}))
    with pytest.raises(EngineError, match="NVIDIA GPU"):
        check_engine(engine.model_copy(update={"name": "exllamav2"}))
    with pytest.raises(EngineError, match=r"hotseat\[ctransformers\].*xllamacpp"):
        check_engine(engine.model_copy(update={"name": "ctransformers"}))


@pytest.mark.parametrize("everything", [False, True])
def test_each_engine_says_itself_what_is_said_of_it(machine, everything):
    machine(
        *([H200] if everything else []),
        **(dict.fromkeys((*ENGINES, "httpx", "torch", "nvcc"), "1") if everything else {}),
    )
    for name in ENGINES:
        engine = importlib.import_module(f"harness.engines.{name}")
        assert engine.is_available() == availability(name).ready == everything


def test_gpus_that_are_known_are_not_asked_for_again(machine, monkeypatch):
    machine(exllamav2="0.3.2", torch="2.13.0", nvcc="1")
    monkeypatch.setattr(module, "gpus", lambda: pytest.fail("asked again"))
    check_ready("exllamav2", (H200,))
    with pytest.raises(EngineError, match="NVIDIA GPU"):
        check_ready("exllamav2", ())


@pytest.fixture
def driver(tmp_path: Path, monkeypatch):
    """A driver tool that runs a shell script."""
    if sys.platform == "win32":
        pytest.skip("the pretended tool is a shell script")

    def make(script: str) -> None:
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    return make


FIRST = Gpu("NVIDIA H200", (9, 0), 1000 << 20, 2000 << 20)
SECOND = Gpu("Odd, Name", (8, 6), 1 << 20, 2 << 20)
TWO_GPUS = (
    "echo '0, GPU-ab1d-02, NVIDIA H200, 9.0, 1000, 2000'; "
    "echo '1, GPU-bc2e-03, Odd, Name, 8.6, 1, 2'"
)


def test_gpus_are_read_from_the_driver(driver):
    driver(TWO_GPUS)
    assert gpus() == (FIRST, SECOND)


@pytest.mark.parametrize(
    ("value", "chosen"),
    [
        ("0,1", (FIRST, SECOND)),
        (" 1 , 0", (SECOND, FIRST)),
        ("1", (SECOND,)),
        ("GPU-b", (SECOND,)),
        ("GPU-ab1d,0", (FIRST, FIRST)),
        ("GPU-", ()),  # both begin so
        ("1,-1,0", (SECOND,)),  # nothing behind one that is not there
        ("7", ()),
        ("none", ()),
        ("MIG-1f6e", (FIRST, SECOND)),  # which of them it is a part of isn't told
    ],
)
def test_visible_gpus_are_chosen_and_ordered_as_cuda_does(driver, monkeypatch, value, chosen):
    driver(TWO_GPUS)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert gpus() == chosen


@pytest.mark.parametrize(
    "script",
    [
        "exit 9",
        "echo 'No devices were found'",
        "echo '0, GPU-a, A, [N/A], [N/A], [N/A]'",
        "echo",
        "sleep 30",
    ],
)
def test_a_driver_that_tells_nothing_of_use_means_no_gpu(driver, script, monkeypatch):
    monkeypatch.setattr(module, "_ASK_GPU_TIMEOUT_S", 0.2)
    driver(script if script != "sleep 30" else "exec sleep 30")
    assert gpus() == ()


@pytest.mark.parametrize("value", ["", "-1"])
def test_hidden_gpus_are_not_there(driver, monkeypatch, value):
    driver(TWO_GPUS)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert gpus() == ()


def test_without_a_driver_there_is_no_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpus() == ()


def test_looking_loads_no_library():
    code = (
        "from harness.engines.availability import available; available(); import sys; "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "exllamav2", "ctransformers", "xllamacpp", "numpy", "httpx", "pydantic"}
    assert heavy.isdisjoint(done.stdout.split())
