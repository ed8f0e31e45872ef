"""Whether a part can be used on this machine, and what brings it if not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Availability", "Kind"]

Kind = Literal["engine", "encoder", "reranker", "transcriber"]


@dataclass(frozen=True, slots=True)
class Availability:
    """One engine, encoder, reranker or transcriber, as seen on this machine.

    ``detail`` says what was found ("xllamacpp 2026.10.11549, CPU") or, in one
    sentence, what is missing.  ``install`` is the command that brings it,
    empty where nothing is to be done or no command can help.  ``limits`` says
    in a few words what the part can't do.  Finding out loads no model and
    imports no heavy library.
    """

    kind: Kind
    name: str
    ready: bool
    detail: str
    install: str = ""
    limits: str = ""
