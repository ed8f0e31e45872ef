"""Degradation codes in plain words."""

from __future__ import annotations

from harness.trace import Code

__all__ = ["degradation_words"]

_WORDS: dict[str, str] = {
    Code.SEARCH_FAILED: "the search failed",
    Code.SEARCH_PARTIAL: "one of the searches, or some engines, failed",
    Code.NO_RESULTS: "the search found nothing",
    Code.NOT_RECORDED: "something asked for was never recorded",
    Code.SEARCHED_CORPUS: "a search was answered from the recorded pages",
    Code.CORPUS_DAMAGED: "a stored page no longer matched its hash",
    Code.PAGE_FAILED: "a page could not be fetched",
    Code.PAGE_CUT: "a page was too long and was cut",
    Code.EXTRACT_FAILED: "no text could be got out of a page",
    Code.SNIPPET_USED: "a search snippet stood in for its page",
    Code.NO_DOCUMENTS: "nothing was there to read",
    Code.NOTHING_OVER_THRESHOLD: "no passage was relevant enough",
    Code.CONTEXT_CUT: "passages were left out, for want of room",
    Code.QUESTION_CUT: "the question or an option was too long and was cut",
    Code.GENERATION_CUT: "the model was cut off at its token limit",
    Code.PREFILL_DROPPED: "the server would not continue a begun answer",
    Code.NO_LOGPROBS: "the server told no log-probabilities, which were needed",
    Code.ENGINE_FAILED: "the language model failed",
    Code.HEARING_FAILED: "a clip could not be transcribed, or not in time",
    Code.ANSWER_NOT_FOUND: "the model's output named no option",
    Code.OPTIONS_IDENTICAL: "two options had the same text",
    Code.ANSWER_FAILED: "no answer came out",
}


def degradation_words(code: str) -> str:
    """Return what a degradation code means; an unknown code is shown as it is."""
    return _WORDS.get(code, code.replace("_", " "))
