"""The identity of a request: one pure function, and all that it takes in and leaves out."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from harness.corpus._secrets import is_secret_param, param_name
from harness.corpus._values import PAGE, RequestPolicy
from harness.errors import BadInputError

__all__ = ["ANY_LANGUAGE", "KEY_FORMAT", "RequestKey", "normalise_url", "request_key"]

KEY_FORMAT: Final = "hotseat-request/1"

ANY_LANGUAGE: Final = "*"
"""The language of a request that was not recorded by Hotseat: it answers any."""

_DEFAULT_POLICY: Final = RequestPolicy()
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_FORM: Final = "application/x-www-form-urlencoded"

_PLAIN_PATH = re.compile(r"[A-Za-z0-9\-._~/]*")
_TOKEN = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_PATH_LITERALS: Final = "/:@!$&'()*+,;="
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A request's identity, in parts, as canonical text and as its SHA-256 in hex.

    ``url`` is normalised and holds no secrets.  ``body_sha256`` is ``None``
    without a body.
    """

    provider: str
    method: str
    url: str
    accept_language: str
    body_sha256: str | None
    canonical: str = field(init=False, repr=False)
    sha256: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        canonical = "\n".join(
            (
                KEY_FORMAT,
                f"provider: {self.provider}",
                f"{self.method} {self.url}",
                f"accept-language: {self.accept_language}",
                f"body: {self.body_sha256 or ''}",
            )
        )
        object.__setattr__(self, "canonical", canonical)
        object.__setattr__(self, "sha256", hashlib.sha256(canonical.encode()).hexdigest())

    @property
    def label(self) -> str:
        """The request in one line for people."""
        extra = [f"Accept-Language {self.accept_language}"] if self.accept_language else []
        if self.body_sha256:
            extra.append(f"body {self.body_sha256[:12]}")
        return f"{self.method} {self.url}" + (f" ({', '.join(extra)})" if extra else "")

    def in_any_language(self) -> RequestKey:
        """Return the key under which an archive by another tool would hold this page."""
        return RequestKey(self.provider, self.method, self.url, ANY_LANGUAGE, self.body_sha256)


def request_key(
    method: str,
    url: object,
    headers: Mapping[str, str],
    body: bytes | None,
    policy: RequestPolicy = _DEFAULT_POLICY,
) -> RequestKey:
    """Return the identity of a request.

    Key material: the policy's provider; the method in upper case; the URL as
    :func:`normalise_url` leaves it; ``Accept-Language``, because it changes
    which page comes back; the SHA-256 of the body (of a form's pairs, sorted
    and without secrets).

    Left out, and why: secret parameters and user names (never to reach the
    disk, and two people's keys ask the same question); volatile parameters
    (they differ each time); the fragment (not sent); all other headers (they
    describe the client, and pages that depend on them would differ between any
    two clients); for a provider other than ``"page"`` also scheme, host and
    port, because *which* instance of a search service answers is not part of
    the question.

    ``url`` is anything whose text is an absolute URL.  Raises
    :class:`~harness.errors.BadInputError` when it is none.
    """
    language = kind = ""
    for name, value in headers.items():
        lower = name.lower()
        if lower == "accept-language":
            language = _language(value)
        elif lower == "content-type":
            kind = value
    return RequestKey(
        provider=policy.provider,
        method=method.upper(),
        url=normalise_url(str(url), policy),
        accept_language=language,
        body_sha256=_body_sha256(body, kind, policy),
    )


def normalise_url(url: str, policy: RequestPolicy = _DEFAULT_POLICY) -> str:
    """Return the one spelling of a URL, in printable ASCII.

    Scheme and host in lower case, the host in its IDNA form; without user
    name, default port and fragment; an empty path is ``/``.  The path keeps
    escaped reserved characters apart from bare ones.  Query pairs are decoded
    (``+`` is a blank), stripped of secret and volatile ones, sorted by name
    and value and encoded again.  Text is in Unicode's form NFC; escaped bytes
    that are no UTF-8 stay as they are.

    Raises :class:`~harness.errors.BadInputError` for text that is not an
    absolute URL.
    """
    text = url.strip().encode("utf-8", "replace").decode()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadInputError(f"'{text[:200]}' is not a URL: {error}.") from None
    if not parts.scheme or not host:
        raise BadInputError(f"'{text[:200]}' is not an absolute URL.")
    path = _normalise_path(parts.path)
    query = _normalise_query(parts.query.encode(), policy)
    rest = f"{path}?{query}" if query else path
    if policy.provider != PAGE:
        return f"{policy.provider}:{rest}"
    host = _normalise_host(host)
    # ``urlsplit`` gives the scheme in lower case.
    shown = "" if port is None or port == _DEFAULT_PORTS.get(parts.scheme) else f":{port}"
    return f"{parts.scheme}://{host}{shown}{rest}"


def _normalise_host(host: str) -> str:
    host = host.lower()
    if ":" in host:
        return f"[{host}]"
    if host.isascii():
        return quote_from_bytes(host.encode(), safe="!$&'()*+,;=%")
    import httpx  # its rule for international names, so that both sides agree

    try:
        return httpx.URL(scheme="http", host=host).raw_host.decode()
    except httpx.InvalidURL:
        return quote_from_bytes(unicodedata.normalize("NFC", host).encode())


def _normalise_path(path: str) -> str:
    if _PLAIN_PATH.fullmatch(path):
        return path or "/"
    done: list[str] = []
    run = bytearray()  # bytes whose characters may combine with each other

    def flush() -> None:
        text = unicodedata.normalize("NFC", run.decode("utf-8", "surrogateescape"))
        done.append(quote_from_bytes(text.encode("utf-8", "surrogateescape"), _PATH_LITERALS))
        run.clear()

    for token in _TOKEN.findall(path):
        raw = token.encode() if len(token) == 1 else bytes([int(token[1:], 16)])
        if raw[0] >= 0x80 or raw[0] in _UNRESERVED or (len(token) == 1 and token in _PATH_LITERALS):
            run += raw
        else:
            # Clients escape these.  What follows one must not combine with it
            # ("<" and U+0338 would), as it can't once it is escaped.
            flush()
            done.append(f"%{raw[0]:02X}")
    flush()
    joined = "".join(done)
    return joined if joined.startswith("/") else f"/{joined}"


def _normalise_query(query: bytes, policy: RequestPolicy) -> str:
    volatile = {param_name(name) for name in policy.volatile_params}
    pairs = []
    for pair in filter(None, query.split(b"&")):
        name, _, value = pair.partition(b"=")
        decoded = _decode(name)
        if is_secret_param(decoded, policy) or param_name(decoded) in volatile:
            continue
        pairs.append((decoded, _decode(value)))
    # Sorted by code point; NFC first, so that equal texts sort equally.
    return "&".join(f"{_encode(name)}={_encode(value)}" for name, value in sorted(pairs))


def _decode(raw: bytes) -> str:
    text = unquote_to_bytes(raw.replace(b"+", b" ")).decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFC", text)


def _encode(text: str) -> str:
    return quote_from_bytes(text.encode("utf-8", "surrogateescape"), safe="")


def _language(value: str) -> str:
    """Return the header in lower case without blanks or anything but printable ASCII."""
    return "".join(char for char in value.lower() if "!" <= char <= "~")


def _body_sha256(body: bytes | None, content_type: str, policy: RequestPolicy) -> str | None:
    if not body:
        return None
    if content_type.partition(";")[0].strip().lower() == _FORM:
        body = _normalise_query(body, policy).encode()
    return hashlib.sha256(body).hexdigest()
