"""A replay's vectors are kept beside its corpus, so the next one encodes nothing again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from harness.contestant.protocol import Contestant
    from harness.replay import RecordedWeb
    from harness.settings import Settings

__all__ = ["StoredVectorsOfReplay"]


class StoredVectorsOfReplay:
    """Stands between a replay and what opens its corpus and loads its contestant."""

    def __init__(
        self,
        open_corpus: Callable[[Path], RecordedWeb],
        load_contestant: Callable[[Settings], Contestant],
    ) -> None:
        self._open = open_corpus
        self._load = load_contestant
        self._folder: Path | None = None
        self._contestant: Contestant | None = None

    def open_corpus(self, path: Path) -> RecordedWeb:
        """Open the corpus, and note where what is derived from it belongs."""
        corpus = self._open(path)
        self._folder = getattr(corpus, "derived", None)
        return corpus

    def load_contestant(self, settings: Settings) -> Contestant:
        """Load the contestant, and let it keep its vectors there."""
        from harness.contestant.embedded import EmbeddedContestant

        contestant = self._load(settings)
        if isinstance(contestant, EmbeddedContestant):
            if self._folder is not None:
                contestant.keep_vectors(self._folder)
            self._contestant = contestant
        return contestant

    def tell_problems(self) -> None:
        """Say on stderr what went wrong with the vectors; results don't suffer from it."""
        for problem in getattr(self._contestant, "problems", ()):
            typer.echo(f"Note: {problem}", err=True)
