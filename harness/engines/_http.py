"""Requests to a model server: bounded, retried, and never with a secret in a message.

A request that failed on the way, or that the server put off (408, 409, 429,
5xx), is sent again after a pause: greedy decoding makes a repetition harmless.
One that ran out of time is not, since a slow server would only get slower.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any

import httpx

from harness.clock import Clock, SystemClock
from harness.errors import EngineError, SettingError

__all__ = ["KEY_VARIABLE", "RefusedError", "Server", "server_address"]

KEY_VARIABLE = "HOTSEAT_SERVER_KEY"

_MAX_REPLY_BYTES = 32 * 2**20
_AGAIN = frozenset({408, 409, 429})
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # also of halves that have each other
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class RefusedError(EngineError):
    """A request that the server understood and refused: a 4xx with its ``status``."""

    def __init__(self, message: str, *, status: int, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


def server_address(text: str) -> httpx.URL:
    """Return the base address that a setting names, without a slash at its end.

    Where it has no path, ``/v1`` is meant: there every such server has its interface.

    Raises :class:`~harness.errors.SettingError` for anything but a plain
    ``http(s)://host[:port][/path]``.
    """
    try:
        url = httpx.URL(text.strip().rstrip("/"))
    except (httpx.InvalidURL, ValueError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise SettingError(
            f"engine.server can't be '{text}'.",
            remedy="Write it like http://127.0.0.1:8081/v1.",
        )
    if url.userinfo:
        raise SettingError(
            "engine.server must not hold a user name or a password: settings are written down.",
            remedy=f"Put the server's key into the environment variable {KEY_VARIABLE}.",
        )
    return url if url.path.strip("/") else url.copy_with(path="/v1")


class Server:
    """One model server: ``models`` lies under its address, ``/props`` beside the final ``/v1``.

    ``timeout_s`` bounds the silence before and within a reply, and from the
    first byte on the whole reply; ``concurrency`` the requests under way at
    once, whichever threads they come from.
    """

    def __init__(
        self,
        address: str,
        *,
        timeout_s: float = 60.0,
        retries: int = 2,
        concurrency: int = 1,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._base = server_address(address)
        self._root = str(self._base).removesuffix("/v1")
        self.name = f"{self._base.host}:{self._base.port or self._base.scheme}"
        self._timeout_s = timeout_s
        self._retries = retries
        self._turns = BoundedSemaphore(concurrency)
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._key = _read_key()
        # Coded replies could unfold to any size, so none are asked for.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._client: httpx.Client | None = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 10.0)),
            follow_redirects=False,
            # A proxy from the environment is never the way to this machine itself.
            trust_env=self._base.host not in _LOOPBACK,
        )

    def get(self, path: str) -> Any:
        """Return the JSON document at ``path``."""
        return self._request("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send ``body`` as JSON and return the reply's JSON document.

        Raises :class:`RefusedError` for a 4xx, :class:`~harness.errors.EngineError`
        for anything else that is no answer.
        """
        return self._request("POST", path, body)

    def find(self, path: str, *, needs_json: bool = False) -> Any:
        """Return the JSON document at ``path``, ``None`` if the server has none there.

        With ``needs_json`` anything else that lies there is an error.
        """
        try:
            return self.get(path)
        except RefusedError as error:
            if error.status in (401, 403):
                raise
            return None
        except _NotJsonError:
            if needs_json:
                raise
            return None

    def close(self) -> None:
        """Give the connections back; the server can't be asked any more."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _request(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        tried = 0
        while True:
            try:
                with self._turns:
                    return self._once(method, path, body)
            except _AgainError as error:
                if tried >= self._retries:
                    times = f" {tried + 1} times" if tried else ""
                    raise EngineError(f"{error.message}{times}.", remedy=error.remedy) from None
                pause = error.pause_s if error.pause_s is not None else _FIRST_PAUSE_S * 2**tried
                self._sleep(min(pause, _LONGEST_PAUSE_S))
                tried += 1

    def _once(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        if self._client is None:
            raise EngineError("This engine was closed.")
        url = f"{self._root}{path}" if path.startswith("/") else f"{self._base}/{path}"
        try:
            with self._client.stream(method, url, json=body) as response:
                content = self._read(response)
        except httpx.TimeoutException:
            raise EngineError(
                f"The model server {self.name} did not answer within {self._timeout_s:g} s.",
                remedy="Raise engine.server_timeout_s, or see what the server is doing.",
            ) from None
        except httpx.TransportError as error:
            raise _AgainError(
                f"The model server {self.name} can't be reached or broke off "
                f"({self._clean(str(error)) or type(error).__name__})",
                remedy="Start it, or set engine.server to its address.",
            ) from None
        return self._judge(response, content)

    def _read(self, response: httpx.Response) -> bytes:
        started = self._clock.monotonic()
        parts: list[bytes] = []
        size = 0
        for part in response.iter_raw():
            size += len(part)
            if size > _MAX_REPLY_BYTES:
                raise EngineError(
                    f"The model server {self.name} sent more than {_MAX_REPLY_BYTES >> 20} MiB.",
                    remedy="Is engine.server the address of a model server?",
                )
            # The time-out of the library is per read: a byte now and then would never end.
            if self._clock.monotonic() - started > self._timeout_s:
                raise EngineError(
                    f"The model server {self.name} had not finished after {self._timeout_s:g} s.",
                    remedy="Raise engine.server_timeout_s.",
                )
            parts.append(part)
        return b"".join(parts)

    def _judge(self, response: httpx.Response, content: bytes) -> Any:
        status = response.status_code
        if status in _AGAIN or (status >= 500 and status != 501):
            raise _AgainError(
                f"The model server {self.name} answered {status}{self._reason(content)}",
                remedy="See the server's own log.",
                pause_s=_retry_after_s(response.headers.get("Retry-After")),
            )
        if 300 <= status < 400:
            raise EngineError(
                f"The model server {self.name} points elsewhere ({status}); redirects are "
                "not followed.",
                remedy="Set engine.server to the address that is meant.",
            )
        if status in (401, 403):
            raise RefusedError(
                f"The model server {self.name} refuses the key ({status})."
                if self._key
                else f"The model server {self.name} wants a key ({status}).",
                status=status,
                remedy=f"Put it into the environment variable {KEY_VARIABLE}.",
            )
        if status >= 400:
            raise RefusedError(
                f"The model server {self.name} refused the request: "
                f"{status}{self._reason(content)}.",
                status=status,
            )
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise _NotJsonError(f"The model server {self.name} sent a coded reply unasked.")
        try:
            return _loaded(content)
        except (ValueError, RecursionError):
            raise _NotJsonError(
                f"The model server {self.name} sent no JSON: {self._short(content)}.",
                remedy="Is engine.server the address of a model server, with /v1 at its end?",
            ) from None

    def _reason(self, content: bytes) -> str:
        """Return what an error reply says, as one short line."""
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            return f" ({self._short(content)})" if content.strip() else ""
        inner = data.get("error", data) if isinstance(data, dict) else data
        text = inner.get("message", inner) if isinstance(inner, dict) else inner
        return f" ({self._clean(str(text))[:300]})"

    def _short(self, content: bytes) -> str:
        return self._clean(content[:2_000].decode("utf-8", "replace"))[:120]

    def _clean(self, text: str) -> str:
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line.replace(self._key, "…") if self._key else line


class _AgainError(EngineError):
    """A failure after which the same request may be sent again."""

    def __init__(self, message: str, *, remedy: str = "", pause_s: float | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.pause_s = pause_s


class _NotJsonError(EngineError):
    """A reply that is no JSON document."""


def _loaded(content: bytes) -> Any:
    """Return a JSON document, with ``?`` for halves of characters, which no file can hold."""
    data = json.loads(content)
    if _HALF.search(content):
        data = json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    return data


def _read_key() -> str:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    # Refused here, because the library's own complaint would show it.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SettingError(
            f"{KEY_VARIABLE} holds characters that no key has.",
            remedy="Set it to the key alone, on one line.",
        )
    return key


def _retry_after_s(text: str | None) -> float | None:
    """Return the seconds that a ``Retry-After`` asks for; a date is not worth a wall clock."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
