"""Models from a model hub: ask for a file's facts first, then fetch it by byte range.

``huggingface_hub`` builds addresses, sends the user's login and reads what the
hub says about a file.  The bytes are fetched here, because a download of ours
must go on where a killed one stopped and must not hang on a silent server.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.models._files import hash_file
from harness.models._progress import Reporter
from harness.models._scratch import Delivery, Scratch, SourceError
from harness.models._spec import HubSource, ModelFile

__all__ = ["fetch", "forget_unreachable"]

PROBE_TIMEOUT_S = 3.0
_PROBE_GRACE_S = 1.0
_READ_TIMEOUT_S = 20.0
_ATTEMPTS = 4
# A download slower than this over a whole window is given up.
_WINDOW_S = 30.0
_MIN_WINDOW_BYTES = 64 << 10
_MAX_UNKNOWN_BYTES = 100 << 30

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TRUE = {"1", "ON", "YES", "TRUE"}

# Hubs that did not answer in this process: only the first pull waits for one.
_unreachable: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the hub says about one file."""

    url: str
    size_bytes: int | None
    sha256: str | None
    identity: str
    headers: dict[str, str]


def forget_unreachable() -> None:
    """Ask every hub again, also those that did not answer before."""
    _unreachable.clear()


def fetch(
    source: HubSource, wanted: Sequence[ModelFile], scratch: Scratch, report: Reporter
) -> Iterator[Delivery]:
    """Fetch the wanted files one after the other, after a short probe of the hub."""
    endpoint = _endpoint()
    facts = [(file, _ask(endpoint, source, file)) for file in wanted]
    sizes = {file.name: file.size_bytes or fact.size_bytes or 0 for file, fact in facts}
    scratch.require_space(sum(sizes.values()))
    if report.total_bytes is None and all(sizes.values()):
        report.total_bytes = scratch.ready_bytes + sum(sizes.values())
    for file, fact in facts:
        target = scratch.hub / f"{hashlib.sha256(fact.identity.encode()).hexdigest()[:24]}.part"
        _download(fact, file, target, report, scratch.ready_bytes)
        label = f"{_shown(endpoint)}/{source.repository}@{source.revision}"
        yield Delivery(file, target, hash_file(target), label, fact.sha256)


def _endpoint() -> str:
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(variable, "").upper() in _TRUE:
            raise SourceError(f"skipped, because {variable} is set")
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SourceError("skipped, because HF_ENDPOINT is no http(s) address")
    if endpoint in _unreachable:
        raise SourceError(
            f"skipped, {_shown(endpoint)} could not be reached before ({_unreachable[endpoint]})"
        )
    return endpoint


def _ask(endpoint: str, source: HubSource, file: ModelFile) -> _Facts:
    """Ask the hub about one file, within seconds whatever the hub does."""
    # Read when the library is first imported: without it, newer releases ask the
    # hub for more than the file, to learn what is running them.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    hub_utils: Any = import_module("huggingface_hub.utils")
    url = hf_hub_url(source.repository, file.name, revision=source.revision, endpoint=endpoint)
    try:
        metadata = _bounded(lambda: get_hf_file_metadata(url, timeout=PROBE_TIMEOUT_S))
    except GatedRepoError:
        raise SourceError(f"{source.repository} needs a login ('hf auth login')") from None
    except RepositoryNotFoundError:
        raise SourceError(f"{_shown(endpoint)} has no repository {source.repository}") from None
    except HfHubHTTPError as error:
        code = error.response.status_code if error.response is not None else "an error"
        raise SourceError(f"{_shown(endpoint)} answered {code} for {file.name}") from None
    except Exception as error:  # noqa: BLE001 - its HTTP library, and so its errors, vary by version
        reason = _plain(error)
        _unreachable[endpoint] = reason
        raise SourceError(f"{_shown(endpoint)} can't be reached ({reason})") from None
    if metadata.commit_hash is None:
        raise SourceError(f"{_shown(endpoint)} answers, but not like a model hub")
    etag = metadata.etag or ""
    facts = _Facts(
        url=metadata.location,
        size_bytes=metadata.size,
        # For large files the hub's ETag is the SHA-256 of the content.
        sha256=etag if _SHA256.fullmatch(etag) else None,
        identity="\0".join((source.repository, file.name, metadata.commit_hash, etag)),
        # The login goes to the hub only, never to the storage it redirects to.
        headers=hub_utils.build_hf_headers() if _same_host(metadata.location, endpoint) else {},
    )
    _check_told(endpoint, file, facts)
    return facts


