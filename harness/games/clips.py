"""The clips of spoken questions, kept once each under the hash of what they hold."""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.atomic import write_atomic
from harness.errors import BadInputError, DiskFullError, HotseatError, is_disk_full
from harness.games.audio import MAX_CLIP_BYTES, Clip, read_clip

__all__ = ["ClipStore"]

_MAX_BYTES = 4 * 2**30


class ClipStore:
    """A folder of WAV files, each called ``<sha256>.wav``.

    It takes 4 GiB at most; what is there is never written again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bytes: int | None = None

    def keep(self, clip: Clip) -> str:
        """Keep a clip and return its hash; it is on the disk when this returns.

        Raises :class:`~harness.errors.DiskFullError` when there is no more room
        and :class:`~harness.errors.HotseatError` when it can't be written.
        """
        name = hashlib.sha256(clip.data).hexdigest()
        path = self.folder / f"{name}.wav"
        try:
            if path.is_file() and path.stat().st_size == len(clip.data):
                return name
            self.folder.mkdir(parents=True, exist_ok=True)
            if self._bytes is None:
                self._bytes = sum(one.stat().st_size for one in self.folder.glob("*.wav"))
            if self._bytes + len(clip.data) > _MAX_BYTES:
                raise DiskFullError(
                    self.folder,
                    f"The clips in {self.folder} would take more than {_MAX_BYTES // 2**30} GiB.",
                    remedy="Record into another folder.",
                )
            write_atomic(path, clip.data)
        except OSError as error:
            if is_disk_full(error):
                raise DiskFullError(self.folder) from error
            raise HotseatError(
                f"Can't write to {self.folder}: {error.strerror or error}."
            ) from None
        self._bytes += len(clip.data)
        return name

    def read(self, sha256: str) -> Clip:
        """Return a clip by its hash.

        Raises :class:`~harness.errors.BadInputError` when it is not there, or
        not what was kept.
        """
        path = self.folder / f"{sha256}.wav"
        try:
            if len(sha256) != 64 or not sha256.isalnum():
                raise BadInputError(f"'{sha256[:80]}' is no clip's hash.")
            if path.stat().st_size > MAX_CLIP_BYTES:
                raise BadInputError(f"{path} is larger than a clip may be.")
            data = path.read_bytes()
        except OSError as error:
            raise BadInputError(f"Can't read {path}: {error.strerror or error}.") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise BadInputError(
                f"{path} is not what was recorded.", remedy="Restore it from a copy."
            )
        return read_clip(data)
