"""``hotseat play``, ``hotseat tournament`` and ``hotseat games``."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harness.cli import _console
from harness.cli._options import JSON, PRESET, SET
from harness.cli.settings import assignments

if TYPE_CHECKING:
    from harness.games.playing import PlayOutcome, PlayRequest
    from harness.games.wire import Mode

__all__ = ["register"]

DEFAULT_SERVER = "http://127.0.0.1:8000"


class PlayMode(StrEnum):
    """How questions are asked."""

    TEXT = "text"
    SPEECH = "speech"


class TournamentMode(StrEnum):
    """How the questions of a tournament are asked."""

    TEXT = "text"
    SPEECH = "speech"
    BOTH = "both"


def _categories(incomplete: str) -> list[str]:
    from harness.quiz import Category

    return [one.value for one in Category if one.value.startswith(incomplete)]


_SERVER = typer.Option(
    DEFAULT_SERVER, "--server", "-S", metavar="URL", help="Quiz server, as 'hotseat serve' is one."
)
_RECORD = typer.Option(
    None,
    "--record",
    "-r",
    metavar="CORPUS",
    help="Folder that keeps searches, pages, questions, clips and games, to be replayed.",
)
_SEARCH_SERVER = typer.Option(
    None,
    "--search-server",
    metavar="URL",
    help="SearXNG server; the same as --set search.url=URL.",
)
_PROXY = typer.Option(None, "--proxy", metavar="URL", help="HTTP proxy that research goes through.")
_NO_SEARCH = typer.Option(False, "--no-search", help="No research: the model alone.")
_JOURNAL = typer.Option(
    None,
    "--journal",
    metavar="DIR",
    help="Folder to write the games down in; without it 'games' in the recording, or in "
    "Hotseat's own folder.",
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("play")(_play)
    app.command("tournament")(_tournament)
    app.command("games")(_games)


def _play(
    category: str = typer.Option(
        ...,
        "--category",
        "-c",
        help="What to play: a category, or a competition's name or id at the server.",
        autocompletion=_categories,
    ),
    mode: PlayMode = typer.Option(PlayMode.TEXT, "--mode", "-m", help="Read or heard."),
    games: int = typer.Option(1, "--games", "-n", min=1, help="Games to play, one by one."),
    server: str = _SERVER,
    record: Path | None = _RECORD,
    search_server: str | None = _SEARCH_SERVER,
    proxy: str | None = _PROXY,
    no_search: bool = _NO_SEARCH,
    preset: str = PRESET,
    sets: list[str] = SET,
    journal: Path | None = _JOURNAL,
    as_json: bool = JSON,
) -> None:
    """Play games on a quiz server, live, and keep a recording that can be replayed.

    Logs in with HOTSEAT_QUIZ_USER and HOTSEAT_QUIZ_PASSWORD, or asks. Every
    answer leaves in time: when the model is late, the longest option is sent,
    and the result says so. A game that was interrupted (Ctrl-C, a crash, a lost
    connection) is found again and gone on with by the next call.

    For example:

      hotseat serve                                 in another terminal

      hotseat play --category science --games 3 --record my-games

      hotseat replay my-games

      hotseat play -c maths --server https://quiz.example --no-search --json
    """
    _run(
        ((category, _mode(mode)),),
        "play",
        games=games,
        server=server,
        record=record,
        search_server=search_server,
        proxy=proxy,
        no_search=no_search,
        preset=preset,
        sets=sets,
        journal=journal,
        as_json=as_json,
    )


def _tournament(
    category: list[str] = typer.Option(
        [],
        "--category",
        "-c",
        help="Play only this one; may be repeated. Without any, all six.",
        autocompletion=_categories,
    ),
    mode: TournamentMode = typer.Option(
        TournamentMode.TEXT, "--mode", "-m", help="Read, heard, or both."
    ),
    games: int = typer.Option(1, "--games", "-n", min=1, help="Games in each category and mode."),
    server: str = _SERVER,
    record: Path | None = _RECORD,
    search_server: str | None = _SEARCH_SERVER,
    proxy: str | None = _PROXY,
    no_search: bool = _NO_SEARCH,
    preset: str = PRESET,
    sets: list[str] = SET,
    journal: Path | None = _JOURNAL,
    as_json: bool = JSON,
) -> None:
    """Play every category, and print the table: levels, prizes, accuracy, seconds.

    Everything else is as for 'hotseat play'.

    For example:

      hotseat tournament --games 5 --record my-tournament

      hotseat tournament -c history -c news --mode both
    """
    from harness.quiz import Category

    modes: tuple[Mode, ...] = (
        ("text", "speech") if mode is TournamentMode.BOTH else (_mode(PlayMode(mode.value)),)
    )
    wanted = category or [one.value for one in Category]
    _run(
        tuple((name, one) for name in wanted for one in modes),
        "tournament",
        games=games,
        server=server,
        record=record,
        search_server=search_server,
        proxy=proxy,
        no_search=no_search,
        preset=preset,
        sets=sets,
        journal=journal,
        as_json=as_json,
    )


def _games(
    folder: Path | None = typer.Argument(
        None,
        help="Folder of games, or a recording that holds one; without it Hotseat's own.",
        show_default=False,
    ),
    as_json: bool = JSON,
) -> None:
    """Show the games that were played so far, and what they come to.

    For example:

      hotseat games

      hotseat games my-games --json
    """
    from harness.games.journal import read_games
    from harness.games.playing import PlayOutcome
    from harness.home import home

    place = folder or home()
    inner = place / "games"
    place = inner if (inner / "games.jsonl").is_file() or folder is None else place
    _show(PlayOutcome(records=read_games(place)), server="", as_json=as_json)


def _mode(mode: PlayMode) -> Mode:
    return "speech" if mode is PlayMode.SPEECH else "text"


def _run(
    plan: tuple[tuple[str, Mode], ...],
    command: str,
    *,
    games: int,
    server: str,
    record: Path | None,
    search_server: str | None,
    proxy: str | None,
    no_search: bool,
    preset: str,
    sets: list[str],
    journal: Path | None,
    as_json: bool,
) -> None:
    from harness.cli._play_display import PlayDisplay
    from harness.games.playing import PlayRequest, play_games
    from harness.settings import resolve

    changes = assignments(sets)
    if search_server is not None:
        changes["search.url"] = search_server
    budget_s = resolve(preset=preset, assignments=changes).settings.time.budget_s
    request = PlayRequest(
        server=server,
        plan=plan,
        games=games,
        record=record,
        preset=preset,
        assignments=changes,
        search=not no_search,
        proxy=proxy,
        journal=journal,
    )
    with _console.Terminated() as terminated:
        credentials = _credentials()  # asked for before the display takes the terminal
        with PlayDisplay(budget_s=budget_s) as display:
            outcome = play_games(
                request, credentials=credentials, listener=display, progress=display.pulling
            )
    _show(
        outcome,
        server=server,
        as_json=as_json,
        budget_s=budget_s,
        corpus=record,
        replay=_replay_command(request, sets) if record is not None else None,
    )
    if outcome.interrupted:
        _console.say(
            f"Interrupted. A game that runs is gone on with by the next 'hotseat {command}' with "
            "the same server and player, while its time lasts."
        )
        raise typer.Exit(terminated.exit_code)


def _credentials() -> Any:
    from harness.games.login import find_credentials

    return find_credentials()


def _replay_command(request: PlayRequest, sets: list[str]) -> str:
    words = ["hotseat", "replay", str(request.record)]
    if request.preset != "cpu":
        words += ["--preset", request.preset]
    for text in sets:
        # How was searched is kept with the recording.
        if not text.startswith(("search.", "fetch.", "play.")):
            words += ["--set", text]
    if not request.search:
        words.append("--no-search")
    return shlex.join(words)


def _show(
    outcome: PlayOutcome,
    *,
    server: str,
    as_json: bool,
    budget_s: float = 25.0,
    corpus: Path | None = None,
    replay: str | None = None,
) -> None:
    from harness.cli._play_document import games_document
    from harness.report.games import render_games

    document = games_document(outcome, server=server, corpus=corpus, replay=replay)
    if as_json:
        _console.print_json(document)
    else:
        render_games(document, _console.stdout(), budget_s=budget_s)
