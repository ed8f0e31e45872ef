"""The second half of the way of a question: from evidence to an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from harness.contestant.parser import parse_answer
from harness.contestant.prompting import PREFILL, PromptFamily, is_cut, render_passage
from harness.engines import Chat, Engine, Generation
from harness.errors import NoLogprobsError
from harness.evidence import Evidence, Passage
from harness.quiz import Answer, Basis, Question, normalise_text
from harness.retrieval import Encoder, Reranker, select_passages
from harness.settings import Settings
from harness.trace import Code, Trace

__all__ = ["answer_from_docs"]

_SHORTER_CHARS = (800, 400, 200, 100, 50)  # tried in turn where a question fills the window


def answer_from_docs(
    question: Question,
    evidence: Evidence,
    *,
    settings: Settings,
    engine: Engine,
    encoder: Encoder | None,
    reranker: Reranker | None,
    prompts: PromptFamily,
    trace: Trace,
) -> Answer:
    """Choose passages, ask the model under the answer contract, read its answer.

    ``encoder`` and ``reranker`` may be ``None`` only where ``evidence`` was not searched for.
    Every question gets an option: what it rests on is the answer's basis.

    Raises :class:`~harness.errors.EngineError` when the model fails.
    """
    _note_identical_options(question, trace)
    passages = _choose(question, evidence, settings, engine, encoder, reranker, trace)
    if is_cut(question):
        trace.degrade("prompt", Code.QUESTION_CUT, "the question or an option was cut short")
    with trace.stage("prompt"):
        chat, passages = _fit(question, passages, settings, engine, prompts, trace)
    with trace.stage("generate"):
        generation = engine.generate(chat, max_tokens=settings.engine.max_tokens)
    if generation.stopped == "limit":
        trace.degrade("generate", Code.GENERATION_CUT, "the model's answer hit the token limit")
    if not generation.prefilled:
        trace.degrade("generate", Code.PREFILL_DROPPED, "the server continues no begun answer")
    with trace.stage("parse"):
        parsed = parse_answer(
            generation.text,
            question.options,
            logprobs=_option_logprobs(question, chat, generation, engine, trace),
        )
    if parsed.step.is_fallback:
        trace.degrade("parse", Code.ANSWER_NOT_FOUND, "the model's output names no option")
    trace.note(
        context_tokens=sum(
            engine.count_tokens(render_passage(p, i)) for i, p in enumerate(passages, 1)
        ),
        prompt=chat.messages[-1].content,
        prompt_tokens=generation.prompt_tokens,
        reused_tokens=generation.reused_tokens,
        output=(PREFILL if generation.prefilled else "") + generation.text,
        output_tokens=generation.output_tokens,
        parse={"step": parsed.step.value, "detail": parsed.detail},
        passages_used=[{"id": list(p.id), "url": p.url, "score": p.score} for p in passages],
    )
    basis = Basis.PARSER if parsed.step.is_fallback else _basis(passages)
    return Answer(parsed.option, basis, parsed.step)


def _choose(
    question: Question,
    evidence: Evidence,
    settings: Settings,
    engine: Engine,
    encoder: Encoder | None,
    reranker: Reranker | None,
    trace: Trace,
) -> tuple[Passage, ...]:
    if not evidence.searched:
        return ()
    if encoder is None or reranker is None:
        raise ValueError("evidence was searched for, so encoder and reranker are needed")
    selection = select_passages(
        question.text,
        evidence.documents,
        settings=settings.retrieval,
        encoder=encoder,
        reranker=reranker,
        count_tokens=engine.count_tokens,
        trace=trace,
        options=[option.text for option in question.options],
    )
    return selection.passages


def _fit(
    question: Question,
    passages: tuple[Passage, ...],
    settings: Settings,
    engine: Engine,
    prompts: PromptFamily,
    trace: Trace,
) -> tuple[Chat, tuple[Passage, ...]]:
    """Drop the weakest passages until the prompt fits the model's window.

    Where it does not fit without any, the longest of question and options are cut.
    """

    def fits(chat: Chat) -> bool:
        # A few tokens a message for the chat template's own marks.
        need = sum(engine.count_tokens(m.content) + 8 for m in chat.messages)
        return need + settings.engine.max_tokens <= settings.engine.context_window

    kept = passages
    while not fits(chat := prompts.chat(question, kept)) and kept:
        kept = kept[:-1]
    if not fits(chat):
        for chars in _SHORTER_CHARS:
            chat = prompts.chat(_shortened(question, chars), ())
            if fits(chat):
                break
        detail = "the question or an option was cut short: window full"
        trace.degrade("prompt", Code.QUESTION_CUT, detail)
    if len(kept) < len(passages):
        trace.degrade(
            "prompt",
            Code.CONTEXT_CUT,
            f"{len(passages) - len(kept)} of {len(passages)} passages left out: window full",
        )
    return chat, kept


def _shortened(question: Question, chars: int) -> Question:
    """Return ``question`` for the prompt, no text of it longer than ``chars``."""
    options = [replace(o, text=_cut(o.text, chars)) for o in question.options]
    return replace(question, text=_cut(question.text, chars), options=tuple(options))


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


def _option_logprobs(
    question: Question, chat: Chat, generation: Generation, engine: Engine, trace: Trace
) -> Callable[[], Mapping[int, float]]:
    def ask() -> Mapping[int, float]:
        ids = [str(option.id) for option in question.options]
        asked = replace(chat, prefill=f"{chat.prefill}{generation.text}\nANSWER: ")
        try:
            found = engine.next_token_logprobs(asked, ids)
        except NoLogprobsError as error:
            # The parser has a last step without them; the answer says which step it was.
            trace.degrade("parse", Code.NO_LOGPROBS, error.message)
            return {}
        return {option.id: found[str(option.id)] for option in question.options}

    return ask


def _note_identical_options(question: Question, trace: Trace) -> None:
    texts = [normalise_text(option.text) for option in question.options]
    if len(set(texts)) < len(texts):
        trace.degrade("parse", Code.OPTIONS_IDENTICAL, "two options have the same text")


def _basis(passages: tuple[Passage, ...]) -> Basis:
    if not passages:
        return Basis.MODEL
    read = any(passage.origin == "page" for passage in passages)
    return Basis.PASSAGES if read else Basis.SNIPPETS
