"""Several games in a row at one table; see :mod:`harness.games.playing`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from harness.clock import Clock
from harness.contestant.live import LiveResearch
from harness.contestant.protocol import Contestant
from harness.errors import BadInputError, nearest_name
from harness.games._gamelog import GameLog
from harness.games._settling import left_games, settle_game
from harness.games._thinking import Thinker
from harness.games.client import QuizClient
from harness.games.clips import ClipStore
from harness.games.errors import QuizError, QuizLoginError
from harness.games.journal import Journal
from harness.games.learned import LearnedQuestions
from harness.games.listeners import Listeners
from harness.games.login import Credentials
from harness.games.loop import Table, play_on, stop
from harness.games.protocol import Game, Quiz
from harness.games.records import End, GamePlan, GameRecord, Transcriber
from harness.games.reporter import StageReporter
from harness.games.wire import Competition, Leaderboard, Mode
from harness.quiz import normalise_text
from harness.settings import Settings

if TYPE_CHECKING:
    import httpx

    from harness.corpus import Corpus

__all__ = ["Session", "find_competition"]


@dataclass(slots=True)
class Session:
    """What :func:`~harness.games.playing.play_games` does, and what it has come to so far."""

    server: str
    plan: Sequence[tuple[str, Mode]]
    games: int
    record: Path | None
    settings: Settings
    corpus: Corpus | None
    journal: Journal
    load_contestant: Callable[[Settings], Contestant]
    transcriber: Transcriber | None
    listener: Listeners
    clock: Clock
    network: httpx.AsyncBaseTransport | None
    proxy: str | None
    records: list[GameRecord] = field(default_factory=list)
    settled: list[GameRecord] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    leaderboards: list[tuple[Competition, Mode, Leaderboard]] = field(default_factory=list)
    _log: GameLog | None = None
    _under_way: list[GameRecord] = field(default_factory=list)

    async def run(self, quiz: Quiz | None, credentials: Credentials | None) -> None:
        """Log in, settle what was left, play the plan, look at the leaderboards."""
        if quiz is None:
            quiz = QuizClient(
                self.server,
                credentials,
                allowed_s=self.settings.time.allowed_s,
                clock=self.clock,
            )
        try:
            player = await _log_in(quiz)
            listed = await quiz.competitions()
            chosen = [(find_competition(listed, wanted), mode) for wanted, mode in self.plan]
            if self.journal.damaged:
                self._tell(f"{self.journal.damaged} damaged lines of {self.journal.path} are lost.")
            async with _reporting(quiz, self.listener):
                await self._play_all(quiz, player, chosen)
        finally:
            await quiz.aclose()

    async def _play_all(
        self, quiz: Quiz, player: str, chosen: list[tuple[Competition, Mode]]
    ) -> None:
        thinker = Thinker(self.listener, self.clock)
        contestant: Contestant | None = None
        try:
            # In the thread that it will play in, which is where some models want to be made.
            contestant = await thinker.begin(lambda: self.load_contestant(self.settings))
            table = self._table(contestant, thinker)
            if await self._settle(quiz, player, table):
                await self._play(quiz, player, table, chosen)
        except asyncio.CancelledError:
            self._stopped()
            raise
        finally:
            thinker.close()
            if contestant is not None:
                self.problems.extend(getattr(contestant, "problems", ()))
                contestant.close()

    def _table(self, contestant: Contestant, thinker: Thinker) -> Table:
        research = LiveResearch(
            self.settings,
            self.corpus,
            inner=self.network,
            proxy=self.proxy,
            clock=self.clock,
        )
        learned, clips = None, None
        if self.corpus is not None and self.record is not None:
            learned = LearnedQuestions(self.corpus.grow_questions())
            clips = ClipStore(self.record / "clips")
        return Table(
            contestant=contestant,
            thinker=thinker,
            research=research.transport,
            settings=self.settings,
            listener=self.listener,
            learned=learned,
            clips=clips,
            transcriber=self.transcriber,
            clock=self.clock,
            problems=self.problems,
        )

    async def _settle(self, quiz: Quiz, player: str, table: Table) -> bool:
        """Finish the games that were left; whether play can go on."""
        for fold in left_games(self.journal, server=self.server, player=player):
            if fold.record.mode == "speech" and table.transcriber is None:
                self._tell(
                    f"Game {fold.record.session_id} was left in speech mode; it is not played on."
                )
                continue
            record = await settle_game(
                table, quiz, self.journal, fold, now=self.clock.now, began=self._settling
            )
            self._log = None
            if record is not None:
                self.settled.append(record)
                if record.end is End.STOPPED:
                    return False
        return True

    def _settling(self, log: GameLog) -> None:
        self._log, self._under_way = log, self.settled

    async def _play(
        self, quiz: Quiz, player: str, table: Table, chosen: list[tuple[Competition, Mode]]
    ) -> None:
        total = len(chosen) * self.games
        lines = [line for line in chosen for _ in range(self.games)]
        for number, (competition, mode) in enumerate(lines, start=1):
            if self.records:
                await asyncio.sleep(self.settings.play.pause_s)
            self.listener.planned(GamePlan(number, total, competition.name, mode))
            try:
                game = await quiz.start(competition.id, mode)
            except QuizError as error:
                if not self.records and not self.settled:
                    raise
                self._tell(str(error))
                break
            record = await self._one(game, competition, mode, player, table)
            self.records.append(record)
            self._log = None
            if record.end is End.STOPPED or _broken_twice(self.records):
                break
        await self._look(quiz, chosen)

    async def _one(
        self, game: Game, competition: Competition, mode: Mode, player: str, table: Table
    ) -> GameRecord:
        self._under_way = self.records
        log = self._log = GameLog.start(
            self.journal,
            game.state,
            competition,
            mode,
            server=self.server,
            player=player,
            now=self.clock.now,
        )
        self.listener.started(log.record, resumed=False)
        if log.failure is not None:  # it could not be found again, so it is not begun
            return stop(table, log)
        return await play_on(table, game, log)

    def _stopped(self) -> None:
        """Keep the record of the game that was under way."""
        if self._log is not None:
            record = self._log.ended(End.STOPPED, problem="Interrupted; the game can go on.")
            self._under_way.append(record)
            self.listener.ended(record)

    async def _look(self, quiz: Quiz, chosen: list[tuple[Competition, Mode]]) -> None:
        for competition, mode in dict.fromkeys(chosen):
            try:
                board = await quiz.leaderboard(competition.id, mode=mode)
            except QuizError as error:
                self._tell(str(error))
                return
            self.leaderboards.append((competition, mode, board))

    def _tell(self, sentence: str) -> None:
        if sentence not in self.problems:
            self.problems.append(sentence)
            self.listener.problem(sentence)


@asynccontextmanager
async def _reporting(quiz: Quiz, listener: Listeners) -> AsyncIterator[None]:
    """Tell the server what the player does, if it is one that wants to know."""
    if not isinstance(quiz, QuizClient):
        yield
        return
    async with StageReporter(quiz) as reporter:
        listener.add(reporter)
        yield


async def _log_in(quiz: Quiz) -> str:
    """Log in and return the player's name; a client that is logged in already may not say it."""
    try:
        return (await quiz.login()).username
    except QuizLoginError:
        if isinstance(quiz, QuizClient):
            raise
        return "player"


def _broken_twice(records: list[GameRecord]) -> bool:
    return len(records) > 1 and all(record.end is End.BROKEN for record in records[-2:])


def find_competition(listed: Sequence[Competition], wanted: str) -> Competition:
    """Return the competition that ``wanted`` names: a category or alias, a name, or an id.

    Raises :class:`~harness.errors.BadInputError`, listing those there are.
    """
    playable = [one for one in listed if one.category is not None]
    name = normalise_text(str(wanted))
    for one in playable:
        if name in (str(one.id), normalise_text(one.name), str(one.category)):
            return one
    from harness.quiz import Category

    try:
        category = Category.parse(name)
    except BadInputError:
        category = None
    for one in playable:
        if category is not None and one.category is category:
            return one
    there = ", ".join(f"{cast(Category, one.category).value}" for one in playable) or "none"
    raise BadInputError(
        f"The quiz server has no competition '{wanted}'.{nearest_name(name, there.split(', '))}",
        remedy=f"It has {there}.",
    )
