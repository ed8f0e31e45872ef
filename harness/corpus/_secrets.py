"""What must never reach the disk, and how it is taken out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote_plus, urlsplit

from harness.corpus._values import RequestPolicy

__all__ = [
    "REMOVED",
    "is_secret_param",
    "param_name",
    "scrub_bytes",
    "scrub_text",
    "scrub_url",
    "secrets_of",
]

REMOVED: Final = "REMOVED"

# Shorter values are too likely to be ordinary words of a page or a message.
_SHORTEST_IN_TEXT: Final = 4
_SHORTEST_IN_BODY: Final = 8

_PARAMS: Final = frozenset(
    {
        "access_key",
        "access_token",
        "api_key",
        "api_token",
        "apikey",
        "auth",
        "auth_token",
        "authorization",
        "bearer",
        "client_secret",
        "credential",
        "credentials",
        "id_token",
        "jsessionid",
        "jwt",
        "key",
        "passwd",
        "password",
        "phpsessid",
        "private_key",
        "pwd",
        "refresh_token",
        "secret",
        "secret_key",
        "session",
        "session_id",
        "sessionid",
        "sig",
        "signature",
        "subscription_key",
        "subscription_token",
        "token",
        "x_amz_credential",
        "x_amz_security_token",
        "x_amz_signature",
        "x_api_key",
    }
)

_HEADERS: Final = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "proxy-authorization",
        "x-api-key",
        "x-auth-token",
        "x-subscription-token",
    }
)

_USERINFO = re.compile(r"(?<=//)[^/?#\s]*@")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z][\w.-]{0,60})=(?P<value>[^&#;,\s\"'<>)]+)")
_PIECES = re.compile(r"[;,\s]+")


def param_name(name: str) -> str:
    """Return a parameter's name as it is compared: lower case, ``-`` and ``.`` as ``_``."""
    return name.lower().replace("-", "_").replace(".", "_")


def is_secret_param(name: str, policy: RequestPolicy) -> bool:
    """Return whether a query parameter of this name holds a secret."""
    plain = param_name(name)
    return plain in _PARAMS or plain in map(param_name, policy.secret_params)


def secrets_of(
    url: str, headers: Mapping[str, str], policy: RequestPolicy
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a request's secret values: those to take out of texts, and out of bodies.

    The second are fewer: the ones that the policy declares, those of an
    authorisation header, and others that no word could be.  A parameter that
    merely has a suspicious name may hold an ordinary word, which must not be
    blanked throughout a page.
    """
    declared = {param_name(name) for name in policy.secret_params}
    strict: list[str] = []
    loose: list[str] = []
    for name, value in parse_qsl(urlsplit(url).query, keep_blank_values=False):
        if param_name(name) in declared:
            strict.append(value)
        elif param_name(name) in _PARAMS:
            loose.append(value)
    named = {name.lower() for name in policy.secret_headers}
    for name, value in headers.items():
        lower = name.lower()
        if lower in named or (lower in _HEADERS and lower != "cookie"):
            strict.extend(_pieces(value))
        elif lower in _HEADERS:
            loose.extend(_pieces(value))
    userinfo = _USERINFO.search(url)
    if userinfo:
        loose.extend(unquote_plus(part) for part in userinfo.group()[:-1].split(":"))
    strict.extend(value for value in loose if _is_no_word(value))
    return (
        _longest_first([*strict, *loose], _SHORTEST_IN_TEXT),
        _longest_first(strict, _SHORTEST_IN_BODY),
    )


def _is_no_word(value: str) -> bool:
    return len(value) >= 20 or (not value.isalpha() and not value.isdecimal())


def _pieces(value: str) -> list[str]:
    return [value, *(piece.partition("=")[2] or piece for piece in _PIECES.split(value))]


def _longest_first(values: Iterable[str], shortest: int) -> tuple[str, ...]:
    distinct = {value for value in values if len(value) >= shortest}
    distinct |= {quote(value, safe="") for value in distinct}
    return tuple(sorted(distinct, key=lambda value: (-len(value), value)))


def scrub_text(text: str, secrets: Iterable[str], policy: RequestPolicy) -> str:
    """Return ``text`` without the secret values, user names in URLs and ``key=…``."""
    for secret in secrets:
        text = text.replace(secret, REMOVED)
    text = _USERINFO.sub("", text)

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        return f"{name}={REMOVED}" if is_secret_param(name, policy) else match.group()

    return _ASSIGNMENT.sub(replace, text)


def scrub_bytes(body: bytes, secrets: Iterable[str]) -> bytes:
    """Return ``body`` without secret values that the server repeated."""
    for secret in secrets:
        body = body.replace(secret.encode(), REMOVED.encode())
    return body


def scrub_url(url: str, policy: RequestPolicy) -> str:
    """Return a URL, possibly relative, without user name, fragment and secret parameters.

    What is left is unchanged, so that following it asks for the same page.
    """
    url = url.partition("#")[0]
    url = _USERINFO.sub("", url, count=1) if "@" in url.partition("?")[0] else url
    base, mark, query = url.partition("?")
    if not mark:
        return base
    kept = [
        pair
        for pair in query.split("&")
        if not is_secret_param(unquote_plus(pair.partition("=")[0]), policy)
    ]
    return f"{base}?{'&'.join(kept)}" if any(kept) else base
