"""Competitions, games in text and the leaderboard."""

from __future__ import annotations

import sqlite3

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from harness.games.practice._accounts import Account
from harness.games.practice._games import Verdict, View
from harness.games.practice._http import parse_object, read_body, whole_number
from harness.games.practice._leaderboard import Entry, leaderboard
from harness.games.practice._pool import Competition
from harness.games.practice._refusal import Refusal
from harness.games.practice._replies import (
    answer_result,
    competition_config,
    competition_item,
    game_state,
    leaderboard_reply,
)
from harness.games.practice._rules import Mode
from harness.games.practice._service import Service

__all__ = ["game_routes"]

_DEFAULT_LIMIT, _MAX_LIMIT = 10, 100


def game_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of competitions, text games and leaderboards."""
    games = service.games

    async def competitions(request: Request) -> Response:
        service.run_as(request, _nothing)
        found = service.pool.competitions.values()
        return JSONResponse({"competitions": [competition_item(one) for one in found]})

    async def config(request: Request) -> Response:
        service.run_as(request, _nothing)
        competition = _competition(service, request.path_params["competition"])
        return JSONResponse(competition_config(competition))

    async def start(request: Request) -> Response:
        body = await read_body(request)

        def begin(connection: sqlite3.Connection, account: Account) -> View:
            document = parse_object(body)
            competition = _competition(service, whole_number(document, "competitionId"))
            mode = _mode(document.get("mode"))
            if mode is Mode.SPEECH and service.clips.synthesiser is None:
                raise Refusal(503, "This server can't speak; play in text mode.")
            material = service.material(account.username, competition.id, mode)
            return games.start(connection, account.id, competition, mode, material)

        return show(service.run_as(request, begin))

    async def state(request: Request) -> Response:
        number = request.path_params["game"]

        def look(connection: sqlite3.Connection, account: Account) -> View:
            return games.state(connection, account.id, number)

        return show(service.run_as(request, look))

    async def answer(request: Request) -> Response:
        number = request.path_params["game"]
        body = await read_body(request)
        # After the body, so that a slow one gains no time; before the wait for
        # the database, so that a busy server costs none.
        arrived = service.time.now()

        def judge(connection: sqlite3.Connection, account: Account) -> Verdict:
            position = whole_number(parse_object(body), "optionId")
            return games.answer(connection, account.id, number, position, arrived)

        return JSONResponse(answer_result(service.run_as(request, judge)))

    async def time_out(request: Request) -> Response:
        number = request.path_params["game"]
        await read_body(request)
        arrived = service.time.now()

        def end(connection: sqlite3.Connection, account: Account) -> Verdict:
            return games.time_out(connection, account.id, number, arrived)

        return JSONResponse(answer_result(service.run_as(request, end)))

    async def board(request: Request) -> Response:
        def best(
            connection: sqlite3.Connection, account: Account
        ) -> tuple[Competition, list[Entry]]:
            competition = _competition(service, request.path_params["competition"])
            mode = _mode(request.query_params.get("mode", Mode.TEXT.value))
            limit = _limit(request.query_params.get("limit", str(_DEFAULT_LIMIT)))
            return competition, leaderboard(connection, competition.id, mode, limit, games)

        return JSONResponse(leaderboard_reply(*service.run_as(request, best)))

    def show(view: View) -> Response:
        return JSONResponse(game_state(view, service.pool.named(view.game.competition_id)))

    return [
        Route("/api/competitions", competitions, methods=["GET"]),
        Route("/api/competitions/{competition:int}/config", config, methods=["GET"]),
        Route("/api/game/start", start, methods=["POST"]),
        Route("/api/game/{game:int}/state", state, methods=["GET"]),
        Route("/api/game/{game:int}/answer", answer, methods=["POST"]),
        Route("/api/game/{game:int}/timeout", time_out, methods=["POST"]),
        Route("/api/leaderboard/{competition:int}", board, methods=["GET"]),
    ]


def _nothing(connection: sqlite3.Connection, account: Account) -> None:
    """Only see that somebody is logged in."""


def _competition(service: Service, number: int) -> Competition:
    found = service.pool.competitions.get(number)
    if found is None:
        raise Refusal(404, "There is no such competition.")
    return found


def _mode(value: object) -> Mode:
    if value not in (Mode.TEXT, Mode.SPEECH):
        raise Refusal(400, "mode must be 'text' or 'speech'.")
    return Mode(str(value))


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= _MAX_LIMIT):
        raise Refusal(400, f"limit must be a whole number from 1 to {_MAX_LIMIT}.")
    return int(text)
