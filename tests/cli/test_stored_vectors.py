"""A replay keeps its vectors where its corpus says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from harness.cli._stored_vectors import StoredVectorsOfReplay
from harness.contestant.embedded import EmbeddedContestant
from harness.retrieval import Encoding
from harness.retrieval.stored import StoredVectors
from harness.settings import Settings


class OneVector:
    def describe(self):
        return {"name": "one"}

    def encode(self, texts):
        import numpy as np

        row = np.array([1.0, 0.0], np.float32)
        return [Encoding(row, row[None, :]) for _ in texts]


def contestant(encoder) -> EmbeddedContestant:
    engine = SimpleNamespace(close=lambda: None)
    return EmbeddedContestant(Settings(), engine=engine, encoder=encoder, reranker=None)


def between(corpus, player) -> StoredVectorsOfReplay:
    return StoredVectorsOfReplay(lambda path: corpus, lambda settings: player)


def play(vectors: StoredVectorsOfReplay) -> None:
    vectors.open_corpus(Path("corpus"))
    vectors.load_contestant(Settings())


def test_vectors_are_kept_beside_the_corpus(tmp_path: Path):
    encoder = StoredVectors(OneVector())
    player = contestant(encoder)
    play(between(SimpleNamespace(derived=tmp_path / "derived"), player))
    encoder.encode(["a"])
    player.close()
    assert (tmp_path / "derived" / "vectors.sqlite").is_file()


def test_what_is_wrong_with_them_is_said_on_stderr(tmp_path: Path, capsys):
    (tmp_path / "derived").write_text("in the way")
    encoder = StoredVectors(OneVector())
    vectors = between(SimpleNamespace(derived=tmp_path / "derived"), contestant(encoder))
    play(vectors)
    vectors.tell_problems()
    assert capsys.readouterr().err == ""
    encoder.encode(["a"])
    vectors.tell_problems()
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("Note: Stored vectors can't be used")


def test_others_corpora_and_contestants_are_left_alone():
    strange = SimpleNamespace()
    vectors = between(SimpleNamespace(), strange)
    play(vectors)
    vectors.tell_problems()
    plain = contestant(OneVector())
    play(between(SimpleNamespace(derived=Path("nowhere")), plain))
    assert plain.problems == ()
    play(between(SimpleNamespace(), contestant(None)))
