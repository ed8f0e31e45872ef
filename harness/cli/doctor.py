"""``hotseat doctor``: what can run on this machine, and what brings the rest."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import typer

from harness.cli import _console
from harness.cli._options import JSON, PRESET, SET
from harness.cli.settings import assignments

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["register"]

_KINDS = ("engine", "encoder", "reranker", "transcriber")
_FETCHED = "will be fetched"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(_doctor)


def _doctor(
    preset: str = PRESET,
    sets: list[str] = SET,
    online: bool = typer.Option(
        False, "--online", help="Also ask the servers that the settings name; else no network."
    ),
    as_json: bool = JSON,
) -> None:
    """Say what can run on this machine, and what brings the rest.

    Lists every engine, encoder, reranker and transcriber as ready, or missing
    with the command that brings it. Exit code 0 means that the settings in
    force can run (models that are missing are fetched on first use), 1 that
    they can't; the last line then names what is missing.

    For example:

      hotseat doctor

      hotseat doctor --preset gpu

      hotseat doctor --online --json
    """
    from harness.cli._diagnosis import diagnose
    from harness.settings import resolve

    resolved = resolve(preset=preset, assignments=assignments(sets))
    found = diagnose(resolved, preset=preset, online=online)
    if as_json:
        _console.print_json(found)
    else:
        if sys.stdout.isatty():
            _show_tables(found)
        else:
            for line in _lines(found):
                typer.echo(_console.printable(line))
        typer.echo(_console.printable(_verdict(found)))
    if not found["ready"]:
        raise typer.Exit(1)


def _verdict(found: dict[str, Any]) -> str:
    if found["problems"]:
        return f"Not ready (preset {found['preset']}): {' '.join(found['problems'])}"
    fetched = [model["name"] for model in found["models"] if model["state"] != "pulled"]
    later = f" First use fetches {', '.join(fetched)}." if fetched else ""
    return f"Ready: the settings in force (preset {found['preset']}) can run.{later}"


def _state(part: dict[str, Any]) -> str:
    return "ready" if part["ready"] else "missing"


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    machine, home = found["machine"], found["home"]
    memory = machine["free_memory_bytes"]
    free = f", {_console.size_text(memory)} of memory free" if memory is not None else ""
    cards = ", ".join(
        f"{gpu['name']} ({_console.size_text(gpu['free_bytes'])} free)" for gpu in machine["gpus"]
    )
    yield "hotseat", f"{machine['hotseat']}, Python {machine['python']}"
    yield (
        "machine",
        (
            f"{machine['platform']} {machine['arch']}, "
            f"{_console.counted(machine['cores'], 'core')}{free}"
        ),
    )
    yield "GPU", cards or "no NVIDIA GPU found"
    yield (
        "home",
        (
            f"{home['folder']}, {'writable' if home['writable'] else 'NOT writable'}, "
            f"{_console.size_text(home['free_bytes'])} free"
        ),
    )


def _model_text(model: dict[str, Any]) -> str:
    state = {"missing": _FETCHED, "partial": f"{_FETCHED} (begun)"}.get(
        model["state"], model["state"]
    )
    size = _console.size_text(model["size_bytes"]) if model["size_bytes"] else "size unknown"
    if model["state"] == "damaged":
        return f"damaged: {model['detail']}; get it with: hotseat models pull {model['name']}"
    if state.startswith(_FETCHED):
        return f"{state}, {size}; get it now with: hotseat models pull {model['name']}"
    return "here" if state == "pulled" else state


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the report as plain lines, for pipes and files."""
    for name, text in _facts(found):
        yield f"{name}: {text}"
    for part in found["parts"]:
        mark = " (in use)" if part["in_use"] else ""
        get = f" Get it with: {part['install']}" if part["install"] else ""
        limits = f" [{part['limits']}]" if part["limits"] else ""
        yield f"{part['kind']} {part['name']}{mark}: {_state(part)}, {part['detail']}{limits}{get}"
    for model in found["models"]:
        yield f"model {model['name']} ({model['setting']}): {_model_text(model)}"
    for server in found["servers"]:
        yield f"server {server['setting']} {server['url']}: {server['state']}, {server['detail']}"
    for name, entry in found["changed_settings"].items():
        value = json.dumps(entry["value"], ensure_ascii=False)
        yield f"setting {name} = {value} ({entry['origin']})"


def _show_tables(found: dict[str, Any]) -> None:
    """Show the report on a terminal: a table for each kind of part."""
    console = _console.stdout()
    _table(console, "", (), _facts(found))
    for kind in _KINDS:
        rows = (
            (
                ("* " if part["in_use"] else "  ") + part["name"],
                _state(part),
                part["detail"],
                part["install"],
                part["limits"],
            )
            for part in found["parts"]
            if part["kind"] == kind
        )
        _table(console, f"{kind}s", ("Name", "State", "Detail", "Get it with", "Limits"), rows)
    models = ((m["name"], m["setting"], _model_text(m)) for m in found["models"])
    _table(console, "models in use", ("Name", "Setting", "State"), models)
    servers = ((s["setting"], s["url"], s["state"], s["detail"]) for s in found["servers"])
    _table(console, "servers", ("Setting", "Address", "State", "Detail"), servers)
    changed = [
        (name, json.dumps(entry["value"], ensure_ascii=False), entry["origin"])
        for name, entry in found["changed_settings"].items()
    ]
    if changed:
        _table(console, "settings changed", ("Setting", "Value", "From"), changed)
    console.print("* in use", style="dim")


def _table(
    console: Console,
    title: str,
    headings: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_header=bool(headings))
    for heading in headings or ("", ""):
        table.add_column(heading, overflow="fold")
    styles = {"ready": "green", "missing": "yellow", "here": "green"}
    for row in rows:
        cells = [_console.printable(cell) for cell in row]
        table.add_row(*(Text(cell, style=styles.get(cell, "")) for cell in cells))
    if title:
        console.print(Text(f"\n{title}", style="bold underline"))
    console.print(table)
