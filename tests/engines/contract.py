"""What every engine does alike: one function, given to tests by the fixture ``check_contract``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from harness.engines import Chat, Engine, Message
from harness.errors import EngineError

RULES = Message("system", "You answer quiz questions with one word. " * 3)
QUESTIONS = (
    "Which river flows through Paris?\n0 Seine\n1 Thames",
    "How many legs has a spider, and how many has an ant?\n0 Eight\n1 Six",
    "Wer schrieb 'Faust'? <|im_end|>\n0 Goethe – ja\n1 Schiller",
)
IDS = ["0", "1"]


def chat(number: int, *, prefill: str = "ANSWER: ", fixed: int = 1) -> Chat:
    return Chat((RULES, Message("user", QUESTIONS[number])), prefill=prefill, fixed=fixed)


def check_contract(
    engine: Engine,
    *,
    exact_tokens: bool = True,
    repeatable: bool = True,
    window: int = 2_048,
    max_tokens: int = 8,
) -> None:
    """Run every check on a fresh ``engine`` and close it.

    ``exact_tokens``: its counts are the model's own, not estimates;
    ``repeatable``: equal requests give bit-identical results.
    """
    checks: list[Callable[[Engine], None]] = [check_description, check_counting]
    for check in checks:
        check(engine)
    check_prompt(engine, exact_tokens)
    if repeatable:
        check_repeatability(engine, max_tokens)
    check_limit(engine)
    check_stop(engine)
    check_prefill(engine)
    check_logprobs(engine, repeatable)
    check_window(engine, window)
    check_close(engine)


def check_description(engine: Engine) -> None:
    info = engine.describe()
    text = json.dumps(asdict(info), sort_keys=True)
    again = json.dumps(asdict(engine.describe()), sort_keys=True)
    assert text == again, "an identity does not change"
    for name in ("engine", "version", "model"):
        assert getattr(info, name), f"an identity names its {name}"
    assert "/" not in info.model, "no path in an identity"
    assert info.settings["decoding"] == "greedy", "decoding is greedy, and says so"


def check_counting(engine: Engine) -> None:
    count = engine.count_tokens
    assert count("") == 0, "no text has no tokens"
    for text in ("a", "river", "Größe 3,14 €", "日本語"):
        assert count(text) > 0, f"{text!r} has tokens"
        assert count(text) == count(text), "counting twice gives the same"
    one, many = count("The river flows.\n"), count("The river flows.\n" * 20)
    assert 10 * one <= many <= 30 * one, "a text twenty times has about twenty times its tokens"


def check_prompt(engine: Engine, exact: bool) -> None:
    short = engine.generate(chat(0), max_tokens=1)
    longer = replace(chat(0), messages=(RULES, Message("user", QUESTIONS[0] + "\n2 Rhine river")))
    more = engine.generate(longer, max_tokens=1)
    added = engine.count_tokens("\n2 Rhine river")
    assert short.prompt_tokens >= engine.count_tokens(QUESTIONS[0]), "the whole prompt is counted"
    assert 0 <= short.reused_tokens <= short.prompt_tokens, "no more is reused than there is"
    if exact:
        grown = more.prompt_tokens - short.prompt_tokens
        assert abs(grown - added) <= 1, f"{added} tokens more in, {grown} more counted"


def check_repeatability(engine: Engine, max_tokens: int) -> None:
    def look(number: int) -> tuple[object, object]:
        asked = chat(number)
        scores = engine.next_token_logprobs(asked, IDS)
        return scores, engine.generate(asked, max_tokens=max_tokens)

    first = [look(n) for n in range(len(QUESTIONS))]
    again = [look(n) for n in reversed(range(len(QUESTIONS)))]
    assert again[::-1] == first, "results depend on the question alone, not on what came before"
    loose = engine.generate(chat(0, fixed=0), max_tokens=max_tokens)
    look(1)
    after = engine.generate(chat(0, fixed=0), max_tokens=max_tokens)
    assert after == loose, "so do those without a fixed part"


def check_limit(engine: Engine) -> None:
    asked = Chat((Message("user", "Count from one to fifty in words, one a line."),))
    cut = engine.generate(asked, max_tokens=3)
    assert cut.stopped == "limit", "a text cut by the limit says so"
    assert cut.output_tokens == 3, "the limit counts generated tokens"


def check_stop(engine: Engine) -> None:
    asked = Chat((Message("user", "Count from one to fifty in words, one a line."),))
    whole = engine.generate(asked, max_tokens=16).text
    middle = whole[len(whole) // 2 :]
    stop = next((c for c in middle if c.strip() and c.isascii()), None)
    assert stop, f"the model wrote nothing to stop at: {whole!r}"
    cut = engine.generate(asked, max_tokens=16, stop=[stop])
    assert cut.text == whole[: whole.index(stop)], "text ends before the first stop string"
    assert cut.stopped == "stop", "and says why"


def check_prefill(engine: Engine) -> None:
    begun = chat(0, prefill="My answer is this: the river called")
    generation = engine.generate(begun, max_tokens=4)
    assert not generation.text.startswith("My answer"), "the prefill is not part of the text"
    plain = engine.generate(chat(0, prefill=""), max_tokens=4)
    assert plain.prefilled, "what was not asked for is not missing"
    if generation.prefilled:
        added = generation.prompt_tokens - plain.prompt_tokens
        expected = engine.count_tokens(begun.prefill)
        assert abs(added - expected) <= 2, f"{expected} tokens were begun, {added} were read"


def check_logprobs(engine: Engine, repeatable: bool) -> None:
    asked = chat(0)
    found = engine.next_token_logprobs(asked, [*IDS, "Seine"])
    assert list(found) == [*IDS, "Seine"], "one value for each candidate, in order"
    assert all(value <= 0 for value in found.values()), "logarithms of probabilities"
    assert engine.next_token_logprobs(asked, []) == {}, "no candidates, no values"
    best = engine.generate(asked, max_tokens=1)
    if best.text and best.stopped == "limit" and repeatable:
        found = engine.next_token_logprobs(asked, [best.text, *IDS])
        assert found[best.text] == max(found.values()), "greedy takes the most probable token"


def check_window(engine: Engine, window: int) -> None:
    long = Chat((Message("user", "word and word " * window),))
    with pytest.raises(EngineError) as caught:
        engine.generate(long, max_tokens=8)
    assert "\n" not in str(caught.value), "one sentence and its remedy"
    engine.generate(chat(0), max_tokens=1)  # and the engine still works


def check_close(engine: Engine) -> None:
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.generate(chat(1), max_tokens=1)
