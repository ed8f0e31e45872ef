"""The practice server's application: its routes, composed.

Further routes go in through ``extra_routes`` of :func:`create_app`, or as
another module of routes beside the ones below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from harness.games.practice._account_routes import account_routes
from harness.games.practice._audio_routes import audio_routes
from harness.games.practice._game_routes import game_routes
from harness.games.practice._http import EXCEPTION_HANDLERS
from harness.games.practice._middleware import RateLimit, Told
from harness.games.practice._service import Service
from harness.games.practice._watch_routes import watch_routes
from harness.games.practice._web_routes import web_routes

__all__ = ["create_app"]


def create_app(
    service: Service,
    *,
    extra_routes: Sequence[BaseRoute] = (),
    tell: Callable[[str], None] | None = None,
) -> Starlette:
    """Return the application over a service, which the caller closes.

    ``tell`` gets one line a request, without anything secret in it.
    """
    routes = [
        *account_routes(service),
        *game_routes(service),
        *audio_routes(service),
        *extra_routes,  # may take the place of the page
        *watch_routes(service),
        *web_routes(),
    ]
    for route in routes:
        if isinstance(route, Route) and route.methods and route.path.startswith("/api/"):
            # A HEAD for an option's clip would count as its delivery.
            route.methods.discard("HEAD")
    middleware = []
    if tell is not None:
        middleware.append(Middleware(Told, tell=tell))
    if service.options.rate is not None:
        clock = service.time.clock
        middleware.append(Middleware(RateLimit, rate=service.options.rate, clock=clock))
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=EXCEPTION_HANDLERS)
    app.router.redirect_slashes = False
    return app
