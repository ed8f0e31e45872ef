"""``hotseat gate``: whether a run may replace its baseline."""

from __future__ import annotations

import typer

from harness.cli import _console
from harness.cli._options import JSON
from harness.cli._runs import load_runs, parse_points, parse_times

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate")(_gate)


def _gate(
    run: str = typer.Argument(
        ..., metavar="RUN", help="Run folder, or name of a run inside ./runs.", show_default=False
    ),
    baseline: str = typer.Option(
        ..., "--baseline", "-b", metavar="RUN", help="The run to compare with.", show_default=False
    ),
    max_drop: str = typer.Option(
        "0pp", "--max-drop", metavar="POINTS", help="Largest loss of accuracy allowed."
    ),
    max_latency: str | None = typer.Option(
        None, "--max-latency", metavar="TIMES", help="Largest ratio of compute seconds allowed."
    ),
    certain: bool = typer.Option(
        False, "--certain", help="Fail unless the 95 % intervals exclude worse as well."
    ),
    allow_missing: bool = typer.Option(
        False, "--allow-missing", help="Let the run leave out questions of the baseline."
    ),
    as_json: bool = JSON,
) -> None:
    """Fail (exit code 1, one sentence) when a run is worse than its baseline.

    For example:

      hotseat gate runs/new --baseline reports/reference --max-drop 2pp

      hotseat gate runs/new --baseline runs/old --max-drop 2pp --max-latency 1.1x --certain
    """
    from harness.scoring.compare import Design, compare_runs
    from harness.scoring.gate import GateRule, check_gate
    from harness.scoring.verdict import caveats

    rule = GateRule(
        max_drop=parse_points(max_drop),
        max_latency=None if max_latency is None else parse_times(max_latency),
        certain=certain,
        allow_missing=allow_missing,
    )
    before, after = load_runs([baseline, run], "RUN")
    comparison = compare_runs(
        before, after, design=Design(margin=rule.max_drop), names=("the baseline", "the run")
    )
    found = check_gate(comparison, rule)
    machines = [run.manifest.get("machine") for run in (before, after)]
    if rule.max_latency is not None and machines[0] != machines[1]:
        _console.say("Note: the baseline was made on another machine, so its seconds say little.")
    if as_json:
        told = {"passed": found.passed, "sentence": found.sentence}
        _console.print_json({**told, "caveats": caveats(comparison)})
    elif found.passed:
        typer.echo(found.sentence)
    if not found.passed:
        _console.warn(found.sentence)
        raise typer.Exit(1)
