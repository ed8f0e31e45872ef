"""A quiz server to practise against: the whole protocol, clock and speech included.

:class:`PracticeServer` runs one; ``hotseat serve`` does it from the command
line.  Play against it as against the real one.
"""

from __future__ import annotations

from harness.games.practice._accounts import (
    BadCredentialsError,
    add_account,
    check_credentials,
    find_account,
    hash_password,
    replace_password,
)
from harness.games.practice._database import Database
from harness.games.practice._pool import Competition, Pool
from harness.games.practice._rules import LEVELS, LIMIT_S, PYRAMID
from harness.games.practice._service import ServerOptions
from harness.games.practice._synthesiser import SpeechError, Synthesiser, find_synthesiser
from harness.games.practice._time import ServerTime
from harness.games.practice.export import export_games
from harness.games.practice.server import PracticeServer, default_database

__all__ = [
    "LEVELS",
    "LIMIT_S",
    "PYRAMID",
    "BadCredentialsError",
    "Competition",
    "Database",
    "Pool",
    "PracticeServer",
    "ServerOptions",
    "ServerTime",
    "SpeechError",
    "Synthesiser",
    "add_account",
    "check_credentials",
    "default_database",
    "export_games",
    "find_account",
    "find_synthesiser",
    "hash_password",
    "replace_password",
]
