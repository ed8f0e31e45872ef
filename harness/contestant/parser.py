"""The answer parser: from what the model wrote to one of the options, always.

Pure: no input or output, no clock, no randomness.  The steps, strongest
first: the text after the last ``ANSWER:`` line, its id, a single option quoted
in the output, the model's own log-probabilities over the ids, the lowest id.
``docs/answer-parsing.md`` gives the precedence and the reasons.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.contestant._answer_match import OptionTexts, Reading
from harness.quiz import Option, ParseStep

__all__ = ["Parsed", "parse_answer"]

_SEARCHED_CHARS = 20_000  # of the output's end, for the step that looks for quotes
_MARKERS_TRIED = 50  # answer lines that say nothing are passed over, up to here

_THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_NAMES = (
    r"answer(?:[ _]?(?:id|text|option))?|antwort|risposta|réponse|reponse|respuesta|resposta"
    r"|antwoord|svar|odpowiedź|ответ|答案|答え|回答|정답|الإجابة|الجواب"
)
_COLON = r"[\"'*_` ]{0,9}(?:[:=]|[–—-](?=\s))"
_LINE_MARKER = re.compile(
    r"^[ \t>*_#`~\"'“(\[{•|$\\–—-]{0,80}"
    r"(?:(?:so|thus|therefore|my|the|final|correct)[ ,]{1,9}){0,3}"
    rf"(?:(?:{_NAMES}){_COLON}|(?-i:ANSWER)(?=[ \t]))",
    re.MULTILINE | re.IGNORECASE,
)
_INNER_MARKER = re.compile(
    rf"(?<![^\W\d_])(?:{_NAMES}){_COLON}|\"(?:id|option|choice|option_id)\"\s{{0,9}}:",
    re.IGNORECASE,
)
_SENTENCE_MARKER = re.compile(
    r"\b(?:answer|(?:correct|right|best) (?:option|choice|one))\s{1,9}"
    r"(?:is|was|would be|must be|should be)(?!\s{1,9}not\b)\b\s{0,9}:?",
    re.IGNORECASE,
)
_MARKER_START = re.compile(rf"[\s*_\"'`]{{0,20}}(?:{_NAMES}){_COLON}", re.IGNORECASE)
_VERDICT = re.compile(r"\b(?P<no>not\s|un)?(?:supported|contradicted)\b", re.IGNORECASE)
_CUT_WORD = re.compile(r"(?P<mark>[:–—-]?)\s{0,9}[*_]{0,4}(?P<word>[A-Za-z]{0,12})\s*$")
_VERDICTS = ("supported", "contradicted")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


@dataclass(frozen=True, slots=True)
class Parsed:
    """The option an output names, the step that found it, and how in a few words."""

    option: Option
    step: ParseStep
    detail: str


def parse_answer(
    output: str,
    options: Sequence[Option],
    *,
    logprobs: Callable[[], Mapping[int, float]] | None = None,
) -> Parsed:
    """Return the option that ``output`` names; never fails on any text.

    ``logprobs`` returns log-probabilities by option id; it is called only when
    the output names no option, and what it raises passes through.  Of options
    with identical text the one of lowest id is returned.

    Raises :class:`ValueError` when there are no options.
    """
    if not options:
        raise ValueError("a question has at least one option")
    texts = OptionTexts(options)
    visible, thought = _split_thoughts(output, options)

    pool = texts.options
    found = _answer_line(visible, texts) or _quoted(visible, texts) or _thought(thought, texts)
    if found is not None and found.also is not None:
        found = _id_or_text(found, found.also, visible, texts)
    if found is not None:
        if len(found.options) == 1:
            return Parsed(found.options[0], found.step, found.how)
        pool = found.options
    return _without_output(pool, options, texts, logprobs)


def _id_or_text(found: Reading, by_id: Option, visible: str, texts: OptionTexts) -> Reading:
    """Decide a lone "3" that is one option's text and another's id.

    The text counts, unless of the two the output calls only the other supported.
    """
    verdicts, _, _ = _option_lines(visible, texts)
    if verdicts.get(by_id) and not any(verdicts.get(option) for option in found.options):
        return Reading((by_id,), ParseStep.ID, "an id, for it is the one called supported")
    return found


def _split_thoughts(output: str, options: Sequence[Option]) -> tuple[str, str]:
    """Split an output into what is said and a thought that lacks one of its tags.

    Whole thoughts are dropped; a closing tag that nothing opened ends a
    thought that the prompt began.
    """
    if any(_THOUGHT.search(option.text) for option in options):
        return output, ""
    said: list[str] = []
    start, thinking, dropped = 0, False, ""
    for tag in _THOUGHT.finditer(output):
        if tag[1]:
            if not thinking:
                dropped = "\n".join([*said, output[start : tag.start()]])
                said.clear()
            thinking, start = False, tag.end()
        elif not thinking:
            said.append(output[start : tag.start()])
            thinking, start = True, tag.end()
    if thinking:
        return "\n".join(said), output[start:]
    return "\n".join([*said, output[start:]]), dropped


def _answer_line(text: str, texts: OptionTexts) -> Reading | None:
    """Return what the last answer line that says something names."""
    ascii_text = text.translate(_FULL_WIDTH)
    for marker in (_LINE_MARKER, _INNER_MARKER, _SENTENCE_MARKER):
        ends = [found.end() for found in marker.finditer(ascii_text)]
        for end in reversed(ends[-_MARKERS_TRIED:]):
            tail = _tail(text, end, texts)
            if tail:
                return texts.read(tail)
    return None


def _tail(text: str, start: int, texts: OptionTexts) -> str:
    """Return what an answer line says after its marker; an empty one goes on below."""
    reach = 4 * texts.longest + 800
    rest = text[start : start + reach]
    if any("\n" in option.text or "\r" in option.text for option in texts.options):
        return rest.strip()
    for line in _lines(rest):
        tail = _strip_markers(line, texts)
        if tail.strip("*_`\"' \t") or any(tail == option.text for option in texts.options):
            return tail
    return ""


def _strip_markers(line: str, texts: OptionTexts) -> str:
    """Drop repeated markers (``Antwort: Antwort: C``), unless an option begins so."""
    line = line.strip()
    while (found := _MARKER_START.match(line)) and not any(
        line.startswith(option.text) for option in texts.options
    ):
        line = line[found.end() :].strip()
    return line


def _quoted(text: str, texts: OptionTexts) -> Reading | None:
    """Return the single option that the output concludes, calls supported or quotes."""
    verdicts, said, after = _option_lines(text, texts)
    readings: list[Reading | None] = []
    if after:
        last = after[-1]
        readings.append(texts.equal(last) or texts.lone_id(last) or texts.mentions(last))
    if len(verdicts) == len(texts.options):
        supported = tuple(option for option, holds in verdicts.items() if holds)
        readings.append(Reading(supported, ParseStep.QUOTED, "the only option called supported"))
    readings.append(texts.mentions("\n".join(said), shortest=4))
    for reading in readings:
        if reading is not None and len(reading.options) == 1:
            if reading.step is ParseStep.TEXT:
                how = "the only option quoted"
                return Reading(reading.options, ParseStep.QUOTED, how, reading.also)
            return reading
    return None


def _option_lines(text: str, texts: OptionTexts) -> tuple[dict[Option, bool], list[str], list[str]]:
    """Split an output's end into verdicts by option, other lines, and those after the last."""
    verdicts: dict[Option, bool] = {}
    said: list[str] = []
    after: list[str] = []
    for line in _lines(text[-_SEARCHED_CHARS:]):
        verdict = _verdict(line, texts)
        if verdict is not None:
            verdicts.update([verdict])
            after.clear()
        else:
            said.append(line)
            after.append(line)
    if after and _is_cut_line(after[-1], verdicts, texts):
        said.pop()
        after.pop()
    return verdicts, said, after


