"""Accounts and logins: scrypt for passwords, hashed tokens for cookies.

The token in a cookie is random and only its SHA-256 is stored, so a copy of
the file logs nobody in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
import unicodedata
from dataclasses import dataclass

from harness.quiz import normalise_text

__all__ = [
    "SCRYPT_COST",
    "Account",
    "BadCredentialsError",
    "add_account",
    "check_credentials",
    "check_password",
    "find_account",
    "forget_login",
    "hash_password",
    "logged_in",
    "new_login",
    "replace_password",
]

SCRYPT_COST = 2**14  # about 50 ms and 16 MB a password
_BLOCK, _LANES = 8, 1
_NAME_CHARS = 64
_PASSWORD_CHARS = 1024


class BadCredentialsError(ValueError):
    """A user name or password that no account can have; the text says why."""


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who plays."""

    id: int
    username: str
    role: str
    password: str


def check_credentials(username: object, password: object) -> tuple[str, str]:
    """Return name and password as they are kept.

    Raises :class:`BadCredentialsError` when one of them is no text, empty, too
    long or holds characters that can't be shown.
    """
    if not isinstance(username, str) or not isinstance(password, str):
        raise BadCredentialsError("username and password must be texts.")
    name = unicodedata.normalize("NFC", username).strip()
    if not name or len(name) > _NAME_CHARS or not name.isprintable():
        raise BadCredentialsError(
            f"A username has 1 to {_NAME_CHARS} characters, all of them printable."
        )
    try:
        password.encode()
    except UnicodeEncodeError:
        raise BadCredentialsError("The password is not valid Unicode.") from None
    if not password or len(password) > _PASSWORD_CHARS:
        raise BadCredentialsError(f"A password has 1 to {_PASSWORD_CHARS} characters.")
    return name, password


def hash_password(password: str, cost: int = SCRYPT_COST) -> str:
    """Return ``scrypt$cost$salt$hash`` for a password; slow on purpose."""
    salt = secrets.token_bytes(16)
    return f"scrypt${cost}${salt.hex()}${_scrypt(password, salt, cost).hex()}"


def check_password(password: str, kept: str) -> bool:
    """Return whether ``password`` is the one that ``kept`` was made from."""
    _, cost, salt, expected = kept.split("$")
    found = _scrypt(password, bytes.fromhex(salt), int(cost))
    return hmac.compare_digest(found, bytes.fromhex(expected))


def _scrypt(password: str, salt: bytes, cost: int) -> bytes:
    memory = 128 * _BLOCK * cost + 2**20
    return hashlib.scrypt(
        password.encode(), salt=salt, n=cost, r=_BLOCK, p=_LANES, maxmem=memory, dklen=32
    )


def find_account(connection: sqlite3.Connection, username: str) -> Account | None:
    """Return the account of that name, whatever its case."""
    row = connection.execute(
        "SELECT id, username, role, password FROM account WHERE name_key = ?",
        (normalise_text(username),),
    ).fetchone()
    return Account(*row) if row else None


def add_account(
    connection: sqlite3.Connection, username: str, password: str, now_wall_s: float
) -> bool:
    """Add an account with a hashed password; ``False`` when the name is taken."""
    done = connection.execute(
        "INSERT INTO account (username, name_key, role, password, created_wall_s) "
        "VALUES (?, ?, 'player', ?, ?) ON CONFLICT (name_key) DO NOTHING",
        (username, normalise_text(username), password, now_wall_s),
    )
    return done.rowcount == 1


def replace_password(connection: sqlite3.Connection, account_id: int, password: str) -> None:
    """Give an account another hashed password and end all its logins."""
    connection.execute("UPDATE account SET password = ? WHERE id = ?", (password, account_id))
    connection.execute("DELETE FROM login WHERE account_id = ?", (account_id,))


def new_login(
    connection: sqlite3.Connection, account_id: int, now_wall_s: float, life_s: float
) -> str:
    """Return a fresh token for an account; expired ones are swept out."""
    token = secrets.token_urlsafe(32)
    connection.execute("DELETE FROM login WHERE expires_wall_s <= ?", (now_wall_s,))
    connection.execute(
        "INSERT INTO login (token_hash, account_id, expires_wall_s) VALUES (?, ?, ?)",
        (_token_hash(token), account_id, now_wall_s + life_s),
    )
    return token


def logged_in(connection: sqlite3.Connection, token: str, now_wall_s: float) -> Account | None:
    """Return whose token this is, ``None`` for an unknown or expired one."""
    row = connection.execute(
        "SELECT a.id, a.username, a.role, a.password FROM login AS l "
        "JOIN account AS a ON a.id = l.account_id "
        "WHERE l.token_hash = ? AND l.expires_wall_s > ?",
        (_token_hash(token), now_wall_s),
    ).fetchone()
    return Account(*row) if row else None


def forget_login(connection: sqlite3.Connection, token: str) -> None:
    """End a login; an unknown token is no error."""
    connection.execute("DELETE FROM login WHERE token_hash = ?", (_token_hash(token),))


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
