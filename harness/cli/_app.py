"""The application: its commands, and what becomes of an error.

Exit codes: 0 done; 1 the check that was asked for did not hold; 2 wrong usage
or bad input; 3 something needed is missing; 70 a fault in Hotseat itself; 74
the output can't be written; 130 interrupted; 141 the reader of the output went
away; 143 told to terminate.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Literal, TextIO

import typer
from typer.core import TyperGroup

from harness import __version__
from harness.cli import (
    _console,
    compare,
    corpus,
    datasets,
    doctor,
    gate,
    models,
    play,
    record,
    replay,
    serve,
    settings,
)
from harness.errors import HotseatError

__all__ = ["app", "run"]

_HELP = """Put a quiz-playing AI agent in the hot seat, live and on tape.

Replays recorded quiz questions with their recorded web pages, offline and
always with the same result, and says how accurate the agent was, how sure
that number is, and where the seconds went.
"""

_EXAMPLES = """[bold]Examples[/bold]

  hotseat demo

  hotseat replay my-corpus --limit 20

  hotseat replay my-corpus --set retrieval.keep=60 --json

  hotseat compare runs/before runs/after

  hotseat record --questions q.jsonl --corpus my-corpus

  hotseat play --category science --games 3 --record my-games

'hotseat COMMAND --help' says more about each command.
"""

_PIPE_CLOSED = 141
_FAULT = 70
_OUTPUT_FAILED = 74
_WRITERS = frozenset({"click", "typer", "rich"})


class _Group(TyperGroup):
    """Lets a closed pipe through to :func:`run`, which is quiet about it."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _PipeClosed from None


class _PipeClosed(Exception):  # noqa: N818 - a signal between two functions, not an error
    pass


class _State:
    debug = False


app = typer.Typer(
    name="hotseat",
    cls=_Group,
    help=_HELP,
    epilog=_EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hotseat {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
    debug: bool = typer.Option(
        False, "--debug", help="Show the traceback of an error (also: HOTSEAT_DEBUG=1)."
    ),
) -> None:
    _State.debug = debug


for _module in (
    replay,
    compare,
    gate,
    play,
    record,
    serve,
    corpus,
    datasets,
    models,
    settings,
    doctor,
):
    _module.register(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the application and return the exit code; errors are printed, not raised."""
    _State.debug = False
    _fill_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a recorded text must not break a terminal's encoding
            reconfigure(errors="backslashreplace")
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except (_PipeClosed, BrokenPipeError):
        _silence(sys.stdout)
        return _PIPE_CLOSED
    except OSError as error:
        return _output_failed(error)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(args=None if arguments is None else list(arguments), prog_name="hotseat")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    except KeyboardInterrupt:
        return 130
    except _PipeClosed:
        raise
    except HotseatError as error:
        _show_traceback(error)
        _tell(f"hotseat: {error}")
        return error.exit_code
    except OSError as error:
        return _output_failed(error) if _came_from_writing(error) else _fault(error)
    except Exception as error:  # noqa: BLE001 - the last resort: a fault is told in one line
        return 130 if _was_interrupted(error) else _fault(error)
    return 0


def _was_interrupted(error: BaseException | None) -> bool:
    """Return whether Ctrl-C is behind an error: a library interrupted while it loads says so."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _fault(error: Exception) -> int:
    _show_traceback(error)
    hint = "" if _debugging() else " 'hotseat --debug …' shows where."
    _tell(f"hotseat: a fault: {type(error).__name__}: {error}.{hint}")
    return _FAULT


def _output_failed(error: OSError) -> int:
    _silence(sys.stdout)
    _show_traceback(error)
    reason = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
    _tell(f"hotseat: Can't write the output: {reason}.")
    return _OUTPUT_FAILED


def _tell(text: str) -> None:
    try:
        # Names of files and texts of recordings are in it, which may hold anything.
        typer.echo(_console.printable(text), err=True)
    except OSError:  # stderr can't be written either: the exit code has to do
        _silence(sys.stderr)


def _fill_closed_streams() -> None:
    """Put something in the place of streams that were closed before the start.

    Nothing can be written to the one for stdout, so that a lost result is
    told like that of a full disk.  It also keeps a file that is opened later
    from becoming the process's stdout.
    """
    if sys.stdin is None:
        sys.stdin = _nothing("r", os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = _nothing("w", os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _nothing("w", os.O_WRONLY)


def _nothing(mode: Literal["r", "w"], flags: int) -> TextIO:
    return os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8")


def _came_from_writing(error: OSError) -> bool:
    """Return whether an error came from stdout or stderr, not from a file of a command.

    Only the libraries that write to those two fail in their own code then.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    module = str(frames[-1].f_globals.get("__name__", "")) if frames else ""
    return error.filename is None and module.partition(".")[0] in _WRITERS


def _debugging() -> bool:
    return _State.debug or os.environ.get("HOTSEAT_DEBUG", "") not in ("", "0")


def _show_traceback(error: BaseException) -> None:
    if _debugging():
        _tell("".join(traceback.format_exception(error)))


def _silence(stream: TextIO) -> None:
    """Keep the interpreter from complaining when it flushes a dead stream at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):  # it is no real file, so there is nothing to flush
        return
