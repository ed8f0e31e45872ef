"""What a corpus holds, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.corpus._entry import Entry, corpus_digest, digest_line
from harness.corpus._manifest import CorpusManifest
from harness.corpus._source import Source
from harness.corpus._store import Store
from harness.corpus._store_open import is_writable
from harness.corpus._values import Address
from harness.errors import CorpusDamagedError

__all__ = ["CorpusInfo", "describe"]


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """What a corpus holds, in numbers.

    ``requests`` counts distinct ones, ``entries`` all; ``failures`` are
    entries without an answer; ``body_bytes`` is the size of the distinct
    bodies, ``stored_bytes`` what everything takes on disk; ``providers``
    counts entries.  ``read_only`` says that nothing can be recorded into it;
    ``questions`` is the path of the question file, in the exported folder
    where it is one.
    """

    path: str
    kind: str
    name: str
    created: str
    digest: str
    entries: int
    requests: int
    failures: int
    truncated: int
    damaged: int
    bodies: int
    body_bytes: int
    stored_bytes: int
    read_only: bool
    questions: str | None
    providers: dict[str, int] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def describe(
    store: Store,
    source: Source | None,
    manifest: CorpusManifest,
    *,
    path: Path,
    questions: Path | None,
) -> CorpusInfo:
    """Count what is in a store, and in the files it was unpacked from if it has a ``source``."""
    if source is None:
        kind, stored_bytes = "working store", store.volume_bytes()
    else:
        questions = source.questions
        kind = "WARC file" if source.manifest is None else "interchange folder"
        stored_bytes = sum(file.stat().st_size for file in source.warcs)
    return _count(
        store.entries(),
        lost=len(store.lost_addresses()),
        path=str(path),
        kind=kind,
        name=manifest.name,
        created=manifest.created,
        stored_bytes=stored_bytes,
        # However it was opened now.
        read_only=source is not None or not is_writable(store.folder),
        questions=str(questions) if questions else None,
        settings=manifest.settings,
    )


def _count(
    entries: Iterable[tuple[Address, Entry | CorpusDamagedError]], *, lost: int, **told: Any
) -> CorpusInfo:
    """Return the numbers over ``entries``, sorted, beside what the corpus tells of itself.

    ``lost`` counts entries that were damaged before they came in.
    """
    total = requests = failures = truncated = damaged = 0
    sizes: dict[str, int] = {}
    providers: Counter[str] = Counter()
    last = ""

    def lines() -> Iterator[bytes]:
        nonlocal total, requests, failures, truncated, damaged, last
        for address, entry in entries:
            yield digest_line(address, entry)
            if not isinstance(entry, Entry):
                damaged += 1
                continue
            total += 1
            requests += entry.request.sha256 != last
            last = entry.request.sha256
            failures += entry.failure is not None
            truncated += entry.truncated
            providers[entry.request.provider] += 1
            if entry.body_sha256:
                sizes[entry.body_sha256] = entry.body_bytes

    digest = corpus_digest(lines())
    return CorpusInfo(
        digest=digest,
        entries=total,
        requests=requests,
        failures=failures,
        truncated=truncated,
        damaged=damaged + lost,
        bodies=len(sizes),
        body_bytes=sum(sizes.values()),
        providers=dict(sorted(providers.items())),
        **told,
    )
