"""``hotseat serve``: a quiz server to practise against."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli import _console
from harness.errors import BadInputError

if TYPE_CHECKING:
    from harness.games.practice import PracticeServer
    from harness.quiz import Question

__all__ = ["register"]

_PROBLEMS_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(_serve)


def _serve(
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen on."),
    port: int = typer.Option(8000, "--port", min=0, max=65535, help="Port; 0 takes a free one."),
    questions: list[Path] = typer.Option(
        [],
        "--questions",
        "-q",
        help="Question file (JSON Lines); may be repeated. Without any, the shipped sample's.",
    ),
    database: Path | None = typer.Option(
        None,
        "--db",
        metavar="FILE",
        help="File that keeps accounts, games and leaderboards; made where there is none. "
        "Without it, practice/games.sqlite in Hotseat's own folder.",
    ),
    seed: int | None = typer.Option(
        None, "--seed", help="Make the choice and order of questions and options repeatable."
    ),
    rate: float | None = typer.Option(
        None,
        "--rate",
        min=0.01,
        help="Answer 429 to an address that sends more requests a second than this.",
    ),
    closed: bool = typer.Option(
        False,
        "--closed",
        help="Let in only the accounts made with --add-user. Otherwise the first login under a "
        "name makes its account.",
    ),
    add_user: str | None = typer.Option(
        None,
        "--add-user",
        metavar="NAME",
        help="Make an account, or give it another password, and exit; asks for the password.",
    ),
    export_games: Path | None = typer.Option(
        None,
        "--export-games",
        metavar="DIR",
        help="Write the finished games, of people too, where 'hotseat games DIR' reads them, and "
        "exit.",
    ),
    player: str | None = typer.Option(
        None, "--player", metavar="NAME", help="With --export-games: only this player's."
    ),
    public: bool = typer.Option(
        False,
        "--public",
        help="Allow a --host that other machines can reach. Traffic is not encrypted: anybody on "
        "the way can read passwords.",
    ),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Tell each request on stderr."),
) -> None:
    """Run a quiz server to practise against: all of the protocol, clock and speech included.

    The address it prints is also a page: people play there in a browser, and
    watch others' games, Hotseat's with every stage of its thinking.

    Six competitions of up to 15 levels, 30 seconds a question. Accounts, games
    that are being played and leaderboards are kept, so the server can be
    stopped and started again at any time. Ctrl-C stops it (exit code 130).

    Only questions with a known answer and at least four options are asked.
    Speech needs eSpeak NG, which comes along with Hotseat on most machines, or flite.

    For example:

      hotseat serve

      hotseat serve --questions mine.jsonl --port 9000 --seed 1 --verbose

      hotseat serve --db club.sqlite --add-user ada

      hotseat serve --db club.sqlite --closed

      hotseat serve --db club.sqlite --export-games ada-games --player ada
    """
    if add_user is not None:
        _add_user(database, add_user)
        return
    if export_games is not None:
        _export(database, export_games, player)
        return
    _check_host(host, public)
    from harness.games.practice import PracticeServer, ServerOptions

    with _console.Terminated() as terminated:
        server = PracticeServer(
            _questions(questions),
            host=host,
            port=port,
            database=database,
            options=ServerOptions(closed=closed, rate=rate, seed=seed),
            tell=_console.say if verbose else None,
        )
        try:
            _introduce(server, public=not _is_loopback(host))
            server.run()
        except KeyboardInterrupt:
            _console.say("Stopped. Games go on when the server is started again.")
            raise typer.Exit(terminated.exit_code) from None
        finally:
            server.close()


def _introduce(server: PracticeServer, *, public: bool) -> None:
    from harness.games.practice import LEVELS

    lines = [f"Practice server: {server.url}  (open it in a browser to play or to watch)"]
    for competition in server.pool.competitions.values():
        count = _console.counted(len(competition.questions), "question")
        levels = competition.max_levels
        short = "" if levels == LEVELS else f", {_console.counted(levels, 'level')}"
        lines.append(f"  {competition.id}  {competition.name:<30} {count}{short}")
    for reason, count_out in server.pool.left_out.items():
        lines.append(f"Left out: {_console.counted(count_out, 'question')} {reason}.")
    if server.speech is None:
        lines.append(
            "Speech: none; games in speech mode are refused. 'pip install espeakng-loader' or a "
            "program espeak-ng or flite brings it."
        )
    else:
        lines.append(f"Speech: {server.speech}")
    if server.service.options.closed:
        lines.append("Accounts: only those made with --add-user.")
    else:
        lines.append("Accounts: made at the first login under a name.")
    if public:
        lines.append("Other machines can reach this server, and nothing it sends is encrypted.")
    lines.append("Ctrl-C stops it.")
    for line in lines:
        typer.echo(_console.printable(line))


def _export(database: Path | None, folder: Path, player: str | None) -> None:
    from harness.games.practice import Database, default_database, export_games

    path = database or default_database()
    if not path.is_file():
        raise BadInputError(f"There is no file of games {path}.", remedy="Name one with --db.")
    file = Database(path)
    try:
        count = export_games(file, folder, player=player)
    finally:
        file.close()
    typer.echo(
        _console.printable(
            f"Wrote {_console.counted(count, 'game')}; see them with: hotseat games {folder}"
        )
    )


def _questions(paths: list[Path]) -> list[Question]:
    from harness.question_file import load_questions

    found: list[Question] = []
    for path in paths or [_sample_questions()]:
        loaded = load_questions(path)
        found.extend(loaded.questions)
        for problem in loaded.problems[:_PROBLEMS_SHOWN]:
            _console.say(str(problem))
        if len(loaded.problems) > _PROBLEMS_SHOWN:
            _console.say(f"… and {len(loaded.problems) - _PROBLEMS_SHOWN} more in {path}.")
    return found


def _sample_questions() -> Path:
    from harness.replay.sample import sample_path

    return sample_path() / "questions.jsonl"


def _check_host(host: str, public: bool) -> None:
    if not _is_loopback(host) and not public:
        raise BadInputError(
            f"Other machines could reach a server on {host}.",
            remedy="Add --public if that is what you want: traffic is not encrypted, anybody on "
            "the way can read passwords, and without --closed anybody can make an account.",
        )


def _is_loopback(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name: who knows where it leads
        return False


def _add_user(database: Path | None, username: str) -> None:
    from harness.clock import SystemClock
    from harness.games.practice import (
        BadCredentialsError,
        Database,
        add_account,
        check_credentials,
        default_database,
        find_account,
        hash_password,
        replace_password,
    )

    try:
        check_credentials(username, "-")
        name, password = check_credentials(username, _password())
    except BadCredentialsError as error:
        raise BadInputError(str(error)) from None
    kept = hash_password(password)
    file = Database(database or default_database())
    try:
        new = file.transact(add_account, name, kept, SystemClock().now().timestamp())
        if not new:
            account = file.transact(find_account, name)
            assert account is not None, "accounts are never removed"
            file.transact(replace_password, account.id, kept)
    finally:
        file.close()
    typer.echo(
        f"Made the account '{name}'." if new else f"'{name}' has another password now; logged out."
    )


def _password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
