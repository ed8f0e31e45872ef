"""Playing games from beginning to end: login, models, games, record."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.clock import Clock, SystemClock
from harness.errors import BadInputError, MissingError
from harness.games._playing_session import Session
from harness.games.journal import Journal
from harness.games.listeners import Listeners
from harness.games.login import Credentials, find_credentials
from harness.games.protocol import Quiz
from harness.games.records import GameListener, GameRecord, Transcriber
from harness.games.wire import Competition, Leaderboard, Mode, parse_mode
from harness.home import home
from harness.settings import Settings, resolve

if TYPE_CHECKING:
    import httpx

    from harness.contestant.protocol import Contestant
    from harness.corpus import Corpus

__all__ = ["PlayOutcome", "PlayRequest", "Transcriber", "journal_folder", "play_games"]


@dataclass(frozen=True, slots=True)
class PlayRequest:
    """What is to be played, and how.

    ``plan`` names competitions (a category or an alias of one, a competition's
    name or id) and modes, ``games`` how many of each line.  ``record`` is the
    corpus that everything goes into; ``journal`` the folder that the games are
    written down in, else ``games`` in ``record`` or in the user's folder.
    ``search=False`` plays the model alone; ``proxy`` is the address of an HTTP
    proxy that research goes through.
    """

    server: str
    plan: tuple[tuple[str, Mode], ...]
    games: int = 1
    record: Path | None = None
    preset: str = "cpu"
    assignments: Mapping[str, Any] = field(default_factory=dict)
    search: bool = True
    proxy: str | None = None
    journal: Path | None = None


@dataclass(frozen=True, slots=True)
class PlayOutcome:
    """What came of it.

    ``records`` are the games that this call started, ``settled`` those of
    earlier processes that it learned the end of or played on; ``problems`` are
    sentences.  ``interrupted`` says that it was stopped from outside: a game
    may still run at the server, and the next call goes on with it.
    """

    records: tuple[GameRecord, ...] = ()
    settled: tuple[GameRecord, ...] = ()
    problems: tuple[str, ...] = ()
    interrupted: bool = False
    leaderboards: tuple[tuple[Competition, Mode, Leaderboard], ...] = ()


def play_games(
    request: PlayRequest,
    *,
    credentials: Credentials | None = None,
    quiz: Quiz | None = None,
    load_contestant: Callable[[Settings], Contestant] | None = None,
    transcriber: Transcriber | None = None,
    listener: GameListener | None = None,
    clock: Clock | None = None,
    network: httpx.AsyncBaseTransport | None = None,
    progress: Callable[..., None] | None = None,
) -> PlayOutcome:
    """Play games and return what came of them; may be called inside a running event loop.

    ``quiz`` is what is played against, and hung up in the end (``None``: our
    own client at the request's server, with ``credentials`` or those of the
    environment),
    ``load_contestant`` gives the player (``None``: the embedded one),
    ``network`` is the transport that research fetches through (``None``: the
    guarded way to the web), ``progress`` hears of downloads of models.

    Games that an earlier call left unfinished are settled first.  Ctrl-C ends
    it with ``interrupted``.  Raises a :class:`~harness.errors.HotseatError`
    when nothing can be played: settings, login, an unknown competition, a
    missing model, a server that is not there.
    """
    if request.games < 1 or not request.plan:
        raise BadInputError("There is nothing to play.", remedy="Ask for one game or more.")
    for _, mode in request.plan:
        if parse_mode(mode) == "speech" and transcriber is None:
            raise MissingError(
                "Speech games need a transcriber, and none is installed.",
                remedy="Play in text mode.",
            )
    heard = Listeners(*([listener] if listener is not None else []))
    clock = clock or SystemClock()
    with ExitStack() as stack:
        corpus, settings = _target(request)
        if corpus is not None:
            stack.enter_context(closing(corpus))
        if quiz is None:
            credentials = credentials or find_credentials()
        journal = stack.enter_context(Journal(journal_folder(request)))
        session = Session(
            server=request.server,
            plan=request.plan,
            games=request.games,
            record=request.record,
            settings=settings,
            corpus=corpus,
            journal=journal,
            load_contestant=load_contestant or _load_embedded(corpus, progress),
            transcriber=transcriber,
            listener=heard,
            clock=clock,
            network=network,
            proxy=request.proxy,
        )
        interrupted = _run(session.run(quiz, credentials))
        return PlayOutcome(
            records=tuple(session.records),
            settled=tuple(session.settled),
            problems=(*session.problems, *heard.faults),
            interrupted=interrupted,
            leaderboards=tuple(session.leaderboards),
        )


def journal_folder(request: PlayRequest) -> Path:
    """Return the folder that a request's games are written down in."""
    if request.journal is not None:
        return request.journal
    return (request.record or home()) / "games"


def _target(request: PlayRequest) -> tuple[Corpus | None, Settings]:
    from harness.contestant.checks import check_settings
    from harness.contestant.recording import open_for_play

    corpus: Corpus | None = None
    if request.record is not None:
        corpus, settings = open_for_play(
            request.record, preset=request.preset, assignments=request.assignments
        )
    else:
        settings = resolve(preset=request.preset, assignments=request.assignments).settings
        check_settings(settings)
    if not request.search:
        search = settings.search.model_copy(update={"enabled": False})
        settings = settings.model_copy(update={"search": search})
    return corpus, settings


def _load_embedded(
    corpus: Corpus | None, progress: Callable[..., None] | None
) -> Callable[[Settings], Contestant]:
    def load(settings: Settings) -> Contestant:
        from harness.contestant.embedded import load_contestant

        contestant = load_contestant(settings, progress=progress)
        if corpus is not None:
            contestant.keep_vectors(corpus.derived)
        return contestant

    return load


def _run(work: Coroutine[Any, Any, None]) -> bool:
    """Run to the end, also inside a running event loop; whether it was interrupted."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        try:
            asyncio.run(work)
        except KeyboardInterrupt:
            return True
        return False
    return _run_beside(work)


def _run_beside(work: Coroutine[Any, Any, None]) -> bool:
    """Run in a thread of its own, as in a notebook, whose loop is running already."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    fault: list[BaseException] = []
    # Python 3.11 and 3.12 call a thread dead when a join on it was interrupted.
    over = threading.Event()

    def target() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(task)
        except BaseException as error:  # noqa: BLE001 - raised again where the user waits
            fault.append(error)
        finally:
            try:
                loop.run_until_complete(loop.shutdown_default_executor())
                loop.close()
            finally:
                over.set()

    thread = threading.Thread(target=target, name="hotseat-play")
    thread.start()
    interrupted = False
    while not over.is_set():
        try:
            over.wait()
        except KeyboardInterrupt:
            interrupted = True
            loop.call_soon_threadsafe(task.cancel)
    if fault and not (interrupted and isinstance(fault[0], asyncio.CancelledError)):
        raise fault[0]
    return interrupted
