"""What is wrong with a GGUF file, told before anything is loaded.

llama.cpp says of most bad files only that it failed, and of some nothing until
they are read.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.engines._gguf import GgufHeader, read_header
from harness.errors import EngineError, ModelMissingError

__all__ = ["check_header", "check_whole", "gguf_parts", "is_known"]

_PART = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_MAX_PARTS = 1_000
# Families of models that turn text or images into vectors and can't write.
_NOT_WRITERS = {
    *("bert", "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "eurobert"),
    *("jina-bert-v2", "jina-bert-v3", "gemma-embedding", "t5encoder", "clip", "wavtokenizer-dec"),
}


def gguf_parts(path: Path) -> tuple[Path, ...]:
    """Return the files that make up the model at ``path``: all parts of a split one, in order.

    Any part of ``model-00001-of-00003.gguf`` may be named.  Raises
    :class:`~harness.errors.ModelMissingError` that names a part which isn't there.
    """
    found = _PART.fullmatch(path.name)
    if not found:
        return (path,)
    count = int(found["count"])
    if not 1 <= int(found["number"]) <= count <= _MAX_PARTS:
        raise EngineError(f"{path.name} is no part that can be: its numbers don't fit.")
    ending = path.name[-len(".gguf") :]
    names = [f"{found['stem']}-{n:05d}-of-{count:05d}{ending}" for n in range(1, count + 1)]
    parts = tuple(path.with_name(name) for name in names)
    missing = [part.name for part in parts if not part.is_file()]
    if missing:
        raise ModelMissingError(
            f"The model {path.name} is in {count} parts, of which {', '.join(missing[:3])}"
            f"{' and others are' if len(missing) > 3 else ' is' if len(missing) == 1 else ' are'} "
            f"missing in {path.parent}.",
            remedy="Put all parts into one folder.",
        )
    return parts


def check_whole(parts: Iterable[Path], *, known: Mapping[Path, GgufHeader] | None = None) -> int:
    """Return the size in bytes of all ``parts`` together.

    ``known`` are headers that were read before, and are not read again.
    Raises :class:`~harness.errors.EngineError` for a file that ends before the
    last of its tensors does.
    """
    total = 0
    for part in parts:
        header = (known or {}).get(part) or read_header(part)
        size = part.stat().st_size
        if size < header.size_bytes:
            raise EngineError(
                f"{part} is cut short: it has {size:,} bytes of at least {header.size_bytes:,}.",
                remedy="Fetch the file again.",
            )
        total += size
    return total


def check_header(path: Path, header: GgufHeader) -> None:
    """Raise :class:`~harness.errors.EngineError` for a model that can't write text."""
    family = header.architecture
    if not family:
        raise EngineError(
            f"{path} does not say which architecture its model has.",
            remedy="Convert the model to GGUF anew, or name another.",
        )
    if family in _NOT_WRITERS or header.metadata.get(f"{family}.attention.causal") is False:
        raise EngineError(
            f"{path} holds a model that makes vectors ({family}); it can't write an answer.",
            remedy="Name a language model as engine.model.",
        )


def is_known(family: str) -> bool | None:
    """Say whether the installed llama.cpp knows an architecture; ``None`` if it can't be told.

    The library has no function for that, but it holds the names of all
    families as plain strings.
    """
    from importlib.util import find_spec

    spec = find_spec("xllamacpp")
    libraries = [
        file
        for folder in (spec.submodule_search_locations or [] if spec else [])
        for file in Path(folder).iterdir()
        if file.suffix in (".so", ".pyd", ".dylib")
    ]
    for library in libraries:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as m:
            # A string that ends like another may share its tail, so only the end is sure.
            if m.find(family.encode() + b"\0") >= 0:
                return True
    return False if libraries else None
