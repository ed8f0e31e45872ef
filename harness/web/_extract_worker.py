"""The process that turns HTML into text; run as a script, killed without regret.

Reads jobs from standard input and writes results to standard output, each a
four-byte length (big-endian) and that many bytes of JSON.  Imports nothing of
its own package, so that it starts alike from a source tree and a wheel.

Job: ``{"html", "url", "keep_chars", "limit_s"}``.  Result: ``{"text", "title",
"date", "language"}``, with ``text`` null where nothing was found, or
``{"error": "…"}``.  The first result, ``{"ready": true}``, says that the
libraries are loaded.
"""

from __future__ import annotations

import contextlib
import json
import re
import struct
import sys
from typing import Any, BinaryIO

_MAX_JOB_BYTES = 128 * 2**20
_MEMORY_BYTES = 4 * 2**30
_CACHE_JOBS = 100
_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
_LANGUAGE = re.compile(r"^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*$")


def main(test_hooks: bool = False) -> None:
    """Serve jobs until standard input ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    # A library that prints must not break the protocol.
    sys.stdout = sys.stderr
    _limit_memory()
    _load()
    _write(sink, {"ready": True})
    done = 0
    while (job := _read(source)) is not None:
        _set_alarm(float(job.get("limit_s", 0)))
        if test_hooks and "hook" in job:
            _hook(str(job["hook"]))
        try:
            result = _extract(job)
        except (MemoryError, RecursionError) as error:
            result = {"error": type(error).__name__}
        except Exception as error:  # noqa: BLE001 - whatever a page does to the libraries
            result = {"error": type(error).__name__}
        _set_alarm(0)
        _write(sink, result)
        done += 1
        if done % _CACHE_JOBS == 0:
            _forget()


def _load() -> None:
    import logging

    import trafilatura  # noqa: F401

    logging.disable(logging.CRITICAL)


def _extract(job: dict[str, Any]) -> dict[str, Any]:
    from trafilatura import bare_extraction
    from trafilatura.utils import load_html

    html, keep_chars = str(job["html"]), int(job["keep_chars"])
    tree = load_html(_DECLARATION.sub("", html, count=1))
    if tree is None:
        return {"text": None, "title": "", "date": None, "language": None}
    language = _language(tree)
    document = bare_extraction(
        tree,
        url=job.get("url") or None,
        include_comments=False,
        include_tables=True,
        with_metadata=True,
        # Dates of the page's own metadata.  The default would also search the
        # text for dates up to *today*, so that a replay tomorrow could differ.
        date_extraction_params={
            "extensive_search": False,
            "original_date": True,
            "min_date": "1990-01-01",
            "max_date": "2099-12-31",
        },
    )
    if document is None or isinstance(document, dict):
        return {"text": None, "title": _title(tree), "date": None, "language": language}
    text = str(document.text or "").strip()
    return {
        "text": text[:keep_chars] or None,
        "title": str(document.title or "").strip()[:300] or _title(tree),
        "date": str(document.date) if document.date else None,
        "language": language,
    }


def _language(tree: Any) -> str | None:
    declared = (tree.get("lang") or tree.get("xml:lang") or "").strip()
    return declared.replace("_", "-") if _LANGUAGE.match(declared) else None


def _title(tree: Any) -> str:
    return " ".join((tree.findtext(".//title") or "").split())[:300]


def _hook(name: str) -> None:
    """Misbehave as a test asks."""
    import os
    import signal
    import time

    if name == "hang":
        time.sleep(3600)
    elif name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "garbage":
        sys.__stdout__.buffer.write(b"\xff\xff\xff\xff nonsense")  # type: ignore[union-attr]
        sys.__stdout__.buffer.flush()  # type: ignore[union-attr]


def _set_alarm(limit_s: float) -> None:
    """Let the system end this process should its parent be gone by then."""
    with contextlib.suppress(ImportError, AttributeError):
        import signal

        signal.setitimer(signal.ITIMER_REAL, limit_s)


def _limit_memory() -> None:
    """Bound the memory, and leave no core file, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _forget() -> None:
    """Empty the libraries' caches, which grow with every page."""
    from trafilatura.meta import reset_caches

    reset_caches()


def _read(source: BinaryIO) -> dict[str, Any] | None:
    head = source.read(4)
    if len(head) < 4:
        return None
    (size,) = struct.unpack(">I", head)
    if size > _MAX_JOB_BYTES:
        return None
    data = source.read(size)
    if len(data) < size:
        return None
    job = json.loads(data)
    return job if isinstance(job, dict) else {}


def _write(sink: BinaryIO, value: dict[str, Any]) -> None:
    data = json.dumps(value).encode()
    sink.write(struct.pack(">I", len(data)) + data)
    sink.flush()


if __name__ == "__main__":
    main(test_hooks="--test-hooks" in sys.argv[1:])
