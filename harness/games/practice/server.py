"""A practice server as an object: in the foreground for ``hotseat serve``, or beside a program."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from harness.errors import BadInputError, MissingError
from harness.games.practice._clips import ClipCache, Clips
from harness.games.practice._database import Database
from harness.games.practice._pool import Pool
from harness.games.practice._service import ServerOptions, Service
from harness.games.practice._synthesiser import Synthesiser, find_synthesiser
from harness.games.practice._time import ServerTime
from harness.games.practice.app import create_app
from harness.home import home
from harness.quiz import Question

if TYPE_CHECKING:
    import uvicorn
    from starlette.routing import BaseRoute

__all__ = ["PracticeServer", "default_database"]

_FIND = "find"
_STOP_S = 3


class PracticeServer:
    """The quiz server of the protocol, to practise against.

    In a program or notebook::

        with PracticeServer(questions) as server:
            play_against(server.url)

    ``database`` is the file that keeps accounts and games (by default one in
    the per-user folder); ``port`` 0 takes a free one.  ``synthesiser`` is
    found by itself; ``None`` leaves speech out.

    Raises :class:`~harness.errors.BadInputError` without a playable question,
    for a file that can't be used, or a port that can't be had.
    """

    def __init__(
        self,
        questions: Iterable[Question],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        database: Path | None = None,
        options: ServerOptions | None = None,
        synthesiser: Synthesiser | str | None = _FIND,
        time: ServerTime | None = None,
        extra_routes: Sequence[BaseRoute] = (),
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.pool = Pool.of(questions)
        if not self.pool.competitions:
            raise BadInputError(
                "No question can be played"
                + "".join(f"; {n} {why}" for why, n in self.pool.left_out.items())
                + ".",
                remedy="A playable question has four options or more, and its answer is known.",
            )
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        try:
            self._database = Database(database or default_database())
        except BaseException:
            self._socket.close()
            raise
        try:
            voice = find_synthesiser() if isinstance(synthesiser, str) else synthesiser
            self.service = Service(
                self.pool,
                self._database,
                Clips(voice, ClipCache(home() / "speech")),
                options=options or ServerOptions(),
                time=time or ServerTime(),
            )
        except BaseException:
            self._database.close()
            self._socket.close()
            raise
        self._app = create_app(self.service, extra_routes=extra_routes, tell=tell)
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def speech(self) -> str | None:
        """What speaks, ``None`` without speech."""
        voice = self.service.clips.synthesiser
        return voice.identity if voice else None

    def run(self) -> None:
        """Serve until a signal ends it; Ctrl-C then raises :class:`KeyboardInterrupt`."""
        self._prepare().run(sockets=[self._socket])

    def start(self) -> PracticeServer:
        """Serve in a thread; return when requests are answered."""
        server = self._prepare()
        self._thread = threading.Thread(
            target=server.run, kwargs={"sockets": [self._socket]}, name="hotseat-serve", daemon=True
        )
        self._thread.start()
        while not server.started:
            if not self._thread.is_alive():
                raise MissingError("The practice server did not start.")
            time.sleep(0.005)
        return self

    def close(self) -> None:
        """End the serving and let go of port and file; once is enough."""
        if self._closed:
            return
        self._closed = True
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self.service.close()
        self._database.close()
        self._socket.close()

    def __enter__(self) -> PracticeServer:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _prepare(self) -> uvicorn.Server:
        import uvicorn

        config = uvicorn.Config(
            self._app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,  # nobody may say that he is somebody else
            timeout_graceful_shutdown=_STOP_S,
        )
        self._server = uvicorn.Server(config)
        return self._server


def default_database() -> Path:
    """Return the file that is used where none is named."""
    return home() / "practice" / "games.sqlite"


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With its protocol named, asyncio sends small replies without delay (TCP_NODELAY).
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # elsewhere the option lets two servers share a port
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(1024)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise BadInputError(
            f"Can't listen on {host}, port {port}: {error.strerror or error}.",
            remedy="Choose another with --port, or stop what uses it.",
        ) from None
    return listening
