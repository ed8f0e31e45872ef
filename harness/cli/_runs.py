"""Names of runs and amounts, as they are typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.errors import MissingError, nearest_name

if TYPE_CHECKING:
    from harness.scoring.run_table import RunTable

__all__ = ["load_runs", "parse_points", "parse_times", "run_path"]

_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})")
_POINTS = re.compile(rf"{_AMOUNT.pattern}\s*(pp|points?|%)?", re.IGNORECASE)
_TIMES = re.compile(rf"{_AMOUNT.pattern}\s*x?", re.IGNORECASE)


def run_path(text: str) -> Path:
    """Return the folder of a run: a path, or a name inside the folder of runs.

    Raises :class:`~harness.errors.MissingError`, naming the nearest, for
    anything else.
    """
    from harness.replay import runs_folder

    runs = runs_folder()
    for path in (Path(text), runs / text):
        if path.is_dir():
            return path
    known = sorted(path.name for path in runs.iterdir() if path.is_dir()) if runs.is_dir() else []
    raise MissingError(
        f"There is no run '{text}', neither as a folder nor in {runs}.{nearest_name(text, known)}",
        remedy="'hotseat replay' makes one.",
    )


def load_runs(texts: list[str], hint: str) -> list[RunTable]:
    """Return the named runs; one that is named twice is a slip of the hand."""
    from harness.scoring.run_table import load_run

    paths = [run_path(text) for text in texts]
    places = [path.resolve() for path in paths]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise typer.BadParameter(f"names the run {paths[number]} twice", param_hint=hint)
    return [load_run(path) for path in paths]


def parse_points(text: str) -> float:
    """Return a difference of accuracies as a share: ``2pp``, ``2 %`` or ``0.02``."""
    found = _POINTS.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"'{text}' is no difference; write 2pp for two points")
    amount = float(found[1])
    if found[2]:
        amount /= 100
    elif amount >= 1:
        raise typer.BadParameter(f"'{text}' could be a share or points; write {text}pp")
    if amount >= 1:
        raise typer.BadParameter(f"'{text}' is more than there is; write 2pp for two points")
    return amount


def parse_times(text: str) -> float:
    """Return a ratio: ``1.1x`` or ``1.1``."""
    found = _TIMES.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise typer.BadParameter(f"'{text}' is no ratio; write 1.1x for a tenth more")
    return float(found[1])
