"""The contestant that runs on this machine alone: embedded models, no server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.contestant.answering import answer_from_docs
from harness.contestant.prompting import PromptFamily, load_prompts
from harness.contestant.research import search_documents
from harness.evidence import Evidence

if TYPE_CHECKING:
    import httpx

    from harness.engines import Engine
    from harness.quiz import Answer, Category, Question
    from harness.retrieval import Encoder, Reranker
    from harness.settings import Settings
    from harness.trace import Trace

__all__ = ["EmbeddedContestant", "load_contestant"]


class EmbeddedContestant:
    """Both halves of the pipeline over loaded models.

    ``encoder`` and ``reranker`` may be ``None`` when research is switched off.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        engine: Engine,
        encoder: Encoder | None,
        reranker: Reranker | None,
        prompts: PromptFamily | None = None,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._encoder = encoder
        self._reranker = reranker
        self._prompts = prompts or load_prompts(settings.prompt.style)

    def describe(self) -> dict[str, Any]:
        """Return what has to be equal for results to be equal, as JSON values."""
        return {
            "engine": asdict(self._engine.describe()),
            "encoder": self._encoder.describe() if self._encoder else None,
            "reranker": self._reranker.describe() if self._reranker else None,
            "floors": self._floors(),
            "prompts": {"style": self._prompts.style, "sha256": self._prompts.sha256},
        }

    def _floors(self) -> dict[str, Any] | None:
        """Say which floors hold, and which of the settings' belong to no scale in use."""
        from harness.retrieval.threshold import floors_in_use, floors_without_use

        if self._reranker is None:
            return None
        wanted = self._settings.retrieval.floor
        return {
            "in_use": floors_in_use(wanted, self._reranker),
            "without_use": list(floors_without_use(wanted, self._reranker)),
        }

    def play(
        self, question: Question, transport: httpx.AsyncBaseTransport | None, trace: Trace
    ) -> Answer:
        """Research ``question`` over ``transport`` (``None``: not at all) and answer it."""
        evidence = self.research(question.text, question.category, transport, trace)
        return self.answer(question, evidence, trace)

    def research(
        self,
        text: str,
        category: Category,
        transport: httpx.AsyncBaseTransport | None,
        trace: Trace,
    ) -> Evidence:
        """Find evidence for a question's text over ``transport`` (``None``: none)."""
        if transport is None or not self._settings.search.enabled:
            return Evidence.none()
        return search_documents(
            text, category, settings=self._settings, transport=transport, trace=trace
        )

    def answer(self, question: Question, evidence: Evidence, trace: Trace) -> Answer:
        """Answer a question from evidence."""
        return answer_from_docs(
            question,
            evidence,
            settings=self._settings,
            engine=self._engine,
            encoder=self._encoder,
            reranker=self._reranker,
            prompts=self._prompts,
            trace=trace,
        )

    def keep_vectors(self, folder: Path) -> None:
        """Keep the passages' vectors in ``folder``: no result changes, the next run saves time."""
        from harness.retrieval.stored import StoredVectors

        if isinstance(self._encoder, StoredVectors):
            self._encoder.keep_in(folder)

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong without any harm to results: stored vectors that can't be used."""
        return tuple(getattr(self._encoder, "problems", ()))

    def close(self) -> None:
        """Free the models."""
        from harness.retrieval.stored import StoredVectors

        if isinstance(self._encoder, StoredVectors):
            self._encoder.close()
        self._engine.close()


def load_contestant(
    settings: Settings, *, progress: Callable[..., None] | None = None
) -> EmbeddedContestant:
    """Pull what is missing, load the models and return the contestant.

    ``progress`` is handed to the model downloads.  Raises
    :class:`~harness.errors.ModelMissingError` when a model can't be had and
    :class:`~harness.errors.EngineError` when it can't be loaded.
    """
    from harness.contestant.weights import find_weights
    from harness.engines import check_model, load_engine
    from harness.engines.availability import check_engine
    from harness.retrieval import load_encoder, load_reranker
    from harness.retrieval.stored import StoredVectors

    check_engine(settings.engine)  # before anything is fetched for it
    encoder, reranker = None, None
    if settings.search.enabled:
        wanted = settings.retrieval
        threads = wanted.encoder_threads
        encoder = StoredVectors(
            load_encoder(wanted.encoder, threads=threads, device=wanted.device, progress=progress)
        )
        reranker = load_reranker(
            wanted.reranker,
            threads=threads,
            device=wanted.device,
            query=wanted.reranker_query,
            progress=progress,
        )
    wants = settings.engine
    if wants.name == "openai":  # a server has its own weights
        engine = load_engine(wants, None, name="", sha256="")
    else:
        weights = find_weights(
            wants.model, progress=progress, check=lambda path: check_model(wants, path)
        )
        engine = load_engine(wants, weights.path, name=weights.name, sha256=weights.sha256)
    return EmbeddedContestant(settings, engine=engine, encoder=encoder, reranker=reranker)
