"""The tables after live games, on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.report._drawing import Pen
from harness.report._words import degradation_words

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["prize_text", "render_games"]

_Line = tuple[str, str]
_GAMES_SHOWN = 40
_BOARD_SHOWN = 5


def prize_text(amount: float) -> str:
    """Return a prize for people: ``1,024,000``."""
    return f"{amount:,.0f}"


def render_games(document: Mapping[str, Any], console: Console, *, budget_s: float) -> None:
    """Print the document of played games as tables; see ``hotseat play --json``."""
    from rich.text import Text

    pen = Pen.of(console)
    for text, style in _lines(document, pen, budget_s):
        console.print(Text(text.rstrip(), style=style), soft_wrap=True)


def _lines(document: Mapping[str, Any], pen: Pen, budget_s: float) -> Iterator[_Line]:
    games = [*document["settled"], *document["games"]]
    if not games:
        yield "No game was played.", ""
        return
    yield from _games(games, pen)
    yield from _competitions(document["by_competition"], pen)
    yield from _answers(document, pen)
    yield from _went_wrong(document, pen)
    yield from _times(document, pen, budget_s)
    yield from _boards(document, pen)
    for problem in document["problems"]:
        yield f"Problem: {pen.text(problem)}", "red"
    if document["corpus"]:
        yield f"recorded in    {pen.text(document['corpus'])}", ""
    if document["replay"]:
        yield f"replay it      {pen.text(document['replay'])}", "bold"


def _title(text: str, pen: Pen, head: str = "") -> Iterator[_Line]:
    yield "", ""
    yield f"{text:<{_LABEL}}{head}", "bold"
    yield ("─" if pen.fine else "-") * min(pen.width, 80), ""


_LABEL = 31


def _games(games: list[Mapping[str, Any]], pen: Pen) -> Iterator[_Line]:
    head = f"{'mode':<7}{'level':>7} {'prize':>10}  {'right':>7}  end"
    yield from _title("Games", pen, head)
    for game in games[-_GAMES_SHOWN:]:
        level = f"{game['level_reached']}/{game['max_level']}"
        right = f"{game['right']}/{game['judged']}"
        again = ", played on" if game["resumed"] else ""
        yield (
            f"{pen.cell(game['competition'], _LABEL - 1)} {game['mode']:<7}{level:>7} "
            f"{prize_text(game['prize']):>10}  {right:>7}  {game['end']}{again}",
            "green" if game["end"] == "won" else "",
        )
    if len(games) > _GAMES_SHOWN:
        yield f"and {len(games) - _GAMES_SHOWN} before them", ""


def _competitions(rows: list[Mapping[str, Any]], pen: Pen) -> Iterator[_Line]:
    if sum(row["games"] for row in rows) < 2:
        return
    head = f"{'mode':<7}{'games':>5} {'best':>5} {'mean':>5}  {'best prize':>10}"
    yield from _title("Levels reached", pen, head)
    for row in rows:
        name = pen.cell(row["competition"], _LABEL - 1)
        levels = f"{row['games']:>5} {row['best_level']:>5} {row['mean_level']:>5.1f}"
        yield f"{name} {row['mode']:<7}{levels}  {prize_text(row['best_prize']):>10}", ""


def _answers(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    accuracy = document["accuracy"]
    if not accuracy["judged"]:
        return
    head = f"{'right':>7} {'accuracy':>10}   95 % interval"
    yield from _title("Answers", pen, head)
    if len(document["by_category"]) > 1:
        for name, group in document["by_category"].items():
            yield _answer_row(name, group, pen), ""
    yield _answer_row("all questions judged", accuracy, pen), "bold"
    for name, group in document["by_basis"].items():
        yield _answer_row(f"  {name}", group, pen), ""
    yield "", ""
    judged, late = accuracy["judged"], document["late"]
    yield f"{judged} questions judged, {late} of them late. A game ends at its first error, so", ""
    yield "this is over all questions asked; the games' own shares are not averaged.", ""


def _answer_row(name: str, group: Mapping[str, Any], pen: Pen) -> str:
    right = f"{group['right']}/{group['judged']}"
    share = "" if group["estimate"] is None else f"{100 * group['estimate']:.1f} %"
    width = max(12, min(24, pen.width - 68))
    drawn = ""
    if group["estimate"] is not None:
        drawn = pen.whisker(group["estimate"], group["lower"], group["upper"], width)
    span = pen.span(group["lower"], group["upper"]) if group["judged"] else ""
    return f"{pen.cell(name, _LABEL)}{right:>7} {share:>10}   {span:<14}  {drawn}"


def _went_wrong(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    codes = document["degradations"]
    if not codes:
        return
    yield from _title("What went less than well, in how many questions", pen)
    for code, count in codes.items():
        yield f"{count:>5}  {pen.text(degradation_words(code))}", ""


def _times(document: Mapping[str, Any], pen: Pen, budget_s: float) -> Iterator[_Line]:
    stages = document["stages"]
    if not stages:
        return
    width = max(12, min(24, pen.width - 52))
    head = f"{'n':>4} {'median':>8} {'p90':>8} {'max':>8}  0{budget_s:>{width - 3}.0f} s"
    yield from _title("Seconds per question, live", pen, head)
    rows = [(stage, times) for stage, times in stages.items()]
    rows.append(("from serving to answer", document["seconds"]))
    for stage, times in rows:
        bar = pen.bar(times["median_s"], times["p90_s"], times["max_s"], budget_s, width)
        name = f"{pen.cell(stage, _LABEL)}{times['n']:>4}"
        values = " ".join(f"{times[key]:>8.2f}" for key in ("median_s", "p90_s", "max_s"))
        yield f"{name} {values}  {bar}", ""
    yield f"Bars end at the budget of {budget_s:g} s: {pen.legend()}.", ""


def _boards(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    for board in document["leaderboards"]:
        entries = board["entries"]
        if not entries:
            continue
        yield from _title(f"Leaderboard: {pen.text(board['competition'])}, {board['mode']}", pen)
        mine = document["player"]
        shown = list(enumerate(entries, start=1))
        kept = shown[:_BOARD_SHOWN]
        kept += [one for one in shown[_BOARD_SHOWN:] if one[1]["username"] == mine]
        for place, entry in kept:
            mark = "<- you" if entry["username"] == mine else ""
            name = pen.cell(entry["username"], 24)
            score = f"{prize_text(entry['score']):>10}  {entry['total_trials']:>4} games"
            line = f"{place:>3}  {name} level {entry['reached_level']:>3}  {score}  {mark}"
            yield line, "bold" if mark else ""
