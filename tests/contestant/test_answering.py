"""The second half, with a scripted model: what the answer rests on is always told."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from harness.contestant.answering import answer_from_docs
from harness.contestant.prompting import load_prompts
from harness.engines import Chat, EngineInfo, Generation
from harness.errors import EngineError, NoLogprobsError
from harness.evidence import Document, Evidence
from harness.quiz import Basis, Category, Option, ParseStep, Question
from harness.retrieval import Encoding
from harness.retrieval.rerank import MAXSIM_OPTIONS, MaxSimReranker
from harness.settings import Settings
from harness.trace import Code, Trace

TEXT = "The siege of Pellastra lasted 117 days, from May to September 1412."


@dataclass
class ScriptedEngine:
    """An engine with a queue of outputs and a history of what it was asked."""

    outputs: list[str]
    logprobs: dict[str, float] = field(default_factory=dict)
    stopped: str = "end"
    asked: list[Chat] = field(default_factory=list)

    def describe(self):
        return EngineInfo("scripted", "1", "none", "0" * 64, {})

    def count_tokens(self, text):
        return len(text.split())

    def generate(self, chat, *, max_tokens, stop=()):
        self.asked.append(chat)
        if not self.outputs:
            raise EngineError("llama.cpp failed: out of memory.")
        return Generation(self.outputs.pop(0), 100, 10, 60, self.stopped)

    def next_token_logprobs(self, chat, candidates):
        self.asked.append(chat)
        return {c: self.logprobs.get(c, -9.0) for c in candidates}

    def close(self):
        pass


class WordEncoder:
    """Token vectors by hashed word: similar texts share words."""

    def describe(self):
        return {"name": "words", "model_sha256": "0" * 64}

    def encode(self, texts):
        found = []
        for text in texts:
            rows = [self._vector(word.strip(".,?")) for word in text.casefold().split()] or [
                self._vector("")
            ]
            tokens = np.stack(rows).astype(np.float32)
            pooled = tokens.mean(axis=0)
            found.append(Encoding(pooled / np.linalg.norm(pooled), tokens))
        return found

    @staticmethod
    def _vector(word):
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        vector = np.random.default_rng(seed).normal(size=64)
        return vector / np.linalg.norm(vector)


def question(*options):
    texts = options or ("171 days", "117 days", "71 days", "17 days")
    return Question(
        "q",
        Category.HISTORY,
        "How many days did the siege of Pellastra last?",
        tuple(Option(i, o) for i, o in enumerate(texts)),
    )


def evidence(text=TEXT, origin="page"):
    document = Document("http://a.example/siege", "Siege of Pellastra", text, origin)
    return Evidence("siege pellastra", documents=(document,))


def answer(engine, asked=None, found=None, settings=None):
    trace = Trace()
    reply = answer_from_docs(
        asked or question(),
        evidence() if found is None else found,
        settings=settings or Settings(),
        engine=engine,
        encoder=WordEncoder(),
        reranker=MaxSimReranker(),
        prompts=load_prompts(),
        trace=trace,
    )
    return reply, trace


GOOD = " passage 1 says 117 days.\n0 contradicted\n1 supported\nANSWER: 1 117 days"


def test_an_answer_from_a_page_rests_on_retrieved_passages():
    engine = ScriptedEngine([GOOD])
    reply, trace = answer(engine)
    assert reply.option == Option(1, "117 days")
    assert reply.basis is Basis.PASSAGES
    assert reply.parsed_by is ParseStep.TEXT
    assert trace.codes() == []
    assert TEXT in engine.asked[0].messages[-1].content
    assert trace.facts["output"].startswith("Finding: passage 1")
    assert {"prompt", "generate", "parse"} <= {span.stage for span in trace.spans}


def test_an_answer_from_search_results_alone_says_so():
    reply, _ = answer(ScriptedEngine([GOOD]), found=evidence(origin="snippet"))
    assert reply.basis is Basis.SNIPPETS


def test_without_evidence_the_model_answers_alone():
    engine = ScriptedEngine([GOOD])
    reply, _ = answer(engine, found=Evidence.none())
    assert reply.basis is Basis.MODEL
    assert "own knowledge" in engine.asked[0].messages[-1].content


def test_nothing_worth_reading_is_named_and_leaves_the_model_alone():
    settings = Settings.model_validate({"retrieval": {"floor": {MAXSIM_OPTIONS.name: 5.0}}})
    reply, trace = answer(ScriptedEngine([GOOD]), settings=settings)
    assert reply.basis is Basis.MODEL
    assert Code.NOTHING_OVER_THRESHOLD.value in trace.codes()


def test_an_output_without_an_option_falls_back_to_log_probabilities_aloud():
    engine = ScriptedEngine([" I can't say."], logprobs={"2": -0.1})
    reply, trace = answer(engine)
    assert reply.option.id == 2
    assert reply.basis is Basis.PARSER
    assert reply.parsed_by is ParseStep.LOGPROB
    assert trace.codes() == [Code.ANSWER_NOT_FOUND.value]
    assert engine.asked[1].prefill.endswith("I can't say.\nANSWER: ")


def test_log_probabilities_are_asked_for_only_when_needed():
    engine = ScriptedEngine([GOOD])
    answer(engine)
    assert len(engine.asked) == 1


def test_a_cut_generation_is_a_degradation():
    _, trace = answer(ScriptedEngine([GOOD], stopped="limit"))
    assert trace.codes() == [Code.GENERATION_CUT.value]


def test_identical_options_are_noted_and_the_lowest_is_answered():
    reply, trace = answer(ScriptedEngine([" x\nANSWER: 1 same"]), asked=question("same", "Same"))
    assert Code.OPTIONS_IDENTICAL.value in trace.codes()
    assert reply.option.id in (0, 1)


def test_an_option_too_long_for_the_prompt_is_noted():
    asked = question("x" * 4_000, "117 days")
    _, trace = answer(ScriptedEngine([GOOD]), asked=asked)
    assert trace.codes() == [Code.QUESTION_CUT.value]


def test_a_failing_engine_is_never_replaced_by_a_guess():
    with pytest.raises(EngineError, match="out of memory"):
        answer(ScriptedEngine([]))


def test_passages_that_do_not_fit_the_window_are_left_out_aloud():
    settings = Settings.model_validate(
        {
            "engine": {"context_window": 256, "max_tokens": 20},
            "retrieval": {
                "context_tokens": 5_000,
                "chunk_chars": 2_000,
                "floor": {MAXSIM_OPTIONS.name: -5},
            },
        }
    )
    long = evidence("The siege of Pellastra lasted long. " * 200)
    engine = ScriptedEngine([GOOD])
    _, trace = answer(engine, found=long, settings=settings)
    assert Code.CONTEXT_CUT.value in trace.codes()


class SilentEngine(ScriptedEngine):
    """An engine on a server that tells no log-probabilities."""

    def next_token_logprobs(self, chat, candidates):
        raise NoLogprobsError("The model server returned no log-probabilities.")


def test_without_log_probabilities_an_unreadable_output_still_gets_an_option():
    reply, trace = answer(SilentEngine(["I would rather not say."]))
    assert (reply.option.id, reply.basis) == (0, Basis.PARSER)
    assert reply.parsed_by is ParseStep.LOWEST_ID
    assert Code.NO_LOGPROBS.value in trace.codes()


def test_log_probabilities_that_are_not_needed_are_not_missed():
    _, trace = answer(SilentEngine([GOOD]))
    assert trace.codes() == []


def test_an_answer_that_the_server_would_not_continue_is_shown_as_it_was_written():
    engine = ScriptedEngine(["Finding: 117 days.\nANSWER: 1 117 days"])
    engine.generate = lambda chat, *, max_tokens, stop=(): Generation(
        engine.outputs[0], 100, 10, 0, "end", prefilled=False
    )
    reply, trace = answer(engine)
    assert reply.option.id == 1
    assert trace.facts["output"] == engine.outputs[0]
    assert trace.codes() == [Code.PREFILL_DROPPED.value]


class StrictEngine(ScriptedEngine):
    """An engine that refuses what does not fit, as the real ones do; a letter is a token."""

    window = 3_000

    def count_tokens(self, text):
        return len(text)

    def generate(self, chat, *, max_tokens, stop=()):
        if sum(len(m.content) for m in chat.messages) + max_tokens > self.window:
            raise EngineError("The prompt does not fit.")
        return super().generate(chat, max_tokens=max_tokens, stop=stop)


def test_a_question_that_fills_the_window_alone_is_cut_aloud_and_answered():
    long = question("long " * 70 + "A", "117 days", "long " * 70 + "B")
    long = replace(long, text="How many days? " * 130)
    settings = Settings.model_validate(
        {"engine": {"context_window": StrictEngine.window, "max_tokens": 20}}
    )
    fixed = load_prompts().chat(long, ()).messages
    assert sum(len(m.content) for m in fixed) > StrictEngine.window, "it does not fit uncut"
    engine = StrictEngine([GOOD])
    reply, trace = answer(engine, asked=long, found=Evidence.none(), settings=settings)
    assert reply.option.text == "117 days"
    assert trace.codes() == [Code.QUESTION_CUT.value]
    shown = engine.asked[0].messages[-1].content
    assert "1 117 days" in shown
    assert "…" in shown


def test_passages_go_before_the_question_is_cut():
    settings = Settings.model_validate(
        {"engine": {"context_window": StrictEngine.window, "max_tokens": 20}}
    )
    long = replace(question(), text="How many days? " * 130)
    engine = StrictEngine([GOOD])
    _, trace = answer(engine, asked=long, settings=settings)
    assert trace.codes() == [Code.CONTEXT_CUT.value, Code.QUESTION_CUT.value]
