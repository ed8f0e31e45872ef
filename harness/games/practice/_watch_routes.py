"""Beside the protocol: who plays, what they see, and what their players tell of it.

Everybody who is logged in may watch what runs.  A spoken game's texts are nobody's
before its player has heard them, so they are not shown.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from harness.games.practice._accounts import Account
from harness.games.practice._games import View
from harness.games.practice._http import parse_object, read_body, whole_number
from harness.games.practice._refusal import Refusal
from harness.games.practice._replies import game_state
from harness.games.practice._service import Service
from harness.games.practice._spectator import Seen, running_games, seen_game
from harness.games.practice._stages import Stages

__all__ = ["watch_routes"]

_SEEN_ENDED_S = 60.0


def watch_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of watching, and of telling stages."""
    stages = Stages()

    async def about(request: Request) -> Response:
        return JSONResponse({"stages": True, "limitSeconds": service.options.limit_s})

    async def tell(request: Request) -> Response:
        number = request.path_params["game"]
        body = await read_body(request)

        def mine(connection: sqlite3.Connection, account: Account) -> View:
            return service.games.state(connection, account.id, number)

        view = service.run_as(request, mine)  # 404 for a game of somebody else's
        if not _fresh(service, view):
            raise Refusal(400, "This game is over.")
        document = parse_object(body)
        kept = stages.add(number, whole_number(document, "level"), document.get("events"))
        return JSONResponse({"kept": kept})

    async def listed(request: Request) -> Response:
        def look(connection: sqlite3.Connection, account: Account) -> list[Seen]:
            return running_games(connection, service.games)

        return JSONResponse(
            {"games": [_item(service, one, stages) for one in service.run_as(request, look)]}
        )

    async def watched(request: Request) -> Response:
        number = request.path_params["game"]
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) <= 12):
            raise Refusal(400, "after must be a whole number.")

        def look(connection: sqlite3.Connection, account: Account) -> Seen:
            seen = seen_game(connection, service.games, number)
            if seen.view.game.account_id != account.id and not _fresh(service, seen.view):
                raise Refusal(404, "There is no such game.")
            return seen

        seen = service.run_as(request, look)
        return JSONResponse(
            {
                **_item(service, seen, stages),
                "state": game_state(seen.view, service.pool.named(seen.view.game.competition_id)),
                "remainingSeconds": _remaining_s(service, seen.view),
                "past": [
                    {
                        "level": past.level,
                        "text": past.text,
                        "chosen": past.chosen,
                        "correct": past.right,
                    }
                    for past in seen.past
                ],
                "events": stages.after(number, int(after)),
            }
        )

    async def remaining(request: Request) -> Response:
        number = request.path_params["game"]

        def look(connection: sqlite3.Connection, account: Account) -> View:
            return service.games.state(connection, account.id, number)

        view = service.run_as(request, look)
        return JSONResponse({"remainingSeconds": _remaining_s(service, view)})

    async def mine(request: Request) -> Response:
        def look(connection: sqlite3.Connection, account: Account) -> list[Seen]:
            return running_games(connection, service.games, account_id=account.id)

        return JSONResponse(
            {"games": [_item(service, one, stages) for one in service.run_as(request, look)]}
        )

    return [
        Route("/api/hotseat", about, methods=["GET"]),
        Route("/api/hotseat/games", listed, methods=["GET"]),
        Route("/api/hotseat/games/mine", mine, methods=["GET"]),
        Route("/api/hotseat/game/{game:int}", watched, methods=["GET"]),
        Route("/api/hotseat/game/{game:int}/remaining", remaining, methods=["GET"]),
        Route("/api/hotseat/game/{game:int}/stages", tell, methods=["POST"]),
    ]


def _item(service: Service, seen: Seen, stages: Stages) -> dict[str, Any]:
    game = seen.view.game
    return {
        "sessionId": game.id,
        "username": seen.username,
        "competition": service.pool.named(game.competition_id).name,
        "mode": game.mode.value,
        "status": game.status.value,
        "level": game.level,
        "maxLevel": game.max_levels,
        "earnedAmount": game.earned,
        "clips": game.clips,
        "tellsStages": stages.knows(game.id),
    }


def _fresh(service: Service, view: View) -> bool:
    """Whether a game runs, or ended a moment ago: its end is still to be seen."""
    over_s = view.game.finished_wall_s
    return over_s is None or service.time.now().wall_s - over_s < _SEEN_ENDED_S


def _remaining_s(service: Service, view: View) -> float | None:
    """Return the seconds left by the server's clock: a browser's own may be wrong."""
    expiry = view.game.expiry
    if not view.game.running or expiry is None:
        return None
    return max(0.0, round(expiry.remaining_s(service.time.now()), 3))
