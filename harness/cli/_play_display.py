"""What ``hotseat play`` shows while a game is played."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from harness.cli import _console
from harness.games.records import GameListener, GamePlan, GameRecord, PlayedQuestion
from harness.report.games import prize_text

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

    from harness.models import PullEvent

__all__ = ["PlayDisplay", "verdict_line"]

_REFRESHES_A_SECOND = 4
_TEXT_CHARS = 400
_OPTION_CHARS = 100


class PlayDisplay(GameListener):
    """On a terminal the question at hand, its stages and the clock; elsewhere a line a verdict.

    All on stderr.  Use it as a context manager.
    """

    def __init__(self, *, budget_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._budget_s = budget_s
        self._now = now
        self._live: Live | None = None
        self._plan: GamePlan | None = None
        self._record: GameRecord | None = None
        self._question: PlayedQuestion | None = None
        self._stages: dict[str, float] = {}
        self._query = ""
        self._began_s = 0.0
        self._left_s: float | None = None
        self._thinking = False
        self._pulls = _console.PullDisplay()
        self._pulled = ""

    def __enter__(self) -> PlayDisplay:
        if sys.stderr.isatty():
            from rich.live import Live

            self._live = Live(
                console=_console.stderr(),
                get_renderable=self._drawn,
                refresh_per_second=_REFRESHES_A_SECOND,
                transient=True,
            )
            self._live.start()
        else:
            _console.say("Logging in and loading the models.")
        return self

    def pulling(self, event: PullEvent) -> None:
        """Show a download of a model."""
        if self._live is None:
            self._pulls.hear(event)
        elif event.note:
            self._line(f"{event.model}: {event.note}")
        else:
            done = _console.size_text(event.done_bytes)
            total = event.total_bytes
            of = f" of {_console.size_text(total)}" if total else ""
            self._pulled = f"{event.model}: {done}{of}"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def planned(self, plan: GamePlan) -> None:
        """Remember which game it is."""
        self._plan = plan

    def started(self, record: GameRecord, *, resumed: bool) -> None:
        """Say that a game begins."""
        self._record, self._question = record, None
        if resumed:
            self._line(
                f"Going on with game {record.session_id}, {record.competition}, left before."
            )
        elif self._plan is not None:
            number = f"Game {self._plan.number} of {self._plan.total}: "
            self._line(f"{number}{record.competition}, {record.mode}")

    def asked(self, record: GameRecord, question: PlayedQuestion, left_s: float | None) -> None:
        """Show the question."""
        self._record, self._question = record, question
        self._stages, self._query = {}, ""
        self._began_s, self._left_s, self._thinking = self._now(), left_s, True

    def stage(self, name: str, seconds: float) -> None:
        """Show what a stage took."""
        self._stages[name] = self._stages.get(name, 0.0) + seconds

    def noted(self, facts: Mapping[str, Any]) -> None:
        """Show what is searched for."""
        if isinstance(facts.get("query"), str):
            self._query = facts["query"]

    def answering(self, record: GameRecord, question: PlayedQuestion) -> None:
        """Show what leaves."""
        self._record, self._question, self._thinking = record, question, False

    def judged(self, record: GameRecord, question: PlayedQuestion) -> None:
        """Say the verdict."""
        self._record, self._question = record, question
        self._line(verdict_line(question))

    def ended(self, record: GameRecord) -> None:
        """Say how the game ended."""
        self._record, self._question = record, None
        why = f" ({record.problem})" if record.problem else ""
        self._line(
            f"  {record.end.value}: level {record.level_reached} of {record.max_level}, "
            f"prize {prize_text(record.prize)}{why}"
        )

    def problem(self, sentence: str) -> None:
        """Say what went less than well."""
        self._line(sentence)

    def _line(self, text: str) -> None:
        if self._live is None:
            _console.say(text)
        else:  # above the live part, which would otherwise be drawn over it
            self._live.console.print(_console.printable(text), markup=False)

    def _drawn(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        record, question = self._record, self._question
        if record is None:
            text = f"Logging in and loading the models … {self._pulled}"
            return Group(Text(text, style="dim"))
        if question is None:
            return Group(Text(f"{record.competition}, waiting for a question …", style="dim"))
        parts = [Text(self._head(record, question), style="bold"), Text(_short(question.text))]
        for place, option in enumerate(question.options):
            chosen = question.chosen == option
            mark = "▶" if chosen else " "
            style = "bold cyan" if chosen else ""
            parts.append(Text(f" {mark} {'ABCDEFGH'[place % 8]}  {_cut(option)}", style=style))
        if self._query:
            parts.append(Text(f"searching: {_cut(self._query)}", style="dim"))
        parts += [Text(line) for line in self._stage_lines()]
        parts.append(self._clock())
        return Group(*parts)

    def _head(self, record: GameRecord, question: PlayedQuestion) -> str:
        number = f"Game {self._plan.number}/{self._plan.total}  " if self._plan else ""
        return _console.printable(
            f"{number}{record.competition}, {record.mode}   level {question.level} of "
            f"{record.max_level}   {prize_text(record.prize)} so far"
        )

    def _stage_lines(self) -> list[str]:
        lines = []
        for name, seconds in self._stages.items():
            if seconds >= 0.005:
                cells = min(30, round(30 * seconds / self._budget_s))
                lines.append(f"   {name:<10}{seconds:>6.2f} s  {'█' * cells}")
        return lines

    def _clock(self) -> Any:
        from rich.text import Text

        spent_s = self._now() - self._began_s
        text = f"{spent_s:5.1f} s of {self._budget_s:g} s"
        left_s = None if self._left_s is None else self._left_s - spent_s
        if left_s is not None:
            text += f", {max(0.0, left_s):.0f} s on the server's clock"
        late = spent_s > self._budget_s
        return Text(text, style="red bold" if late else "dim")


def verdict_line(question: PlayedQuestion) -> str:
    """Return one line on a question that was judged."""
    if question.timed_out:
        verdict = "late "
    else:
        verdict = {True: "right", False: "wrong", None: "?    "}[question.correct]
    slowest = max(question.seconds.items(), key=lambda item: item[1], default=None)
    mostly = f", {slowest[0]} {slowest[1]:.1f} s" if slowest and slowest[1] >= 0.05 else ""
    basis = f", {question.basis.value}" if question.basis else ""
    notes = f"; {'; '.join(question.notes)}" if question.notes else ""
    chosen = _cut(question.chosen or "no answer", 48)
    return (
        f"  {question.level:>2}  {verdict}  {chosen}  "
        f"({question.taken_s:.1f} s{mostly}{basis}){notes}"
    )


def _short(text: str) -> str:
    return _cut(text, _TEXT_CHARS)


def _cut(text: str, chars: int = _OPTION_CHARS) -> str:
    text = _console.printable(" ".join(text.split()))
    return text if len(text) <= chars else f"{text[: chars - 1]}…"
