"""The page to play and watch on: a few files, and headers that keep it to itself."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

__all__ = ["web_routes"]

_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FILES = (
    "index.html",
    "page.css",
    "page.js",
    "api.js",
    "dom.js",
    "play.js",
    "speech.js",
    "watch.js",
    "icon.svg",
)
# Nothing but this server's own files, and nobody may put the page into a frame.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; media-src 'self' blob:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def web_routes() -> list[BaseRoute]:
    """Return the routes of the page's files, which are read once."""
    folder = files("harness.games.practice") / "web"
    return [
        _route("/" if name == "index.html" else f"/page/{name}", (folder / name).read_bytes(), name)
        for name in _FILES
    ]


def _route(path: str, content: bytes, name: str) -> Route:
    kind = _KINDS[name.rpartition(".")[2]]

    async def serve(request: Request) -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return Route(path, serve, methods=["GET"])
