"""Logging in and out."""

from __future__ import annotations

import sqlite3

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from harness.games.practice._accounts import (
    Account,
    BadCredentialsError,
    check_credentials,
    forget_login,
)
from harness.games.practice._http import parse_object, read_body
from harness.games.practice._refusal import Refusal
from harness.games.practice._replies import user_reply
from harness.games.practice._service import COOKIE, Service

__all__ = ["account_routes"]


def account_routes(service: Service) -> list[BaseRoute]:
    """Return the routes under ``/api/auth``."""

    async def log_in(request: Request) -> Response:
        document = parse_object(await read_body(request))
        try:
            name, password = check_credentials(document.get("username"), document.get("password"))
        except BadCredentialsError as error:
            raise Refusal(400, str(error)) from None
        account, token = await service.log_in(name, password)
        response = JSONResponse(user_reply(account))
        response.set_cookie(
            COOKIE,
            token,
            max_age=int(service.options.login_life_s),
            path="/",
            httponly=True,
            samesite="lax",
        )
        return response

    async def log_out(request: Request) -> Response:
        token = request.cookies.get(COOKIE)
        if token:
            service.database.transact(forget_login, token)
        response = JSONResponse({})
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
        return response

    async def me(request: Request) -> Response:
        def who(connection: sqlite3.Connection, account: Account) -> Account:
            return account

        return JSONResponse(user_reply(service.run_as(request, who)))

    return [
        Route("/api/auth/login", log_in, methods=["POST"]),
        Route("/api/auth/logout", log_out, methods=["POST"]),
        Route("/api/auth/me", me, methods=["GET"]),
    ]
