"""``hotseat settings``: what is in force, and where it came from."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import typer

from harness.cli import _console
from harness.cli._options import PRESET, SET

if TYPE_CHECKING:
    from harness.settings import Resolved

__all__ = ["assignments", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("settings")
    def show(
        as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
        preset: str = PRESET,
        sets: list[str] = SET,
    ) -> None:
        """Show every setting: its value, where that came from, what it means.

        Later layers win: defaults, preset, the corpus's own search and fetch
        settings, hotseat.toml, the environment (HOTSEAT_RETRIEVAL_KEEP=60), --set.

        For example:

          hotseat settings

          hotseat settings --set retrieval.keep=60 --json
        """
        from harness.settings import resolve

        resolved = resolve(preset=preset, assignments=assignments(sets))
        if as_json:
            _console.print_json({"preset": preset, "settings": _document(resolved)})
        elif sys.stdout.isatty():
            _show_table(resolved)
        else:
            for name, entry in _document(resolved).items():
                value = json.dumps(entry["value"], ensure_ascii=False)
                typer.echo(f"{name} = {value}  # {entry['origin']}: {entry['description']}")


def assignments(texts: list[str]) -> dict[str, Any]:
    """Return ``--set`` options as settings by name; the last one wins.

    Raises :class:`~harness.errors.SettingError` for one without an equals sign.
    """
    from harness.settings import parse_assignment

    return dict(parse_assignment(text) for text in texts)


def _document(resolved: Resolved) -> dict[str, dict[str, Any]]:
    from harness.settings import describe, without_login

    return {
        name: {
            "value": without_login(value),
            "origin": resolved.origins[name],
            "description": describe(name),
        }
        for name, value in resolved.settings.flat().items()
    }


def _show_table(resolved: Resolved) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("Setting", "Value", "From", "Meaning"):
        table.add_column(heading, overflow="fold")
    last = ""
    for name, entry in _document(resolved).items():
        group = name.partition(".")[0]
        if last and group != last:
            table.add_row()
        last = group
        changed = "bold yellow" if entry["origin"] != "default" else ""
        table.add_row(
            Text(name),
            Text(json.dumps(entry["value"], ensure_ascii=False), style=changed),
            Text(entry["origin"], style=changed),
            Text(entry["description"], style="dim"),
        )
    _console.stdout().print(table)
