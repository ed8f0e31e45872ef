"""Clips by text: synthesised once, kept on disk, never on the event loop."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from harness.atomic import write_atomic
from harness.games.practice._synthesiser import Synthesiser, speakable
from harness.games.practice._wav import is_clip

__all__ = ["MAX_CACHE_BYTES", "ClipCache", "Clips"]

MAX_CACHE_BYTES = 512 * 1024 * 1024
_LOW_MARK = 0.8


class ClipCache:
    """A folder of clips, bounded in size; the least recently used go first.

    Several servers may share it.  A clip is whole or absent: it is written
    beside and renamed, and checked when it is read.
    """

    def __init__(self, folder: Path, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._size_bytes: int | None = None  # not yet counted

    def get(self, key: str) -> bytes | None:
        """Return a kept clip, ``None`` where there is no whole one."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if not is_clip(data):
            return None
        with suppress(OSError):  # only the order of leaving depends on it
            os.utime(path)
        return data

    def put(self, key: str, clip: bytes) -> None:
        """Keep a clip; raises :class:`OSError` when it can't be written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(self._path(key), clip, mode=0o600)
        if self._size_bytes is not None:
            self._size_bytes += len(clip)
        if self._size_bytes is None or self._size_bytes > self.max_bytes:
            self._shrink()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.wav"

    def _shrink(self) -> None:
        files = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):  # another server was faster
                found = path.stat()
                files.append((found.st_mtime_ns, found.st_size, path))
        size_bytes = sum(size for _, size, _ in files)
        if size_bytes > self.max_bytes:
            for _, size, path in sorted(files):
                if size_bytes <= _LOW_MARK * self.max_bytes:
                    break
                path.unlink(missing_ok=True)
                size_bytes -= size
        self._size_bytes = size_bytes


class Clips:
    """Speaks texts in threads of its own; the same text at the same time only once.

    ``synthesiser`` is ``None`` where speech can't be had.
    """

    def __init__(
        self, synthesiser: Synthesiser | None, cache: ClipCache, *, threads: int = 2
    ) -> None:
        self.synthesiser = synthesiser
        self._cache = cache
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="hotseat-speech")
        self._pending: dict[str, asyncio.Future[bytes]] = {}
        self._told = False

    async def get(self, text: str) -> bytes:
        """Return a text as a clip.

        Raises :class:`~harness.games.practice._synthesiser.SpeechError`.
        """
        synthesiser = self.synthesiser
        assert synthesiser is not None, "without a synthesiser no speech game starts"
        spoken = speakable(text)
        key = hashlib.sha256(f"1\n{synthesiser.identity}\n{spoken}".encode()).hexdigest()
        work = self._pending.get(key)
        if work is None:
            loop = asyncio.get_running_loop()
            work = loop.run_in_executor(self._threads, self._make, synthesiser, key, spoken)
            self._pending[key] = work
            work.add_done_callback(lambda _: self._pending.pop(key, None))
        return await asyncio.shield(work)

    def _make(self, synthesiser: Synthesiser, key: str, spoken: str) -> bytes:
        kept = self._cache.get(key)
        if kept is not None:
            return kept
        clip = synthesiser.speak(spoken)
        try:
            self._cache.put(key, clip)
        except OSError as error:  # a full disk costs time, not the game
            if not self._told:
                self._told = True
                print(  # noqa: T201
                    f"hotseat serve: can't keep clips in {self._cache.folder}: "
                    f"{error.strerror or error}. They are made anew each time.",
                    file=sys.stderr,
                )
        return clip

    def close(self) -> None:
        """Wait for what is being spoken and end the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)
