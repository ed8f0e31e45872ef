"""A request that is refused: its status and what the body says."""

from __future__ import annotations

__all__ = ["Refusal"]


class Refusal(Exception):  # noqa: N818 - an answer to a client, not a failure of the server
    """Ends a request with ``status`` and the JSON body ``{"message": message}``."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
