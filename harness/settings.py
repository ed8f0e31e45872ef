"""Every parameter, once: defaults, presets, layers that override, provenance.

Layers, later wins: defaults, preset, what a corpus was recorded with,
``hotseat.toml``, environment (``HOTSEAT_RETRIEVAL_KEEP=60``), ``--set
retrieval.keep=60``.  An unknown name is an error that offers the nearest one.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from harness.errors import SettingError, nearest_name
from harness.setting_groups import (
    EngineSettings,
    FetchSettings,
    Group,
    PlaySettings,
    PromptSettings,
    RetrievalSettings,
    SearchSettings,
    TimeSettings,
)

__all__ = [
    "PRESETS",
    "EngineSettings",
    "FetchSettings",
    "PlaySettings",
    "PromptSettings",
    "Resolved",
    "RetrievalSettings",
    "SearchSettings",
    "Settings",
    "current",
    "known_names",
    "override",
    "parse_assignment",
    "resolve",
    "without_login",
]

_MAX_TOML_BYTES = 2**20
_LOGIN = re.compile(r"(?<=//)[^/\s]*@")


class Settings(Group):
    """All settings, in groups."""

    search: SearchSettings = SearchSettings()
    fetch: FetchSettings = FetchSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    engine: EngineSettings = EngineSettings()
    prompt: PromptSettings = PromptSettings()
    time: TimeSettings = TimeSettings()
    play: PlaySettings = PlaySettings()

    def get(self, name: str) -> Any:
        """Return the value of a dotted name such as ``retrieval.keep``."""
        group, _, leaf = name.partition(".")
        return getattr(getattr(self, group), leaf)

    def flat(self) -> dict[str, Any]:
        """Return all values by dotted name, as JSON values."""
        dump = self.model_dump(mode="json")
        return {f"{group}.{leaf}": dump[group][leaf] for group in dump for leaf in dump[group]}


# A 7B model on a GPU reads a thousand tokens in a fraction of a second, where the
# default's two cores take twenty, and makes good use of more passages.  The
# window holds them, the rules with the solved example, and the answer.
_GPU: dict[str, Any] = {
    "engine.name": "exllamav2",
    "engine.model": "qwen2.5-7b-instruct-gptq-int4",
    "engine.context_window": 4_096,
    "retrieval.encoder": "minilm-l6-v2",
    "retrieval.reranker": "ms-marco-minilm-l-6-v2",
    "retrieval.device": "cuda",
    "retrieval.context_tokens": 1_500,
    "retrieval.max_passages": 10,
}

PRESETS: dict[str, dict[str, Any]] = {"cpu": {}, "gpu": _GPU}

# Read by other parts of the program, not settings of a run.
_RESERVED_ENV = frozenset(
    {"HOTSEAT_HOME", "HOTSEAT_DEBUG", "HOTSEAT_SERVER_KEY"}
    | {"HOTSEAT_REQUIRE_MODELS", "HOTSEAT_REQUIRE_BROWSER", "HOTSEAT_TEST_HOME"}  # by our tests
    | {"HOTSEAT_QUIZ_USER", "HOTSEAT_QUIZ_PASSWORD"}
)

# What a corpus may bring along: how its recording was made.  Nothing else in
# a shared corpus gets to steer the reader's machine.
CORPUS_GROUPS = ("search", "fetch")


@dataclass(frozen=True, slots=True)
class Resolved:
    """Effective settings and, by dotted name, the layer each value came from."""

    settings: Settings
    origins: Mapping[str, str]


def known_names() -> tuple[str, ...]:
    """Return the dotted names of all settings."""
    names: list[str] = []
    for group, info in Settings.model_fields.items():
        model = info.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        names.extend(f"{group}.{leaf}" for leaf in model.model_fields)
    return tuple(names)


def describe(name: str) -> str:
    """Return the one-sentence description of a setting."""
    group, _, leaf = name.partition(".")
    model = Settings.model_fields[group].annotation
    assert isinstance(model, type)
    assert issubclass(model, BaseModel)
    info = model.model_fields[leaf]
    text = info.description or ""
    choices = get_args(info.annotation) if "Literal" in str(info.annotation) else ()
    return f"{text} ({', '.join(map(str, choices))})" if len(choices) > 1 else text


def parse_assignment(text: str) -> tuple[str, Any]:
    """Split ``name=value``; the value is read as JSON where it is JSON.

    Raises :class:`~harness.errors.SettingError` without an equals sign.
    """
    name, sep, raw = text.partition("=")
    if not sep or not name.strip():
        raise SettingError(
            f"'{text}' is not a setting.", remedy="Write it as name=value: retrieval.keep=60."
        )
    return name.strip(), _parse_value(raw.strip())


def _parse_value(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):  # no JSON, or more digits or brackets than can be read
        return raw


def resolve(
    *,
    preset: str = "cpu",
    corpus: Mapping[str, Any] | None = None,
    file: Path | None = None,
    env: Mapping[str, str] | None = None,
    assignments: Mapping[str, Any] | None = None,
) -> Resolved:
    """Lay all layers over each other and return values with their origins.

    ``corpus`` holds dotted names from a corpus manifest; only the groups in
    ``CORPUS_GROUPS`` are taken from it.  ``file`` is a ``hotseat.toml``
    (``None`` takes the one in the working folder, if any), ``env`` the environment
    (``None`` reads the process's own).

    Raises :class:`~harness.errors.SettingError` for an unknown preset or name,
    a value that does not fit, or a ``hotseat.toml`` that can't be read.
    """
    if preset not in PRESETS:
        raise SettingError(
            f"Unknown preset '{preset}'.{nearest_name(preset, PRESETS)}",
            remedy=f"The presets are {', '.join(PRESETS)}.",
        )
    layers: list[tuple[str, Mapping[str, Any]]] = [(f"preset {preset}", PRESETS[preset])]
    if corpus:
        kept = {k: v for k, v in corpus.items() if k.partition(".")[0] in CORPUS_GROUPS}
        layers.append(("corpus", kept))
    path = file if file is not None else Path("hotseat.toml")
    if file is not None or os.path.lexists(path):
        layers.append((str(path), _read_toml(path)))
    layers.append(("environment", _read_env(os.environ if env is None else env)))
    layers.append(("--set", assignments or {}))

    values: dict[str, Any] = {}
    origins = dict.fromkeys(known_names(), "default")
    for origin, layer in layers:
        for name, value in layer.items():
            _check_name(name, origin)
            values[name] = value
            origins[name] = origin
    return Resolved(_build(values, origins), origins)


def _check_name(name: str, origin: str) -> None:
    known = known_names()
    if name not in known:
        raise SettingError(
            f"Unknown setting '{name}' ({origin}).{nearest_name(name, known)}",
            remedy="'hotseat settings' lists them all.",
        )


def _build(values: Mapping[str, Any], origins: Mapping[str, str]) -> Settings:
    nested: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        group, _, leaf = name.partition(".")
        nested.setdefault(group, {})[leaf] = value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][:2])
        raise SettingError(
            f"Setting '{name}' ({origins.get(name, 'override')}) can't be "
            f"{first['input']!r}: {first['msg'].lower()}.",
            remedy="'hotseat settings' shows what each one means.",
        ) from None


def without_login(value: Any) -> Any:
    """Return a setting's value as it may be shown and written: no password in an address."""
    return _LOGIN.sub("", value) if isinstance(value, str) else value


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        if os.path.lexists(path) and not path.is_file():  # a pipe would make us wait
            raise SettingError(
                f"{path} is there, but is no file: it is a folder, a pipe or a broken link.",
                remedy="Remove it, or put a file in its place.",
            )
        with path.open("rb") as file:
            content = file.read(_MAX_TOML_BYTES + 1)
        if len(content) > _MAX_TOML_BYTES:
            raise SettingError(f"{path} is larger than {_MAX_TOML_BYTES >> 20} MiB.")
        data = tomllib.loads(content.decode())
    except OSError as error:
        raise SettingError(f"Can't read {path}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path} is not valid TOML: {error}.") from None
    flat: dict[str, Any] = {}
    for group, leaves in data.items():
        if isinstance(leaves, dict):
            flat.update({f"{group}.{leaf}": value for leaf, value in leaves.items()})
        else:
            flat[group] = leaves
    return flat


def _read_env(env: Mapping[str, str]) -> dict[str, Any]:
    by_variable = {f"HOTSEAT_{name.upper().replace('.', '_')}": name for name in known_names()}
    found: dict[str, Any] = {}
    for variable in sorted(env):
        if not variable.startswith("HOTSEAT_") or variable in _RESERVED_ENV:
            continue
        if variable not in by_variable:
            raise SettingError(
                f"Unknown setting in the environment: {variable}."
                f"{nearest_name(variable, [*by_variable, *sorted(_RESERVED_ENV)])}",
                remedy="Unset it, or see 'hotseat settings'.",
            )
        found[by_variable[variable]] = _parse_value(env[variable])
    return found


_current: ContextVar[Settings | None] = ContextVar("hotseat_settings", default=None)


def current() -> Settings:
    """Return the settings in force: the innermost override, else the resolved ones."""
    return _current.get() or resolve().settings


@contextmanager
def override(changes: Mapping[str, Any]) -> Iterator[Settings]:
    """Change settings by dotted name inside a ``with`` block.

    The former values are back after the block, also when it raises.  Raises
    :class:`~harness.errors.SettingError` for an unknown name or a bad value.
    """
    for name in changes:
        _check_name(name, "override")
    base = current().flat()
    token = _current.set(_build({**base, **changes}, dict.fromkeys(changes, "override")))
    try:
        yield current()
    finally:
        _current.reset(token)
