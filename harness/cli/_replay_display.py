"""What a replay shows while it runs."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from harness.cli import _console
from harness.replay import Listener

if TYPE_CHECKING:
    from harness.question_file import LineProblem
    from harness.replay import Progress, RunFolder

__all__ = ["ReplayDisplay"]


class ReplayDisplay(Listener):
    """Warnings, then a counter with the time left; all on stderr."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._counter: _console.Counter | None = None
        self._run: Path | None = None
        self._done = 0
        self._total = 0

    def __enter__(self) -> ReplayDisplay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def line_problems(self, problems: tuple[LineProblem, ...]) -> None:
        """Show what is wrong with lines of the question file."""
        _console.tell_line_problems(problems)

    def corpus_problems(self, problems: tuple[str, ...]) -> None:
        """Show what is damaged in the corpus."""
        _console.say_some(problems)
        if problems:
            _console.warn(
                f"The corpus has {_console.counted(len(problems), 'problem')}; "
                "what is damaged was not used. 'hotseat corpus verify' lists them all."
            )

    def loading(self, total: int) -> None:
        """Say what is coming, so that nobody waits for models before an empty screen."""
        _console.say(f"Loading the models; then {_console.counted(total, 'question')} to play.")

    def started(self, folder: RunFolder, total: int) -> None:
        """Show that play begins, and the counter."""
        self._run, self._total, self._done = folder.path, total, len(folder.rows)
        if folder.rows or folder.dropped_lines:
            _console.say(f"Resuming {folder.path}: {len(folder.rows)} of {total} are answered.")
        self._counter = self._stack.enter_context(
            _console.Counter("questions", total, len(folder.rows))
        )

    def progress(self, progress: Progress) -> None:
        """Move the counter."""
        self._done = progress.done
        notes = [f"{progress.failed} failed"] if progress.failed else []
        if progress.done < progress.total:
            notes.append(f"about {_console.duration_text(progress.left_s)} left")
        if self._counter is not None:
            self._counter.moved(progress.done, ", ".join(notes))

    def interrupted(self) -> None:
        """Say what is kept and how to go on."""
        self._stack.close()
        if self._run is None:
            _console.say("Interrupted before the first question.")
            return
        _console.say(
            f"Interrupted: {self._done} of {_console.counted(self._total, 'question')} answered "
            "and kept. "
            f"Go on with: hotseat replay --resume {self._run}"
        )
