"""Which engines can be used on this machine, found out without loading any of them.

Looks for installed packages by name and asks the driver's own tool for GPUs:
cheap enough to do before anything is downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from harness.availability import Availability
from harness.engines._memory import free_bytes
from harness.errors import EngineError

if TYPE_CHECKING:
    from harness.settings import EngineSettings

__all__ = [
    "ENGINES",
    "Gpu",
    "availability",
    "available",
    "check_engine",
    "check_ready",
    "check_server",
    "free_bytes",
    "gpus",
]

ENGINES = ("xllamacpp", "openai", "exllamav2", "ctransformers")

LEAST_CAPABILITY = (6, 0)
"""Oldest compute capability whose half-precision arithmetic ExLlamaV2 uses."""

_ASK_GPU_TIMEOUT_S = 3.0
_GPU_FIELDS = "index,uuid,name,compute_cap,memory.free,memory.total"
_MIB = 1 << 20
_INSTALL_GPU = "pip install 'hotseat[gpu]'"
_WHEELS = "https://github.com/turboderp-org/exllamav2/releases"
_LIMITS = {
    "xllamacpp": "GGUF files",
    "openai": "needs a running server; repeatable only if the server is",
    "exllamav2": "NVIDIA GPU; quantised models may differ in the last digits from run to run",
    "ctransformers": "only GGML (ggjt 3) and GGUF 2 files of llama models",
}


@dataclass(frozen=True, slots=True)
class Gpu:
    """An NVIDIA GPU as its driver describes it; ``capability`` is (major, minor)."""

    name: str
    capability: tuple[int, int]
    free_bytes: int
    total_bytes: int


def available() -> tuple[Availability, ...]:
    """Return how each engine stands on this machine."""
    return tuple(availability(name) for name in ENGINES)


def availability(name: str, cards: tuple[Gpu, ...] | None = None) -> Availability:
    """Return how one engine stands on this machine; ``name`` is one of :data:`ENGINES`.

    ``cards`` are what :func:`gpus` returned, where that was asked already.
    """
    match name:
        case "exllamav2":
            return _exllamav2(gpus() if cards is None else cards)
        case "openai":
            return _package(name, "httpx", "", "for any OpenAI-compatible server")
        case "ctransformers":
            return _package(name, name, "pip install 'hotseat[ctransformers]'")
        case _:
            return _package(name, name, f"pip install {name}", "llama.cpp in this process")


def check_engine(settings: EngineSettings) -> None:
    """Raise :class:`~harness.errors.EngineError` unless the engine that is set can be used.

    Cheap, and meant to be called before any weights are fetched.
    """
    check_ready(settings.name)


def check_ready(name: str, cards: tuple[Gpu, ...] | None = None) -> None:
    """Raise :class:`~harness.errors.EngineError` unless the engine ``name`` can be used.

    ``cards`` are what :func:`gpus` returned, where that was asked already.
    """
    found = availability(name, cards)
    if found.ready:
        return
    instead = "--preset cpu" if name == "exllamav2" else "--set engine.name=xllamacpp"
    remedy = f"Run {found.install}, or use {instead}." if found.install else f"Use {instead}."
    raise EngineError(found.detail, remedy=remedy)


def check_server(settings: EngineSettings, *, timeout_s: float) -> None:
    """Ask the server of the engine ``openai`` which models it has.

    Raises :class:`~harness.errors.EngineError` when it fails, wants another
    key or lacks the model, and :class:`~harness.errors.SettingError` for an
    address that the engine does not take.
    """
    from harness.engines._http import Server
    from harness.engines._server import discover

    server = Server(settings.server, timeout_s=timeout_s, retries=0)
    try:
        discover(server, settings.model, needs_json=True)
    finally:
        server.close()


def _package(name: str, package: str, install: str, words: str = "") -> Availability:
    version = _version(package)
    if version is None:
        detail = f"The engine {name} needs the package {package}, which is not installed."
        return Availability("engine", name, False, detail, install, _LIMITS[name])
    detail = ", ".join(filter(None, (f"{package} {version}", words)))
    return Availability("engine", name, True, detail, "", _LIMITS[name])


def _exllamav2(found: tuple[Gpu, ...]) -> Availability:
    problem, install = _exllamav2_problem(found)
    if problem:
        return Availability("engine", "exllamav2", False, problem, install, _LIMITS["exllamav2"])
    gpu = found[0]
    detail = f"exllamav2 {_version('exllamav2')} on {gpu.name}, {gpu.free_bytes / 1e9:.1f} GB free"
    return Availability("engine", "exllamav2", True, detail, "", _LIMITS["exllamav2"])


def _exllamav2_problem(found: tuple[Gpu, ...]) -> tuple[str, str]:
    """Return what is missing and the command that brings it, or two empty strings.

    The GPU comes first: without one, nobody should fetch gigabytes of libraries.
    """
    if not found:
        return "The exllamav2 engine needs an NVIDIA GPU, and none was found on this machine.", ""
    if max(gpu.capability for gpu in found) < LEAST_CAPABILITY:
        have = ".".join(map(str, found[0].capability))
        need = ".".join(map(str, LEAST_CAPABILITY))
        return (
            f"The exllamav2 engine needs a GPU of compute capability {need} or newer, "
            f"and {found[0].name} has {have}.",
            "",
        )
    if _version("exllamav2") is None:
        return "The engine exllamav2 needs the package exllamav2, which is not installed.", (
            _INSTALL_GPU
        )
    torch = _version("torch")
    if torch is None or "+cpu" in torch:
        have = f"version {torch}, built for the CPU alone" if torch else "not installed"
        return f"The exllamav2 engine needs PyTorch with CUDA, and torch is {have}.", (
            "pip install --force-reinstall torch" if torch else _INSTALL_GPU
        )
    if not (_is_there("exllamav2_ext") or _has_cuda_compiler()):
        return (
            "The exllamav2 package from PyPI builds its GPU part on first use, and the CUDA "
            "compiler nvcc, which that takes, was not found.",
            f"pip install WHEEL with one of the ready-built wheels at {_WHEELS}",
        )
    return "", ""


def gpus() -> tuple[Gpu, ...]:
    """Return the NVIDIA GPUs that this process may use, as ``nvidia-smi`` tells them.

    CUDA_VISIBLE_DEVICES chooses among them and orders them, by the numbers that
    ``nvidia-smi`` gives them or by the beginnings of their identifiers.  Empty
    without a driver, or when it hides them all.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in ("", "-1"):
        return ()
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    command = [tool, f"--query-gpu={_GPU_FIELDS}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_GPU_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):  # a tool without a driver behind it
        return ()
    found = [row for line in done.stdout.splitlines() if (row := _parse_gpu(line)) is not None]
    return _chosen(found, visible)


def _chosen(found: list[tuple[str, str, Gpu]], visible: str | None) -> tuple[Gpu, ...]:
    """Return the GPUs that CUDA shows: up to the first entry that names none, as CUDA does."""
    names = [name.strip() for name in (visible or "").split(",")]
    # A part of a GPU is in a table of its own, which says little of use here.
    if visible is None or any(name.startswith("MIG-") for name in names):
        return tuple(gpu for _, _, gpu in found)
    chosen: list[Gpu] = []
    for name in names:
        named = [
            gpu
            for number, identifier, gpu in found
            if name == number or (name.startswith("GPU-") and identifier.startswith(name))
        ]
        if len(named) != 1:
            break
        chosen += named
    return tuple(chosen)


def _parse_gpu(line: str) -> tuple[str, str, Gpu] | None:
    """Return number, identifier and description of the GPU in a line."""
    try:
        number, identifier, rest = (part.strip() for part in line.split(",", 2))
        name, capability, free, total = (part.strip() for part in rest.rsplit(",", 3))
        major, minor = capability.split(".")
        gpu = Gpu(name, (int(major), int(minor)), int(free) * _MIB, int(total) * _MIB)
    except ValueError:  # "[N/A]" in a column, or a message in place of the table
        return None
    return number, identifier, gpu


def _is_there(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except (ImportError, ValueError):  # a half-installed package
        return False


def _version(package: str) -> str | None:
    if not _is_there(package):
        return None
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # importable, but not from a distribution
        return "of unknown version"


def _has_cuda_compiler() -> bool:
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    return shutil.which("nvcc") is not None or any(
        (Path(home) / "bin" / "nvcc").exists() for home in homes if home
    )
