"""Speech: the question, the options one after the other, and those again."""

from __future__ import annotations

import sqlite3
import sys

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from harness.games.practice._accounts import Account
from harness.games.practice._games import Clip
from harness.games.practice._refusal import Refusal
from harness.games.practice._service import Service
from harness.games.practice._synthesiser import SpeechError

__all__ = ["audio_routes"]

# Two players on one account may ask for the next option at the same moment.
_TRIES = 8


def audio_routes(service: Service) -> list[BaseRoute]:
    """Return the routes under ``/api/game/{id}/audio``."""
    games = service.games

    async def question(request: Request) -> Response:
        number = request.path_params["game"]
        clip = service.run_as(request, lambda c, a: games.question_clip(c, a.id, number))
        return await spoken(clip)

    async def again(request: Request) -> Response:
        number, position = request.path_params["game"], request.path_params["position"]
        clip = service.run_as(request, lambda c, a: games.given_clip(c, a.id, number, position))
        return await spoken(clip)

    async def following(request: Request) -> Response:
        """Speak first and count afterwards, so that no second is lost to synthesis."""
        number = request.path_params["game"]
        for _ in range(_TRIES):
            clip = service.run_as(request, lambda c, a: games.next_clip(c, a.id, number))
            response = await spoken(clip)

            def deliver(connection: sqlite3.Connection, account: Account, clip: Clip) -> bool:
                return games.deliver(connection, account.id, number, clip)

            if service.run_as(request, deliver, clip):
                return response
        raise Refusal(503, "Too many players on this game at once; try again.")

    async def spoken(clip: Clip) -> Response:
        if service.clips.synthesiser is None:  # the game began under a server that could
            raise Refusal(503, "This server can't speak.")
        try:
            sound = await service.clips.get(clip.text)
        except SpeechError as error:
            print(f"hotseat serve: {error}", file=sys.stderr)  # noqa: T201
            raise Refusal(503, "This clip can't be spoken at the moment; try again.") from None
        return Response(sound, media_type="audio/wav", headers={"Cache-Control": "no-store"})

    return [
        Route("/api/game/{game:int}/audio/question", question, methods=["GET"]),
        Route("/api/game/{game:int}/audio/option/next", following, methods=["GET"]),
        Route("/api/game/{game:int}/audio/option/{position:int}", again, methods=["GET"]),
    ]
