"""Options that several commands share."""

from __future__ import annotations

import typer

__all__ = ["JSON", "PRESET", "SET", "complete_preset"]

JSON = typer.Option(False, "--json", help="Print one JSON document on stdout.")
SET = typer.Option(
    [], "--set", "-s", metavar="NAME=VALUE", help="Change a setting; may be repeated."
)


def complete_preset(incomplete: str) -> list[str]:
    """Return the presets that begin with what was typed so far."""
    from harness.settings import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


PRESET = typer.Option(
    "cpu",
    "--preset",
    "-p",
    metavar="NAME",
    help="Preset of settings to start from: cpu (embedded models), or gpu (a 7B model on an "
    "NVIDIA GPU).",
    autocompletion=complete_preset,
)
