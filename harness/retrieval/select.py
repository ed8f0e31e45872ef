"""The whole way from documents to passages: chunk, encode, keep, rerank, choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from harness.evidence import Document, Passage
from harness.quiz import normalise_text
from harness.retrieval.budget import fit
from harness.retrieval.chunking import chunk_text, one_line, tidy
from harness.retrieval.duplicates import distinct
from harness.retrieval.lexical import Bm25
from harness.retrieval.protocol import (
    Asked,
    Candidate,
    Encoder,
    Encoding,
    PooledFirst,
    Reranker,
    Scale,
)
from harness.retrieval.ranking import final_order, first_stage, worth_encoding
from harness.retrieval.threshold import cutoff
from harness.settings import RetrievalSettings
from harness.trace import Code, Trace

__all__ = ["Selection", "select_passages"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The passages for a prompt, best first, and how they were found.

    ``candidates`` counts the distinct passages that were compared with the
    query.  ``best_score`` and ``threshold`` (the score a passage had to reach)
    are on ``scale``; ``threshold`` is ``None`` when nothing reached the floor.
    """

    passages: tuple[Passage, ...]
    context_tokens: int
    candidates: int
    best_score: float | None
    threshold: float | None
    scale: str


def select_passages(
    query: str,
    documents: Sequence[Document],
    *,
    settings: RetrievalSettings,
    encoder: Encoder,
    reranker: Reranker,
    count_tokens: Callable[[str], int],
    trace: Trace,
    options: Sequence[str] = (),
) -> Selection:
    """Choose the passages of ``documents`` that bear on ``query``.

    ``query`` is best the question as asked, ``options`` the answers to choose
    from.  The result depends on the texts, the settings and the models only;
    ties go to the passage of the earlier document, then the earlier in it.

    Notes in the trace what was seen and chosen.  Degradations: no documents
    with text, nothing over the threshold, a chosen passage cut or left out for
    want of tokens.
    """
    asked = [text for option in options if (text := tidy(option))]
    scale = reranker.scale(options=bool(asked))
    passages: list[Passage] = []
    if any(document.text.strip() for document in documents):
        with trace.stage("chunk"):
            passages = _passages(documents, settings)
    else:
        trace.degrade("chunk", Code.NO_DOCUMENTS, "no document with text")

    ranked: list[Passage] = []
    if passages:
        ranked = _ranked(tidy(query), asked, passages, settings, encoder, reranker, trace)

    selection = Selection((), 0, len(passages), None, None, scale.name)
    if ranked:
        with trace.stage("rerank"):
            selection = _chosen(ranked, selection, scale, settings, count_tokens, trace)
    _note(selection, reranker, trace)
    return selection


def _passages(documents: Sequence[Document], settings: RetrievalSettings) -> list[Passage]:
    """Cut all documents; of equal texts only the first counts."""
    found: list[Passage] = []
    seen: set[str] = set()
    for number, document in enumerate(documents):
        chunks = chunk_text(
            document.text,
            chunker=settings.chunker,
            size=settings.chunk_chars,
            overlap=settings.chunk_overlap,
        )
        for place, chunk in enumerate(chunks):
            same = normalise_text(chunk.text)
            if same in seen:
                continue
            seen.add(same)
            found.append(
                Passage(
                    id=(number, place),
                    text=chunk.text,
                    title=document.title,
                    url=document.url,
                    origin=document.origin,
                    date=document.date,
                    trusted=document.trusted,
                )
            )
    return found