def _check_told(endpoint: str, file: ModelFile, facts: _Facts) -> None:
    """Refuse a file that the hub itself says is another one, before fetching it."""
    if None not in (file.size_bytes, facts.size_bytes) and file.size_bytes != facts.size_bytes:
        raise SourceError(
            f"{file.name} has {facts.size_bytes:,} bytes at {_shown(endpoint)} "
            f"instead of {file.size_bytes:,}"
        )
    if None not in (file.sha256, facts.sha256) and file.sha256 != facts.sha256:
        raise SourceError(
            f"{file.name} has sha256 {facts.sha256} at {_shown(endpoint)}, expected {file.sha256}"
        )


def _bounded(call: Callable[[], Any]) -> Any:
    """Run a call in a thread and wait a little longer than its own time-out.

    Looking up a host name obeys no time-out, and a server that sends a byte
    now and then outlives one per read.
    """
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((True, call()))
        except Exception as error:  # noqa: BLE001 - handed to the waiting thread, which raises it
            outcome.append((False, error))

    thread = threading.Thread(target=run, name="hub-probe", daemon=True)
    thread.start()
    thread.join(PROBE_TIMEOUT_S + _PROBE_GRACE_S)
    if not outcome:
        raise TimeoutError(f"no answer within {PROBE_TIMEOUT_S:.0f} s")
    good, value = outcome[0]
    if not good:
        raise value
    return value


def _plain(error: Exception) -> str:
    kind = type(error).__name__
    if "Timeout" in kind or "timed out" in str(error):
        return f"no answer within {PROBE_TIMEOUT_S:.0f} s"
    text = str(error).splitlines()[0] if str(error) else kind
    # Some libraries wrap the system's words in several layers of their own.
    system = re.search(r"\[Errno -?\d+\] ([\w ,.-]+)", text)
    return (system.group(1) if system else text)[:160]


def _shown(endpoint: str) -> str:
    """Return an endpoint without the login that its address may carry."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _same_host(url: str, endpoint: str) -> bool:
    return urlsplit(url).netloc == urlsplit(endpoint).netloc


def _download(
    facts: _Facts, file: ModelFile, target: Path, report: Reporter, base_bytes: int
) -> None:
    """Fetch a file, going on after what is there and again after a broken connection."""
    import httpx

    if facts.size_bytes is None:  # then nothing tells a whole file from half of one
        target.unlink(missing_ok=True)
    here = target.stat().st_size if target.exists() else 0
    if here:
        report.note(f"Resuming {file.name} at {here:,} bytes.")
    failures = 0
    while facts.size_bytes is None or here < facts.size_bytes or here == 0:
        try:
            _stream(facts, file, target, report, base_bytes)
            break
        except httpx.HTTPStatusError as error:
            raise SourceError(
                f"{urlsplit(facts.url).hostname} answered {error.response.status_code} "
                f"for {file.name}"
            ) from None
        except httpx.HTTPError as error:
            now = target.stat().st_size if target.exists() else 0
            failures = 1 if now > here else failures + 1
            here = now
            if failures >= _ATTEMPTS:
                raise SourceError(
                    f"the download of {file.name} kept breaking off ({_plain(error)})"
                ) from None
            time.sleep(0.1 * failures)


def _stream(
    facts: _Facts, file: ModelFile, target: Path, report: Reporter, base_bytes: int
) -> None:
    import httpx

    here = target.stat().st_size if target.exists() else 0
    headers = {**facts.headers, "Accept-Encoding": "identity"}
    if here:
        headers["Range"] = f"bytes={here}-"
    limit = facts.size_bytes or file.size_bytes or _MAX_UNKNOWN_BYTES
    with (
        httpx.Client(follow_redirects=True, timeout=_READ_TIMEOUT_S) as client,
        client.stream("GET", facts.url, headers=headers) as response,
    ):
        response.raise_for_status()
        resumed = here and response.status_code == httpx.codes.PARTIAL_CONTENT
        done = here if resumed else 0
        with target.open("ab" if resumed else "wb") as stream:
            window_end, window_bytes = time.monotonic() + _WINDOW_S, 0
            for chunk in response.iter_raw():  # as it arrives: what came before a break is kept
                done += len(chunk)
                if done > limit:
                    stream.close()
                    target.unlink()
                    raise SourceError(f"{file.name} is longer than the {limit:,} bytes announced")
                stream.write(chunk)
                report.moved(base_bytes + done)
                window_bytes += len(chunk)
                if time.monotonic() > window_end:
                    if window_bytes < _MIN_WINDOW_BYTES:
                        raise SourceError(f"the download of {file.name} has all but stopped")
                    window_end, window_bytes = time.monotonic() + _WINDOW_S, 0
            stream.flush()
            os.fsync(stream.fileno())
    if facts.size_bytes is not None and done < facts.size_bytes:
        raise httpx.RemoteProtocolError(f"cut short at {done:,} of {facts.size_bytes:,} bytes")
