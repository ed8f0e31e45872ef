"""What ``hotseat doctor`` finds out, as one JSON document; nothing here is shown.

Loads no model and none of the libraries that run them, and asks the network
only when told to.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.availability import Availability
    from harness.settings import Resolved, Settings

__all__ = ["diagnose"]

SERVER_TIMEOUT_S = 3.0
# Of a kind of weights: the engines that read it.
_READERS = {"gguf": ("xllamacpp",), "safetensors": ("exllamav2",)}


def diagnose(resolved: Resolved, *, preset: str, online: bool) -> dict[str, Any]:
    """Return the whole document; ``problems`` is empty when the settings can run."""
    settings = resolved.settings
    machine = _machine()
    parts = _parts()
    used = _in_use(settings)
    models = _models(settings)
    servers = _servers(settings, online)
    home = _home()
    problems = [
        *_home_problems(home, models),
        *_part_problems(settings, parts, used, has_gpu=bool(machine["gpus"])),
        *(model["problem"] for model in models if model["problem"]),
        *(server["problem"] for server in servers if server["problem"]),
    ]
    return {
        "preset": preset,
        "ready": not problems,
        "problems": problems,
        "machine": machine,
        "home": home,
        "parts": [{**asdict(part), "in_use": _is_used(part, used)} for part in parts],
        "models": models,
        "servers": servers,
        "changed_settings": _changed(resolved),
    }


def _machine() -> dict[str, Any]:
    from harness import __version__
    from harness.engines.availability import free_bytes, gpus
    from harness.machine import cores

    return {
        "hotseat": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "arch": platform.machine(),
        "cores": cores(),
        "free_memory_bytes": free_bytes(),
        "gpus": [asdict(gpu) for gpu in gpus()],
    }


def _home() -> dict[str, Any]:
    from harness.home import home

    folder = home()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return {
        "folder": str(folder),
        "exists": folder.is_dir(),
        "writable": _can_write(there),
        "free_bytes": shutil.disk_usage(there).free,
    }


def _can_write(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError:  # also a disk without a byte left, and a file where the folder should be
        return False
    return True


def _home_problems(home: Mapping[str, Any], models: list[dict[str, Any]]) -> Iterator[str]:
    if not home["writable"]:
        yield (
            f"Hotseat's folder {home['folder']} can't be written to; name another in HOTSEAT_HOME."
        )
    need = sum(model["size_bytes"] or 0 for model in models if model["state"] != "pulled")
    if need > home["free_bytes"]:
        yield (
            f"The models that are still to be fetched take {need / 1e9:.1f} GB, and "
            f"{home['free_bytes'] / 1e9:.1f} GB are free in {home['folder']}."
        )


def _parts() -> list[Availability]:
    from harness.availability import Availability
    from harness.engines.availability import available as engines
    from harness.retrieval.availability import available as encoders_and_rerankers

    speech = Availability(
        "transcriber", "whisper.cpp", False, "Spoken mode is not part of this version."
    )
    return [*engines(), *encoders_and_rerankers(), speech]


def _in_use(settings: Settings) -> dict[str, str]:
    """Return, for each kind, how the part that the settings name is listed."""
    from harness.retrieval.loading import auto_reranker

    wanted = settings.retrieval
    used: dict[str, str] = {"engine": settings.engine.name}
    if settings.search.enabled:
        reranker = wanted.reranker
        if reranker == "auto":
            reranker = auto_reranker() or "maxsim"
        used |= {"encoder": _registered(wanted.encoder), "reranker": _registered(reranker)}
    # A part that two libraries can run is listed once for each.
    library = "sentence-transformers" if wanted.device == "cuda" else "onnxruntime"
    return used | {"library": library}


def _registered(name: str) -> str:
    from harness.errors import BadInputError
    from harness.models import get_spec

    try:
        return get_spec(name).name
    except BadInputError:  # built in, or a path
        return name


def _is_used(part: Availability, used: Mapping[str, str]) -> bool:
    name = used.get(part.kind, "")
    return part.name in (name, f"{name} ({used['library']})")


def _part_problems(
    settings: Settings, parts: list[Availability], used: Mapping[str, str], *, has_gpu: bool
) -> Iterator[str]:
    for part in parts:
        if not _is_used(part, used) or part.ready or _is_fetched(part):
            continue
        told = part.detail.rstrip(".")
        if not told.startswith("The "):
            told = f"The {part.kind} {part.name} can't be used: {told}"
        yield f"{told}{f'; get it with: {part.install}' if part.install else ''}."
    if settings.search.enabled and settings.retrieval.device == "cuda" and not has_gpu:
        yield "retrieval.device=cuda needs an NVIDIA GPU, and none was found on this machine."


def _is_fetched(part: Availability) -> bool:
    """Whether a part lacks nothing but weights, which its first use brings."""
    steps = [step for step in part.install.split(" && ") if step]
    return bool(steps) and all(step.startswith("hotseat models pull ") for step in steps)


def _models(settings: Settings) -> list[dict[str, Any]]:
    wanted = [] if settings.engine.name == "openai" else [("engine.model", settings.engine.model)]
    if settings.search.enabled:
        wanted.append(("retrieval.encoder", settings.retrieval.encoder))
        if settings.retrieval.reranker not in ("auto", "maxsim", "none"):
            wanted.append(("retrieval.reranker", settings.retrieval.reranker))
    return [_model(setting, name, settings) for setting, name in wanted]


def _model(setting: str, name: str, settings: Settings) -> dict[str, Any]:
    from harness.errors import BadInputError
    from harness.models import get_spec, status

    row: dict[str, Any] = {"setting": setting, "name": name, "size_bytes": None, "detail": ""}
    try:
        spec = get_spec(name)
    except BadInputError as error:
        path = Path(name).expanduser()
        if path.exists():
            return {**row, "state": "pulled", "folder": str(path.parent), "problem": ""}
        if path.suffix or len(path.parts) > 1:
            problem = f"{setting}: there is no file {path}."
            return {**row, "state": "unknown", "folder": "", "problem": problem}
        return {**row, "state": "unknown", "folder": "", "problem": f"{setting}: {error}"}
    now = status(spec.name)
    row |= {"name": spec.name, "size_bytes": spec.size_bytes, "detail": now.detail}
    problem = ""
    if setting == "engine.model" and settings.engine.name not in _READERS.get(spec.kind, ()):
        problem = (
            f"The engine {settings.engine.name} does not read {spec.name} "
            f"({spec.kind}); name another engine.model."
        )
    return {**row, "state": now.state, "folder": str(now.folder), "problem": problem}


def _servers(settings: Settings, online: bool) -> list[dict[str, Any]]:
    from harness.settings import without_login

    needed = settings.engine.name == "openai"
    places = [("search.url", settings.search.url, False)]
    if needed:
        places.append(("engine.server", settings.engine.server, True))
    rows = []
    for setting, url, matters in places:
        state, detail = _ask(url) if online else ("not asked", "'hotseat doctor --online' does")
        shown = without_login(url)
        problem = f"No server answers at {setting} {shown}: {detail}." if state == "silent" else ""
        if matters and state == "answers":  # somebody is there: is it a model server of ours?
            problem = _refusal(settings)
        rows.append(
            {
                "setting": setting,
                "url": shown,
                "state": state,
                "detail": detail,
                "problem": problem if matters else "",
            }
        )
    return rows


def _refusal(settings: Settings) -> str:
    """Return why the engine can't use the server that answers, or an empty string."""
    from harness.engines.availability import check_server
    from harness.errors import HotseatError

    try:
        check_server(settings.engine, timeout_s=SERVER_TIMEOUT_S)
    except HotseatError as error:
        return str(error)
    return ""


def _ask(url: str) -> tuple[str, str]:
    """Return whether a server answers, and how; within seconds, whatever it does."""
    outcome: list[tuple[str, str]] = []
    thread = threading.Thread(target=lambda: outcome.append(_request(url)), daemon=True)
    thread.start()
    thread.join(2 * SERVER_TIMEOUT_S)
    return outcome[0] if outcome else ("silent", f"no answer within {2 * SERVER_TIMEOUT_S:.0f} s")


def _request(url: str) -> tuple[str, str]:
    import httpx

    started = time.monotonic()
    try:
        with httpx.stream("GET", url, timeout=SERVER_TIMEOUT_S) as response:
            spent_ms = (time.monotonic() - started) * 1000
            # Any answer shows that somebody is there, also "not found" and "log in".
            return "answers", f"status {response.status_code} after {spent_ms:.0f} ms"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
        return "silent", (str(error) or type(error).__name__).rstrip(".")


def _changed(resolved: Resolved) -> dict[str, dict[str, Any]]:
    from harness.settings import without_login

    values = resolved.settings.flat()
    return {
        name: {
            "value": without_login(value),
            "origin": origin,
        }
        for name, origin in resolved.origins.items()
        if origin != "default"
        for value in (values[name],)
    }