def _verdict(line: str, texts: OptionTexts) -> tuple[Option, bool] | None:
    """Read an option's own line: ``2 Paris: supported`` or ``2 supported: why``."""
    for found in _VERDICT.finditer(line[: texts.longest + 80]):
        subject = _subject(line[: found.start()], texts)
        if subject is not None:
            return subject, found["no"] is None and found[0].lower() == "supported"
    return None


def _subject(text: str, texts: OptionTexts) -> Option | None:
    found = texts.lone_id(text) or texts.equal(text)  # these lines begin with the id
    return found.options[0] if found and len(found.options) == 1 else None


def _is_cut_line(line: str, verdicts: Mapping[Option, bool], texts: OptionTexts) -> bool:
    """Whether a last line is an option's own line that ended before its verdict."""
    found = _CUT_WORD.search(line[-80:])
    if found and any(word.startswith(found["word"].lower()) for word in _VERDICTS):
        before = line[: len(line) - len(found[0])]
        if (found["mark"] or found["word"]) and _subject(before, texts) is not None:
            return True
    subject = _subject(line, texts)
    return bool(verdicts) and subject is not None and subject not in verdicts


def _thought(thought: str, texts: OptionTexts) -> Reading | None:
    """Read answer lines of a thought that never ended: better than nothing said."""
    ascii_text = thought.translate(_FULL_WIDTH)
    ends = [found.end() for found in _LINE_MARKER.finditer(ascii_text)]
    tail = _tail(thought, ends[-1], texts) if ends else ""
    found = texts.read(tail) if tail else None
    return Reading(found.options, found.step, f"{found.how}, in a thought") if found else None


def _lines(text: str) -> list[str]:
    lines = re.split(r"[\r\n]+", text)
    return [line for line in lines if line.strip()]


def _without_output(
    pool: Sequence[Option],
    options: Sequence[Option],
    texts: OptionTexts,
    logprobs: Callable[[], Mapping[int, float]] | None,
) -> Parsed:
    among = "" if len(pool) == len(texts.options) else f" of {len(pool)} that the text fits"
    scores = logprobs() if logprobs is not None else {}
    best: tuple[float, int, Option] | None = None
    for option in options:
        score = scores.get(option.id, math.nan)
        shared = texts.by_id(option.id)
        if math.isnan(score) or shared is None or shared not in pool:
            continue
        if best is None or (score, -option.id) > best[:2]:
            best = (score, -option.id, shared)
    if best is not None:
        return Parsed(best[2], ParseStep.LOGPROB, f"most probable id{among}")
    return Parsed(min(pool, key=lambda option: option.id), ParseStep.LOWEST_ID, f"lowest id{among}")
