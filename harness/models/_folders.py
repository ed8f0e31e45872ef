"""Models from a local folder, copied so that the original may go away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.models._files import read_chunks, write_chunks
from harness.models._progress import Reporter
from harness.models._scratch import Delivery, Scratch, SourceError
from harness.models._spec import FolderSource, ModelFile

__all__ = ["fetch"]


def fetch(
    source: FolderSource, wanted: Sequence[ModelFile], scratch: Scratch, report: Reporter
) -> Iterator[Delivery]:
    """Copy what the folder has of the wanted files."""
    if not source.path.is_dir():
        raise SourceError("there is no such folder")
    found = {file.name: _find(source.path, scratch.spec.name, file) for file in wanted}
    present = {name: path for name, path in found.items() if path is not None}
    if not present:
        raise SourceError(f"it holds no {wanted[0].name}")
    scratch.require_space(sum(path.stat().st_size for path in present.values()))
    base = scratch.ready_bytes
    for file in wanted:
        path = present.get(file.name)
        if path is None:
            continue
        size = path.stat().st_size
        if file.size_bytes not in (None, size):
            raise SourceError(f"{path} has {size:,} bytes instead of {file.size_bytes:,}")
        target = scratch.tmp / "copy" / file.name
        written = write_chunks(_counted(path, report, base), target)
        base += written.size_bytes
        yield Delivery(file, target, written, str(source))
    if len(present) < len(wanted):
        lacking = ", ".join(name for name, path in found.items() if path is None)
        raise SourceError(f"it holds no {lacking}")


def _find(folder: Path, model: str, file: ModelFile) -> Path | None:
    for path in (folder / file.name, folder / model / file.name):
        if path.is_file():
            return path
    return None


def _counted(path: Path, report: Reporter, base_bytes: int) -> Iterator[bytes]:
    done = base_bytes
    for chunk in read_chunks(path):
        yield chunk
        done += len(chunk)
        report.moved(done)