def _ranked(
    query: str,
    options: Sequence[str],
    passages: Sequence[Passage],
    settings: RetrievalSettings,
    encoder: Encoder,
    reranker: Reranker,
    trace: Trace,
) -> list[Passage]:
    """Return the passages kept by the first stage, with both scores, best first."""
    import numpy as np

    with trace.stage("encode"):
        texts = [_read(passage, titles=settings.titles) for passage in passages]
        lexical = Bm25(texts).scores(" ".join([query, *options]))
        rows = worth_encoding(passages, lexical, settings.prefilter)
        trace.note(encoded=len(rows))
        vectors = _Vectors(encoder, [query, *options], [texts[row] for row in rows])
        near = first_stage(
            vectors.asked[0].pooled,
            np.stack(vectors.pooled),
            [lexical[row] for row in rows],
            settings,
        )
        bodies = vectors.bodies([place for place, _ in near])
    with trace.stage("rerank"):
        question, *choices = vectors.asked
        asked = Asked(query, tuple(options), question, tuple(choices))
        kept = [rows[place] for place, _ in near]
        candidates = [
            Candidate(texts[row], body, cosine)
            for row, body, (_, cosine) in zip(kept, bodies, near, strict=True)
        ]
        scores = reranker.score(asked, candidates)
        scored = [
            replace(passages[row], similarity=candidate.cosine, score=score)
            for row, candidate, score in zip(kept, candidates, scores, strict=True)
        ]
        return final_order(scored, [lexical[row] for row in kept], settings)


class _Vectors:
    """The vectors of one question: everything in one call, or pooled ones first.

    An encoder that keeps vectors reads the large token matrices only of what
    the first stage keeps.
    """

    def __init__(self, encoder: Encoder, asked: Sequence[str], texts: Sequence[str]) -> None:
        self._encoder = encoder
        self._texts = texts
        if isinstance(encoder, PooledFirst):
            self.asked = encoder.encode(asked)
            self.pooled = encoder.pooled(texts)
            self._bodies: list[Encoding] = []
        else:
            found = encoder.encode([*asked, *texts])
            self.asked, self._bodies = found[: len(asked)], found[len(asked) :]
            self.pooled = [body.pooled for body in self._bodies]

    def bodies(self, places: Sequence[int]) -> list[Encoding]:
        """Return the whole encodings of some of the texts."""
        if self._bodies:
            return [self._bodies[place] for place in places]
        return self._encoder.encode([self._texts[place] for place in places])


def _read(passage: Passage, *, titles: bool = True) -> str:
    """Return what is ranked: with ``titles`` the title too, for it says what "it" is."""
    title = one_line(passage.title) if titles else ""
    return f"{title}\n{passage.text}".strip()


def _chosen(
    ranked: Sequence[Passage],
    empty: Selection,
    scale: Scale,
    settings: RetrievalSettings,
    count_tokens: Callable[[str], int],
    trace: Trace,
) -> Selection:
    """Apply threshold, repetitions, number and budget, in this order."""
    best = max(passage.score for passage in ranked)
    needed = cutoff(best, scale, threshold=settings.threshold, floors=settings.floor)
    if needed is None:
        trace.degrade(
            "rerank", Code.NOTHING_OVER_THRESHOLD, f"best score {best:.3f} on {scale.name}"
        )
        return replace(empty, best_score=best)
    wanted = distinct(
        [passage for passage in ranked if passage.score >= needed],
        at_most=settings.max_passages,
        repeated=settings.repeated,
        per_source=settings.per_source,
    )
    fitted = fit(wanted, budget_tokens=settings.context_tokens, count_tokens=count_tokens)
    if fitted.cut or fitted.left_out:
        trace.degrade(
            "rerank",
            Code.CONTEXT_CUT,
            f"of {len(wanted)} passages {fitted.left_out} left out and {fitted.cut} cut "
            f"to fit {settings.context_tokens} tokens",
        )
    return replace(
        empty,
        passages=fitted.passages,
        context_tokens=fitted.tokens,
        best_score=best,
        threshold=needed,
    )


def _note(selection: Selection, reranker: Reranker, trace: Trace) -> None:
    trace.note(
        reranker=reranker.describe()["name"],
        scale=selection.scale,
        candidates=selection.candidates,
        best_score=selection.best_score,
        threshold=selection.threshold,
        context_tokens=selection.context_tokens,
        passages=[
            {
                "id": list(passage.id),
                "url": passage.url,
                "similarity": passage.similarity,
                "score": passage.score,
                "chars": len(passage.text),
            }
            for passage in selection.passages
        ],
    )
