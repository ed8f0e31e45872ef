"""A model server on loopback that answers as a test tells it to, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Raw:
    """A reply byte by byte.  ``length`` is what is announced, whatever is sent."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    endless: bool = False
    silent: bool = False


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


class OddServer:
    """``routes`` maps a path to a JSON value, a :class:`Raw`, a function of the body, or a
    list of those, of which each is given once and the last for ever."""

    def __init__(self) -> None:
        self.routes: dict[str, Any] = {}
        self.asked: list[Asked] = []
        self.over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._answer(self, None)

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                outer._answer(self, json.loads(self.rfile.read(size)))

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def bodies(self, path: str) -> list[Any]:
        return [asked.body for asked in self.asked if asked.path == path]

    def _answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        self.asked.append(
            Asked(
                handler.command,
                handler.path,
                {k.lower(): v for k, v in handler.headers.items()},
                body,
            )
        )
        reply = self.routes.get(handler.path, Raw(404, b"not here"))
        if isinstance(reply, list) and reply:
            reply = reply.pop(0) if len(reply) > 1 else reply[0]
        if callable(reply):
            reply = reply(body)
        if not isinstance(reply, Raw):
            reply = Raw(body=json.dumps(reply).encode())
        with contextlib.suppress(OSError):  # the client had enough
            self._write(handler, reply)
        handler.close_connection = True

    def _write(self, handler: BaseHTTPRequestHandler, reply: Raw) -> None:
        if reply.silent:
            self.over.wait(10)
            return
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        if not reply.endless:
            handler.send_header("Content-Length", str(reply.length or len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body)
        while reply.endless and not self.over.is_set():
            handler.wfile.write(b" " * 65_536)


def words(messages: list[dict[str, str]]) -> int:
    return sum(3 + len(m["content"].split()) for m in messages)


class ChatModel:
    """A chat back end: counts words as tokens and always says ``says``.

    ``continues`` is how it treats a final assistant message: "always",
    "asked" (with ``continue_final_message``) or "never".
    """

    def __init__(
        self, says: str = " Seine", *, continues: str = "always", echo: bool = False, **more: Any
    ) -> None:
        self.says, self.continues, self.echo, self.more = says, continues, echo, more

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = body["messages"]
        begun = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
        goes_on = bool(begun) and (
            self.continues == "always"
            or (self.continues == "asked" and body.get("continue_final_message") is True)
        )
        count = words(messages) + (0 if goes_on else 3)
        text = (begun if goes_on and self.echo else "") + self.says
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
            **self.more,
        }
        usage = {"prompt_tokens": count, "completion_tokens": 1}
        return {"choices": [choice], "usage": usage}


def serve(
    chat: Callable[[dict[str, Any]], Any] | Any = None, *, owner: str = "somebody", **model: Any
) -> OddServer:
    """Return a running server with one model named ``m``."""
    server = OddServer()
    server.routes["/v1/models"] = {"data": [{"id": "m", "owned_by": owner, **model}]}
    server.routes["/v1/chat/completions"] = chat or ChatModel()
    return server
