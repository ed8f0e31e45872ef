"""What commands share to speak with people: streams, numbers, progress.

Results go to stdout; everything said on the way there goes to stderr, as a
live display on a terminal and as plain lines elsewhere.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from harness.models import PullEvent
    from harness.question_file import LineProblem

__all__ = [
    "Counter",
    "PullDisplay",
    "Terminated",
    "counted",
    "duration_text",
    "print_json",
    "printable",
    "say",
    "say_some",
    "size_text",
    "stderr",
    "stdout",
    "tell_line_problems",
    "warn",
]

_PLAIN_EVERY_S = 15.0
_LINES_SHOWN = 10


def say(text: str) -> None:
    """Tell something on the way, on stderr."""
    typer.echo(printable(text), err=True)


def warn(text: str) -> None:
    """Tell something that should not be overlooked, on stderr; red on a terminal."""
    typer.secho(printable(text), err=True, fg="red", bold=True)


def say_some(lines: Sequence[object]) -> None:
    """Tell the first lines, and how many more there are."""
    for line in lines[:_LINES_SHOWN]:
        say(str(line))
    if len(lines) > _LINES_SHOWN:
        say(f"… and {len(lines) - _LINES_SHOWN} more.")


def tell_line_problems(problems: Sequence[LineProblem]) -> None:
    """Tell what is wrong with lines of a question file, and how many of them are lost."""
    say_some(problems)
    lost = sum(not problem.warning for problem in problems)
    if lost:
        warn(f"{counted(lost, 'line')} of the question file can't be used; the rest is.")


def print_json(document: Any) -> None:
    """Print the one machine-readable document on stdout."""
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2))


def stdout() -> Console:
    """Return a console for results."""
    from rich.console import Console

    return Console(highlight=False)


def stderr() -> Console:
    """Return a console for progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def printable(text: str) -> str:
    """Return text without control characters, so that no recorded text steers a terminal."""
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 line``, ``2 lines``; ``plural`` where that is no 's'."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


class Terminated:
    """Makes a request to terminate (SIGTERM) end a command the way Ctrl-C does.

    Use it as a context manager around what handles :class:`KeyboardInterrupt`;
    ``exit_code`` is then the one to leave with: 143 or 130.
    """

    def __init__(self) -> None:
        self.exit_code = 130
        self._former: Any = None
        self._set = False

    def __enter__(self) -> Terminated:
        try:
            self._former = signal.signal(signal.SIGTERM, self._stop)
            self._set = True
        except ValueError:  # not the main thread, where no signals arrive
            pass
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._set:
            signal.signal(signal.SIGTERM, self._former or signal.SIG_DFL)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.exit_code = 143
        usual = signal.getsignal(signal.SIGINT)
        if callable(usual):  # an event loop has its own, which ends its tasks first
            usual(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as in a shell's background jobs
            raise KeyboardInterrupt


def size_text(size_bytes: float) -> str:
    """Return a size for people, in powers of 1000."""
    for unit in ("B", "kB", "MB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} GB"


def duration_text(seconds: float) -> str:
    """Return a duration for people: ``45 s``, ``2 min 05 s``, ``1 h 10 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


class Counter:
    """Progress over a known number of steps, on stderr.

    On a terminal a bar; elsewhere a line at about every eighth of the way, or
    after a while, whichever comes first.  Use it as a context manager.
    """

    def __init__(self, label: str, total: int, done: int = 0) -> None:
        self._label = label
        self._total = total
        self._said = done
        self._said_at_s = time.monotonic()
        self._bars: Bars | None = None
        self._task: TaskID | None = None
        if sys.stderr.isatty():
            self._bars = _bars()
            self._task = self._bars.add_task(label, total=total, completed=done, note="")

    def __enter__(self) -> Counter:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def moved(self, done: int, note: str) -> None:
        """Tell that ``done`` steps are over; ``note`` is shown beside."""
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=done, note=note)
            return
        now_s = time.monotonic()
        due = done - self._said >= max(1, self._total // 8)
        if due or done == self._total or now_s - self._said_at_s >= _PLAIN_EVERY_S:
            self._said, self._said_at_s = done, now_s
            say(f"{self._label}: {done}/{self._total}{', ' + note if note else ''}")


class PullDisplay:
    """Shows downloads of models on stderr; hand :meth:`hear` to a pull.

    Shows nothing at all while there is nothing to download.
    """

    def __init__(self) -> None:
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._tenth: dict[str, int] = {}

    def __enter__(self) -> PullDisplay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def hear(self, event: PullEvent) -> None:
        """Show one piece of news about a pull."""
        if event.note:
            self._tell(f"{event.model}: {event.note}")
        elif sys.stderr.isatty():
            self._move_bar(event)
        elif event.total_bytes:
            tenth = event.done_bytes * 10 // event.total_bytes
            if tenth != self._tenth.get(event.model):
                self._tenth[event.model] = tenth
                say(f"{event.model}: {_amount(event)}")

    def _tell(self, text: str) -> None:
        if self._bars is None:
            say(text)
        else:  # above the bars, which would otherwise be drawn over it
            self._bars.console.print(printable(text), markup=False)

    def _move_bar(self, event: PullEvent) -> None:
        if self._bars is None:
            self._bars = _bars()
            self._bars.start()
        task = self._tasks.get(event.model)
        if task is None:
            task = self._bars.add_task(event.model, total=event.total_bytes, note="")
            self._tasks[event.model] = task
        self._bars.update(
            task, completed=event.done_bytes, total=event.total_bytes, note=_amount(event)
        )


def _amount(event: PullEvent) -> str:
    done = size_text(event.done_bytes)
    return f"{done} of {size_text(event.total_bytes)}" if event.total_bytes else done


def _bars() -> Bars:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=stderr(),
    )
