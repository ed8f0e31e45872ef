"""Small things done with files and folders: whole ones, bounded ones, names that stay inside."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.atomic import atomic_file
from harness.errors import CorpusError

__all__ = [
    "copy_atomic",
    "file_sha256",
    "new_folder",
    "plain_name",
    "read_bounded",
]

_CHUNK_BYTES = 2**20
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ +-]{0,199}")


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Fill a folder that appears at ``target`` whole or not at all.

    ``target`` must not be there, or be an empty folder.
    """
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name[:32]}.", dir=target.parent))
    try:
        yield temporary
        temporary.chmod(0o755)  # mkdtemp keeps it from everybody else
        if target.is_dir():
            target.rmdir()
        os.rename(temporary, target)  # noqa: PTH104 - never onto something that is there
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def copy_atomic(source: Path, target: Path) -> None:
    """Copy a file, whole or not at all; copying one onto itself does nothing."""
    if os.path.realpath(source) == os.path.realpath(target):
        return
    with source.open("rb") as file, atomic_file(target) as copy:
        shutil.copyfileobj(file, copy)


def read_bounded(path: Path, limit: int) -> bytes:
    """Return a file's bytes; :class:`~harness.errors.CorpusError` when over ``limit``."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise CorpusError(f"{path} is no file.")  # reading a pipe would wait for ever
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise CorpusError(f"Can't read {path}: {error.strerror}.") from None
    if len(data) > limit:
        raise CorpusError(f"{path} is larger than {limit} bytes; it was not read.")
    return data


def file_sha256(path: Path) -> str:
    """Return ``sha256:`` and the hash of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"


def plain_name(name: object, folder: Path, where: Path) -> str:
    """Return a file's name that lies directly in ``folder``.

    Raises :class:`~harness.errors.CorpusError` for a path, a hidden or odd
    name, and a link that leads out.
    """
    if (
        not isinstance(name, str)
        or not _PLAIN_NAME.fullmatch(name)
        or (folder / name).resolve().parent != folder.resolve()
    ):
        raise CorpusError(
            f"{where} names the file {str(name)[:100]!r}, which is not one beside it.",
            remedy="Don't use this corpus unless you know who changed it.",
        )
    return name
