"""Text out of HTML, by trafilatura in a process of its own.

A hostile page can keep the library busy for minutes or exhaust the C stack.
The process is long-lived, so that its libraries are loaded once, and it is
killed and replaced when a page takes too long; the page then counts as
unreadable and nothing else is lost.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

__all__ = ["MAX_INPUT_CHARS", "Extraction", "Extractor", "close_shared", "shared_extractor"]

MAX_INPUT_CHARS = 2_000_000
_MAX_RESULT_BYTES = 16 * 2**20
# Loading the libraries takes a second or two; a busy machine gets ample time.
_START_S = 120.0
# The worker's own alarm, in case this process is gone.
_GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class Extraction:
    """The main text of a page with what the page says of itself.

    ``text`` is ``None`` when there is none, and ``failure`` then says why, in
    a few words.  ``date`` is the publication date (ISO), ``language`` the
    declared one (``"it"``, ``"en-GB"``); ``cut`` says that the page was longer
    than the extraction reads.
    """

    text: str | None
    title: str = ""
    date: str | None = None
    language: str | None = None
    failure: str | None = None
    cut: bool = False


class Extractor:
    """Owns one worker process; safe to share between threads, one job at a time.

    ``test_hooks`` lets a job ask the worker to misbehave, for tests.
    """

    def __init__(self, *, test_hooks: bool = False) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._test_hooks = test_hooks

    @property
    def pid(self) -> int | None:
        """The worker's process id, ``None`` while none runs."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def extract(
        self, html: str, *, url: str = "", keep_chars: int, timeout_s: float, hook: str = ""
    ) -> Extraction:
        """Return the main text of ``html``, at most its first ``keep_chars`` characters.

        Reads ``MAX_INPUT_CHARS`` characters of the page.  Never raises for
        anything that a page does: a page over ``timeout_s`` seconds, or one
        that brings the worker down, is a failure in words.  Starting the
        worker does not count.
        """
        job: dict[str, Any] = {
            "html": html[:MAX_INPUT_CHARS],
            "url": url,
            "keep_chars": keep_chars,
            "limit_s": timeout_s + _GRACE_S,
        }
        if hook:
            job["hook"] = hook
        cut = len(html) > MAX_INPUT_CHARS
        with self._lock:
            process = self._running()
            if process is None:
                return Extraction(None, failure="the extraction process does not start", cut=cut)
            result, timed_out = self._exchange(process, job, timeout_s)
        if timed_out:
            words = f"text extraction took more than {timeout_s:g} s"
            return Extraction(None, failure=words, cut=cut)
        if result is None:
            return Extraction(None, failure="text extraction broke down", cut=cut)
        return _extraction(result, cut=cut)

    def close(self) -> None:
        """End the worker, if any, and wait until it is gone."""
        with self._lock:
            self._stop()

    def interrupt(self) -> None:
        """Kill the worker although a job is running; that job then fails."""
        process = self._process
        if process is not None and self._owner == os.getpid():
            process.kill()

    def _running(self) -> subprocess.Popen[bytes] | None:
        if self._owner != os.getpid():
            # A fork: the worker, and its pipes, belong to the parent process.
            self._process, self._owner = None, os.getpid()
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._stop()
        script = str(Path(__file__).with_name("_extract_worker.py"))
        # -P: the script's own folder must not shadow other packages.
        command = [sys.executable, "-P", script, *(["--test-hooks"] if self._test_hooks else [])]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"},
            start_new_session=True,  # Ctrl-C is for the main process to handle
        )
        ready, _ = self._exchange(self._process, None, _START_S)
        return self._process if ready is not None else None

    def _exchange(
        self, process: subprocess.Popen[bytes], job: dict[str, Any] | None, timeout_s: float
    ) -> tuple[dict[str, Any] | None, bool]:
        """Send a job and read one result; ``(None, timed out)`` when the worker is lost."""
        assert process.stdin is not None
        assert process.stdout is not None
        expired = threading.Event()

        def give_up() -> None:
            expired.set()
            process.kill()

        # Killing ends a read and a write alike, on every system.
        timer = threading.Timer(timeout_s, give_up)
        timer.daemon = True
        timer.start()
        result: dict[str, Any] | None = None
        try:
            if job is not None:
                data = json.dumps(job).encode()
                process.stdin.write(struct.pack(">I", len(data)) + data)
                process.stdin.flush()
            result = _read_result(process.stdout)
        except (OSError, ValueError):
            pass  # a broken pipe or a broken message: the worker is replaced below
        except BaseException:
            # Interrupted: a worker with half a job would answer the next one wrongly.
            self._stop()
            raise
        finally:
            timer.cancel()
            timer.join()
        if result is None or expired.is_set():
            self._stop()
        return result, result is None and expired.is_set()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unwritten bytes of a dead worker
                    pipe.close()
        process.wait()


def _read_result(pipe: IO[bytes]) -> dict[str, Any] | None:
    head = pipe.read(4)
    if len(head) < 4:
        return None
    (size,) = struct.unpack(">I", head)
    if size > _MAX_RESULT_BYTES:
        return None
    data = pipe.read(size)
    if len(data) < size:
        return None
    result = json.loads(data)
    return result if isinstance(result, dict) else None


def _extraction(result: dict[str, Any], *, cut: bool) -> Extraction:
    if "error" in result:
        failure = f"text extraction failed ({result['error']})"
        return Extraction(None, failure=failure, cut=cut)
    text = result.get("text")
    return Extraction(
        text=text if isinstance(text, str) else None,
        title=str(result.get("title") or ""),
        date=str(result["date"]) if result.get("date") else None,
        language=str(result["language"]) if result.get("language") else None,
        failure=None if isinstance(text, str) else "no main text was found",
        cut=cut,
    )


_shared: Extractor | None = None
_shared_lock = threading.Lock()


def shared_extractor() -> Extractor:
    """Return the process-wide extractor, ended when the interpreter exits."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Extractor()
            atexit.register(close_shared)
        return _shared


def close_shared() -> None:
    """End the process-wide extractor's worker; the next job starts a new one."""
    if _shared is not None:
        _shared.close()
