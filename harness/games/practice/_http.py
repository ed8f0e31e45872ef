"""Reading requests with bounds, and refusing them in JSON."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from harness.games.practice._refusal import Refusal

__all__ = [
    "EXCEPTION_HANDLERS",
    "MAX_BODY_BYTES",
    "parse_object",
    "read_body",
    "refused",
    "whole_number",
]

MAX_BODY_BYTES = 64 * 1024
# An oversized body is read to this point and thrown away, so that a client
# that is still sending gets to see the refusal.
_MAX_DRAINED_BYTES = 16 * 1024 * 1024
_BODY_TIMEOUT_S = 30.0

_MESSAGES = {404: "There is nothing here.", 405: "This method is not allowed here."}


async def read_body(request: Request, timeout_s: float = _BODY_TIMEOUT_S) -> bytes:
    """Return a request's body.

    Raises :class:`Refusal`: 413 over ``MAX_BODY_BYTES``, 408 when it does not
    arrive in time.
    """
    kept = bytearray()
    size_bytes = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in request.stream():
                size_bytes += len(chunk)
                if size_bytes <= MAX_BODY_BYTES:
                    kept += chunk
                elif size_bytes > _MAX_DRAINED_BYTES:
                    break
    except TimeoutError:
        raise Refusal(408, "The request's body did not arrive in time.") from None
    except ClientDisconnect:
        raise Refusal(400, "The request's body broke off.") from None
    if size_bytes > MAX_BODY_BYTES:
        raise Refusal(413, f"The request's body is larger than {MAX_BODY_BYTES // 1024} KB.")
    return bytes(kept)


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a request's body; raises :class:`Refusal` 400 for anything else."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or brackets without end
        raise Refusal(400, "The request's body is not valid JSON.") from None
    if not isinstance(document, dict):
        raise Refusal(400, "The request's body must be a JSON object.")
    return document


def whole_number(document: Mapping[str, Any], name: str) -> int:
    """Return a field that must be a whole number (``true`` and ``1.0`` are none)."""
    value = document.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refusal(400, f"{name} must be a whole number.")
    return value


def refused(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a refusal in the protocol's form."""
    return JSONResponse({"message": message}, status_code=status, headers=headers)


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error.status, error.message)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = _MESSAGES.get(error.status_code, error.detail)
    return refused(error.status_code, message, error.headers)


async def _on_database(request: Request, error: Exception) -> Response:
    print(f"hotseat serve: the database failed: {error}.", file=sys.stderr)  # noqa: T201
    return refused(500, "The server can't use its database at the moment; nothing was counted.")


async def _on_fault(request: Request, error: Exception) -> Response:
    return refused(500, "The server failed at this request.")


EXCEPTION_HANDLERS: dict[Any, Any] = {
    Refusal: _on_refusal,
    HTTPException: _on_http,
    sqlite3.Error: _on_database,
    Exception: _on_fault,
}
