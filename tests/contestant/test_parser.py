"""The answer parser: every trap seen in the wild, and properties over any text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from harness.contestant.parser import parse_answer
from harness.quiz import Option, ParseStep, normalise_text

TEXT, ID, QUOTED = ParseStep.TEXT, ParseStep.ID, ParseStep.QUOTED
LOGPROB, LOWEST = ParseStep.LOGPROB, ParseStep.LOWEST_ID


def options(*texts: str, ids: Sequence[int] | None = None) -> tuple[Option, ...]:
    return tuple(Option(i, text) for i, text in zip(ids or range(len(texts)), texts, strict=True))


CITIES = options("Paris", "Rome", "Berlin", "Madrid")
NUMBERS = options("3", "4", "5", "6")
KINGS = options("Louis XII", "Louis XIV", "Louis XI", "Henri IV")
VOWELS = options("a", "e", "i", "o")
NESTED = options("New York", "New York City", "Boston", "York")
LETTERED = options(
    "A) In a dream", "In the real world", "B) In the real world", "C) In the machine's world"
)


def check(output: str, offered: Sequence[Option], option_id: int, step: ParseStep) -> None:
    parsed = parse_answer(output, offered)
    assert (parsed.option.id, parsed.step) == (option_id, step), parsed


@pytest.mark.parametrize(
    ("output", "option_id", "step"),
    [
        ("ANSWER: 2 Berlin", 2, TEXT),
        ("ANSWER: 2", 2, ID),
        ("ANSWER: Berlin", 2, TEXT),
        ("ANSWER: 2 Rome", 1, TEXT),  # text over id
        ("answer: 9 Rome", 1, TEXT),
        ("ANSWER: 2 Lisbon", 2, ID),
        ("ANSWER: 1 Rome\nOn reflection:\nANSWER: 2 Berlin", 2, TEXT),
        ("ANSWER: 2 Berlin\n\nI hope this helps!", 2, TEXT),
        ("ANSWER: 2 Berlin\nANSWER:", 2, TEXT),  # cut by the token limit
        ("ANSWER:\n\n2 Berlin", 2, TEXT),
        ("ANSWER 2 Berlin", 2, TEXT),
        ("So the final answer: 2. Berlin.", 2, TEXT),
        ("0 supported: x\r\nANSWER: 2 Berlin\r\n", 2, TEXT),
        ("… and therefore ANSWER: 2 Berlin", 2, TEXT),
        ("ANSWER: 2 Berlin, because Paris is in France", 2, TEXT),
        ("ANSWER: 2 Berlin: supported — it is the capital", 2, TEXT),
        ("ANSWER: Not Paris but Rome", 1, TEXT),
    ],
)
def test_the_last_answer_line_counts_and_its_text_goes_before_its_id(output, option_id, step):
    check(output, CITIES, option_id, step)


@pytest.mark.parametrize(
    ("output", "option_id", "step"),
    [
        ("ANSWER: $B$", 1, ID),
        ("ANSWER: **B**", 1, ID),
        ("**ANSWER: B**", 1, ID),
        ("ANSWER: b", 1, ID),
        ("ANSWER: (D)", 3, ID),
        ("ANSWER: D.", 3, ID),
        ("ANSWER: _3", 3, ID),
        ("ANSWER: [3]", 3, ID),
        ("ANSWER: #3", 3, ID),
        ("ANSWER: Option 3", 3, ID),
        ("ANSWER: option B", 1, ID),
        (r"ANSWER: \boxed{3}", 3, ID),
        (r"ANSWER: $\text{B}$", 1, ID),
        ("Antwort: Antwort: C", 2, ID),
        ("ANSWER: ANSWER: 2 Berlin", 2, TEXT),
        ("Risposta: 2 Berlin", 2, TEXT),
        ("**ANSWER:** **2** *Berlin*.", 2, TEXT),
        ("ANSWER: (D) Madrid", 3, TEXT),
        ("ANSWER: D Paris", 0, TEXT),
        ("ANSWER: <2> <Berlin>", 2, TEXT),
        ("ANSWER: 2) Berlin", 2, TEXT),
        ("ANSWER: 2 – Berlin", 2, TEXT),
        ("ANSWER: 2-Berlin", 2, TEXT),
        ("> ANSWER: `2 Berlin`", 2, TEXT),
        ("ANSWER: 2 Berlin<|im_end|>", 2, TEXT),
        ("ANSWER: id: 2, text: Rome", 1, TEXT),
        ("The answer is Rome.", 1, TEXT),
        ("The answer is: **2**", 2, ID),
        ("I'd say the correct option is B.", 1, ID),
        ("ANSWER: BERLIN", 2, TEXT),
        ("ANSWER: ２　Ｂｅｒｌｉｎ", 2, TEXT),  # full width
        ("ＡＮＳＷＥＲ：２", 2, ID),
        ("ANSWER: ٢", 2, ID),  # Arabic-Indic two
        ("ANSWER: \u200f2 Berlin\u200e", 2, TEXT),
        ('{"answer": "2 Berlin"}', 2, TEXT),
        ('{"answer": 2, "why": "Rome is not"}', 2, ID),
        ('{"id": 2, "text": "Berlin"}', 2, TEXT),
        ('```json\n{"answer": {"id": 0, "text": "Berlin"}}\n```', 2, TEXT),
    ],
)
def test_decorated_answers_are_read(output, option_id, step):
    check(output, CITIES, option_id, step)


@pytest.mark.parametrize(
    "tail",
    [
        "2, because Rome is too far away",
        "2 (Rome is wrong)",
        "2 - it can't be Rome",
        "2. Not Rome.",
    ],
)
def test_a_reason_after_an_id_that_mentions_another_option_does_not_change_the_answer(tail):
    assert parse_answer(f"ANSWER: {tail}", CITIES).option.id == 2


@pytest.mark.parametrize(
    ("tail", "option_id", "step"),
    [
        ("3 6", 3, TEXT),  # id and text agree
        ("2 5", 2, TEXT),
        ("0 3", 0, TEXT),
        ("3: 6", 3, TEXT),
        ("**3** (6)", 3, TEXT),
        ("0 6", 3, TEXT),  # text over id
        ("5", 2, TEXT),  # no such id
        ("3", 0, TEXT),  # an id and a text: the text
        ("$3$", 0, TEXT),
        ("2", 2, ID),  # no such text
        ("5 (id 2)", 2, TEXT),
        ("5 apples", 2, TEXT),
        ("1 + 4 = 5", 2, TEXT),
        ("x = 6", 3, TEXT),
        ("1, because x = 6", 3, TEXT),
        ("3.5", 0, LOWEST),  # neither 3 nor 5
        ("-5", 0, LOWEST),
        ("30", 0, LOWEST),
    ],
)
def test_ids_that_are_also_texts(tail, option_id, step):
    check(f"ANSWER: {tail}", NUMBERS, option_id, step)


def test_a_text_that_looks_like_an_id_and_another_text_is_itself():
    check("ANSWER: 5 2", options("5 2", "2", "x", ids=(0, 1, 5)), 0, TEXT)
    check("ANSWER: 3%", CITIES, 0, LOWEST)
    check("ANSWER: 3°", CITIES, 0, LOWEST)
    check('{"id": 0, "text": "p >= 1"}', options("p >= 1", "2", "infinity", "1"), 0, TEXT)
    offered = options("3", r"π\sqrt{3}", "1")
    check(json.dumps({"id": 1, "text": offered[1].text}), offered, 1, TEXT)


def test_json_escapes_are_read():
    check(json.dumps({"answer": "Città"}), options("Roma", "Città"), 1, TEXT)
    check(r'{"answer": "x\ud800"}', options("Roma", "Città"), 0, LOWEST)


def test_a_lone_number_goes_to_its_id_when_only_that_option_was_called_supported():
    lines = ["0 contradicted: a", "1 contradicted: b", "2 contradicted: c", "3 supported: d"]
    check("\n".join([*lines, "ANSWER: 3"]), NUMBERS, 3, ID)
    lines = ["0 3: supported", "1 4: contradicted", "2 5: contradicted", "3 6: contradicted"]
    check("\n".join([*lines, "ANSWER: 3"]), NUMBERS, 0, TEXT)


@pytest.mark.parametrize(
    ("tail", "option_id", "step"),
    [
        ("a", 0, TEXT),
        ("1 e", 1, TEXT),
        ("i", 2, TEXT),
        ("a vowel that I know", 0, LOWEST),  # the article is no option
        ("an answer", 0, LOWEST),
    ],
)
def test_single_letters_are_not_read_out_of_words(tail, option_id, step):
    check(f"ANSWER: {tail}", VOWELS, option_id, step)
    assert parse_answer("a e i un o", CITIES).step is LOWEST
    assert parse_answer("ANSWER: a town in Italy", CITIES).step is LOWEST


@pytest.mark.parametrize(
    ("output", "option_id", "step"),
    [
        ("ANSWER: B) In the real world", 2, TEXT),
        ("ANSWER: 1 B) In the real world", 2, TEXT),
        ("ANSWER: 1 In the real world", 1, TEXT),
        ("ANSWER: In a dream", 0, TEXT),
        ("ANSWER: B", 2, TEXT),  # the letter it carries itself, not the second place
        ("ANSWER: C", 3, TEXT),
        ("ANSWER: D", 3, ID),  # carried by none: the fourth place
        ("ANSWER: 2", 2, ID),
    ],
)
def test_options_that_carry_letters_in_their_own_text(output, option_id, step):
    check(output, LETTERED, option_id, step)


def test_none_of_the_above_is_an_option_only_where_it_is_offered():
    offered = options("Paris", "None of the above")
    for tail in ("None of the above", "none", "0 None of the above."):
        check(f"ANSWER: {tail}", offered, 1, TEXT)
        assert parse_answer(f"ANSWER: {tail.removeprefix('0 ')}", CITIES).step is LOWEST


@pytest.mark.parametrize(
    ("tail", "option_id"),
    [
        ("New York City", 1),
        ("0 New York City", 1),
        ("New York", 0),
        ("New York, of course", 0),
        ("1 New York City is the largest", 1),
        ("York", 3),
        ("0 New Yo", 0),
    ],
)
def test_an_option_that_is_a_prefix_of_another(tail, option_id):
    check(f"ANSWER: {tail}", NESTED, option_id, TEXT)


@pytest.mark.parametrize(
    ("offered", "tail", "option_id"),
    [
        (("May", "may"), "1 may", 1),
        (("May", "may"), "may", 1),
        (("May", "may"), "0 may", 1),
        (("May", "may"), "1 MAY", 1),  # fits both, so the id decides
        (("pêche", "péché", "peche"), "péché", 1),
        (("pêche", "péché", "peche"), "0 peche", 2),
        (("café", "coffee"), "cafe", 0),
        (("1914", "1915", "1941"), "0 1941", 2),
        (("5", "−5"), "-5", 1),
        (("5", "−5"), "0 5", 0),
        (("5", "-5"), "1 −5", 1),
        (("5", "-5"), "1 - 5", 1),
        (("-5", "5"), "1 - 5", 1),
        (("10²", "102"), "102", 1),
        (("102", "10²"), "10^2", 1),
        (("x²", "x2"), "$x^{2}$", 0),
        (("12 km", "12 m", "1.2 km"), "1.2km", 2),
        (("50 %", "5 %"), "5%", 1),
        (("3.5", "35"), "3,5", 0),
        (("1234", "1.234"), "1,234", 0),
        (("1/3", "½", "2"), r"$\frac{1}{2}$", 1),
        ((r"\frac{1}{3}", r"-\frac{1}{3}"), "-1/3", 1),
        ((r"5+2\sqrt{13}", "5"), r"0 5+2\sqrt{13}, as computed", 0),
        ((r"\frac{161}{3}", "161"), r"0 \frac{161", 0),  # cut by the token limit
        (("(0, 1)", "[0, 1)", "[0, 1]"), "2 [0, 1]", 2),
        (("π", "2π"), r"\pi", 0),
        (("|x|", "x"), "|x|", 0),
        (("$5", "5"), "**$5**", 0),
        (("E. coli", "S. aureus", "x", "y", "z"), "E. coli bacteria", 0),
        (("🎉", "🎊"), "🎊!", 1),
        (("👩‍🔬", "👨‍🔬"), "👨‍🔬", 1),
        (("חיפה", "תל אביב"), "\u202b1 תל אביב\u202c", 1),
        (("東京", "京都"), "東京です", 0),
        (("Straße", "Gasse"), "STRASSE", 0),
        (("rock ’n’ roll", "jazz"), "rock 'n' roll", 0),
        (("well-known", "unknown"), "well known", 0),
        (("R&B", "soul"), "R and B", 0),
        (("The Beatles", "Byrds"), "beatles", 0),
        (("Battle of Waterloo", "Battle of Hastings"), "Waterloo", 0),
        (("Napoleon Bonaparte", "Josephine"), "1 Naploeon Bonaparte", 0),
        (("line one\nline two", "other"), "0 line one\nline two", 0),
        (("<think>", "thought"), "<think>", 0),
        (("B) no", "C) yes"), "D) no", 0),
        (("f(x)", "F(x)"), "**0** *F(x)*.", 1),
        (("p >= 1", "1"), "it holds that p >= 1", 0),
        ((r"-\frac{7}{12}", "7/12"), r"**0** *-\frac{7}{12}*.", 0),
    ],
)
def test_options_that_differ_in_little(offered, tail, option_id):
    check(f"ANSWER: {tail}", options(*offered), option_id, TEXT)


def test_a_number_is_never_the_nearest_to_another_number():
    check("ANSWER: 0 1941", options("1914", "1915"), 0, ID)
    check("ANSWER: the year 1941", options("the year 1914", "the year 1918"), 0, LOWEST)
    check("ANSWER: it is legal here", options("it is not legal here", "other"), 0, LOWEST)
    check("ANSWER: King Louis XVI", options("Louis XIV", "Henri IV"), 0, LOWEST)


@pytest.mark.parametrize(
    ("offered", "tail", "option_id", "step"),
    [
        (("Louis XII", "Louis XIV", "Henri IV"), "1 Louis XI", 1, TEXT),  # fits two, id decides
        (("Louis XII", "Louis XIV", "Henri IV"), "2 Louis XI", 2, ID),
        (("Louis XIV", "Henri IV"), "1 Louis XI", 0, TEXT),  # the start of only one
        (("Louis XII", "Louis XIV", "Louis XI"), "1 Louis XI", 2, TEXT),  # whole
        (("Louis XII", "Louis XIV"), "1 L", 1, TEXT),
        (("1914", "1815"), "1 18", 1, TEXT),
        (("1914", "1815"), "18", 0, LOWEST),  # a number is not cut without its id
    ],
)
def test_text_cut_by_the_token_limit(offered, tail, option_id, step):
    check(f"ANSWER: {tail}", options(*offered), option_id, step)


@pytest.mark.parametrize(
    ("output", "option_id", "step"),
    [
        ("<think>ANSWER: 1 Rome</think>\nANSWER: 2 Berlin", 2, TEXT),
        ("<think>\n\n</think>\n\nANSWER: 2 Berlin", 2, TEXT),
        ("<think></think>ANSWER: 2 Berlin", 2, TEXT),
        ("ANSWER: 2 Berlin\n<think>ANSWER: 1 Rome</think>", 2, TEXT),
        ("ANSWER: 2 Berlin\n<think>or ANSWER: 1 Rome", 2, TEXT),
        ("it may be ANSWER: 1 Rome</think>ANSWER: 2 Berlin", 2, TEXT),
        ("<THINK>Rome</THINK>Berlin", 2, QUOTED),
        ("<think>ANSWER: 1 Rome</think>", 0, LOWEST),  # thoughts are no answers
        ("<think>maybe ANSWER: 1 Rome", 0, LOWEST),
        ("<think>so\nANSWER: 1 Rome", 1, TEXT),  # never closed: better than nothing
        ("ANSWER: 1 Rome</think>", 1, TEXT),
    ],
)
def test_thoughts(output, option_id, step):
    check(output, CITIES, option_id, step)


@pytest.mark.parametrize(
    ("output", "option_id", "step"),
    [
        ("Everything points to Berlin.", 2, QUOTED),
        ("Berlin", 2, QUOTED),
        ("2 Berlin", 2, QUOTED),
        ("2", 2, ID),
        ("(B)", 1, ID),
        ("Rome and Paris are older.\nSo it must be **Berlin** here.", 2, QUOTED),
        ("The passage is about Berlin.\nI can't tell more.", 2, QUOTED),
        ("ANSWER: 1 Rome</think>So it is Berlin.", 2, QUOTED),
        ("ANSWER: 1 Rome\n<think>a</think>b</think>So it is Berlin.", 2, QUOTED),
        ("Rome or Berlin", 0, LOWEST),
        ("So the answer is not Rome", 0, LOWEST),
        ("Parisian Romans", 0, LOWEST),  # inside words
        ("", 0, LOWEST),
        ("ANSWER: <id> <text>", 0, LOWEST),
        # The options' own lines quote all of them: only their verdicts count.
        ("0 contradicted: x\n1 supported: y\n2 contradicted\n3 contradicted\nANS", 1, QUOTED),
        (
            "0 Paris: contradicted\n1 Rome: supported — Berlin is younger\n"
            "2 Berlin: not supported\n3 Madrid: contradicted",
            1,
            QUOTED,
        ),
        ("0 supported: x\n1 supported: y\n2 contradicted\n3 contradicted", 0, LOWEST),
        # Cut among those lines: what came first was not chosen.
        ("0 Paris: contradicted — x\n1 Rome: supported — y\n2 Berlin: contra", 0, LOWEST),
        ("0 Paris: contradicted — x\n1 Rome: supported — y\n2 Berlin", 0, LOWEST),
        ("1 Rome: s", 0, LOWEST),
        ("1 Rome:", 0, LOWEST),
        ("1 contra", 0, LOWEST),
    ],
)
def test_without_an_answer_line_a_single_quoted_option_counts(output, option_id, step):
    check(output, CITIES, option_id, step)


def test_a_quoted_option_does_not_quote_the_one_inside_it():
    check("I think New York City is meant.", NESTED, 1, QUOTED)
    check("I think New York City is meant, not York.", NESTED, 1, QUOTED)
    check("New York City or York?", NESTED, 0, LOWEST)


def test_numbers_count_as_quoted_only_in_the_conclusion():
    check("40 is 80 % of it, so it was 50.", options("48", "50", "32"), 1, QUOTED)
    check("We have 3 apples.\nHard to say.", NUMBERS, 0, LOWEST)
    check("It is 3.5 or 5/6, -5 or 60.", NUMBERS, 0, LOWEST)


class Logprobs:
    """A fake engine call that counts how often it is asked."""

    def __init__(self, scores: Mapping[int, float]) -> None:
        self.scores = scores
        self.calls = 0

    def __call__(self) -> Mapping[int, float]:
        self.calls += 1
        return self.scores


def parsed_with(output: str, scores: Mapping[int, float], offered: Sequence[Option] = CITIES):
    ask = Logprobs(scores)
    parsed = parse_answer(output, offered, logprobs=ask)
    return parsed.option.id, parsed.step, ask.calls


def test_log_probabilities_are_asked_only_when_the_output_names_no_option():
    scores = {0: -3.0, 1: -0.5, 2: -1.0, 3: -4.0}
    assert parsed_with("No idea.", scores) == (1, LOGPROB, 1)
    for output in ("ANSWER: 2 Berlin", "ANSWER: 2", "Berlin"):
        assert parsed_with(output, scores)[2] == 0


def test_log_probabilities_ties_gaps_and_nonsense():
    nan, inf = float("nan"), float("-inf")
    assert parsed_with("", {3: -1.0, 1: -1.0, 2: -2.0})[:2] == (1, LOGPROB)
    assert parsed_with("", {0: nan, 2: -9.0, 7: 0.0})[:2] == (2, LOGPROB)
    assert parsed_with("", {0: inf, 2: inf})[:2] == (0, LOGPROB)
    assert parsed_with("", {0: nan, 7: 0.0})[:2] == (0, LOWEST)
    assert parsed_with("", {})[:2] == (0, LOWEST)


def test_a_text_that_fits_several_narrows_the_later_steps():
    offered = options("Rome", "May", "may")
    scores = {0: -0.1, 1: -3.0, 2: -2.0}
    assert parsed_with("ANSWER: MAY", scores, offered)[:2] == (2, LOGPROB)
    parsed = parse_answer("ANSWER: MAY", offered)
    assert (parsed.option.id, parsed.step) == (1, LOWEST)
    assert "2 that the text fits" in parsed.detail


def test_an_error_of_the_engine_passes_through():
    def fail() -> Mapping[int, float]:
        raise OSError("engine gone")

    with pytest.raises(OSError, match="engine gone"):
        parse_answer("", CITIES, logprobs=fail)


def test_identical_options_stand_for_the_lowest_id():
    offered = options("Rome", "Paris", "Rome", ids=(9, 4, 7))
    for output in ("ANSWER: 9 Rome", "ANSWER: Rome", "ANSWER: 9", "It is Rome.", "ANSWER: A"):
        assert parse_answer(output, offered).option == Option(7, "Rome"), output
    assert parsed_with("", {9: -1.0, 4: -2.0}, offered)[:2] == (7, LOGPROB)


def test_ids_need_not_start_at_nought_nor_follow_each_other():
    offered = options("Rome", "Paris", "Berlin", ids=(12, 5, 40))
    check("ANSWER: 12", offered, 12, ID)
    check("ANSWER: 5 Paris", offered, 5, TEXT)
    check("ANSWER: B", offered, 5, ID)  # the second place
    check("ANSWER: 1", offered, 5, LOWEST)  # no such id
    check("ANSWER: -3 x", options("x", "y", ids=(-3, 3)), -3, TEXT)
    check("ANSWER: 99999999999999999999999", offered, 5, LOWEST)


@pytest.mark.parametrize("count", range(1, 9))
def test_one_to_eight_options(count):
    offered = options(*(f"town {name}" for name in "abcdefgh"[:count]))
    for option, letter in zip(offered, "ABCDEFGH", strict=False):
        check(f"ANSWER: {letter}", offered, option.id, ID)
        check(f"ANSWER: {option.id} {option.text}", offered, option.id, TEXT)


def test_no_options_is_a_programming_error():
    with pytest.raises(ValueError, match="at least one option"):
        parse_answer("ANSWER: 2", ())


# Properties --------------------------------------------------------------

SIGNS = "0123456789abAB éÉ²½−-–.,:;()[]{}<>*_`$#\\/|'\"\u0301\u200d\u202e\n\r\t\u2028=%+"
WORDS = st.sampled_from(
    ["ANSWER:", "answer", "The answer is", "<think>", "</think>", "supported", "contradicted: x",
     "\n", "\n0 ", "\nANSWER: ", "Option B", "2", "3", "None of the above", "a", "\\frac{1}{2}",
     '{"answer": ', "not ", "—", "\ud800"]
)  # fmt: skip
ANYTHING = st.text(st.one_of(st.sampled_from(SIGNS), st.characters()), max_size=30)
OUTPUTS = st.lists(st.one_of(WORDS, ANYTHING), max_size=12).map("".join)


@st.composite
def any_options(draw: Callable[..., object]) -> tuple[Option, ...]:
    texts = draw(st.lists(st.one_of(ANYTHING, WORDS), min_size=1, max_size=8))
    ids = draw(st.lists(st.integers(-9, 20), min_size=len(texts), max_size=len(texts), unique=True))
    return options(*texts, ids=ids)


@given(OUTPUTS, any_options())
@example("ANSWER: " + "9" * 5000, CITIES)
@example("ANSWER: \ud800\udfff", options("\ud800", "x"))
def test_any_output_over_any_options_names_a_member(output, offered):
    parsed = parse_answer(output, offered)
    assert parsed.option in offered
    assert parse_answer(output, offered) == parsed
    scores = {option.id: -float(option.id) for option in offered}
    assert parse_answer(output, offered, logprobs=lambda: scores).option in offered


@given(
    OUTPUTS,
    st.lists(st.sampled_from(["Rome", "Paris", "3", "4", "a", "b"]), unique=True, min_size=2),
)
def test_the_order_in_which_options_are_listed_changes_only_letters(output, texts):
    assume(not any(letter in output for letter in "abcdefghABCDEFGH"))
    offered = options(*texts)
    assert parse_answer(output, offered) == parse_answer(output, tuple(reversed(offered)))


def distinct(offered: Sequence[Option]) -> bool:
    keys = [normalise_text(option.text) for option in offered]
    return len(set(keys)) == len(keys) and all(keys)


BEFORE = st.sampled_from(
    ["", "Finding: x.\n", "<think>hm\nANSWER: 1</think>\n", "0 supported: yes\n\n", "ANSWER: 0\n"]
)
AFTER = st.sampled_from(["", "\n", "  \n\n", "\nThat is all.", "\n<think>but"])
MARKER = st.sampled_from(["ANSWER: ", "answer:", "Answer :  ", "**ANSWER:** ", "- Final answer: "])


@given(st.data(), any_options(), BEFORE, MARKER, AFTER)
def test_a_rendered_answer_line_is_read_back_by_its_text(data, offered, before, marker, after):
    # The prompt shows each option on one line, so the model writes it on one.
    offered = tuple(Option(o.id, " ".join(o.text.split())) for o in offered)
    assume(distinct(offered))
    assume(not any(tag in o.text for o in offered for tag in ("<think", "</think")))
    chosen = data.draw(st.sampled_from(offered))
    parsed = parse_answer(f"{before}{marker}{chosen.id} {chosen.text}{after}", offered)
    assert (parsed.option, parsed.step) == (chosen, TEXT)


PLAIN_WORDS = st.lists(
    st.text("abcdeéñßжあ山אب0123456789", min_size=1, max_size=7), min_size=1, max_size=4
).map(" ".join)


@given(
    st.data(),
    st.lists(PLAIN_WORDS, min_size=2, max_size=8, unique_by=normalise_text),
    st.sampled_from(
        ["{}", "**{}**", "`{}`", "{}.", "**{}**.", '"{}"', "_{}_", "({})", " {} <|im_end|>"]
    ),
    st.sampled_from(
        ["{id} {text}", "{id}: {text}", "{id}) {text}", "**{id}** {text}", '{id} "{text}"']
    ),
    st.booleans(),
)
def test_decoration_does_not_hide_the_text(data, texts, around, form, upper):
    offered = options(*texts)
    chosen = data.draw(st.sampled_from(offered))
    text = chosen.text.title() if upper and chosen.text.isascii() else chosen.text
    line = around.format(form.format(id=chosen.id, text=text))
    parsed = parse_answer(f"ANSWER: {line}", offered)
    assert (parsed.option, parsed.step) == (chosen, TEXT)


@given(st.data(), st.lists(PLAIN_WORDS, min_size=2, max_size=8, unique_by=normalise_text))
def test_the_text_wins_over_any_other_id(data, texts):
    offered = options(*texts)
    chosen, other = data.draw(st.sampled_from(offered)), data.draw(st.sampled_from(offered))
    # "1 2 b" is the text "1 2 b" before it is id 1 and the text "2 b".
    line = f"{other.id} {chosen.text}"
    assume(line not in texts)
    parsed = parse_answer(f"ANSWER: {line}", offered)
    assert (parsed.option, parsed.step) == (chosen, TEXT)


@pytest.mark.parametrize("start", ["", "ANSWER: ", "ANSWER: 2 ", "<think>", "{"])
@pytest.mark.parametrize(
    "piece",
    ["<think>", "</think>", "*", "\n", "ANSWER:", "\nANSWER: ", "the answer is ", " ", "\u00a0",
     "{", "$", "\\frac{", "\u0301\u0316", "Paris ", "3.", "\n0 Paris: supported", "- ", "a", "="],
)  # fmt: skip
def test_a_hundred_thousand_characters_take_no_longer_than_their_length(start, piece):
    output = (start + piece * (100_000 // len(piece)))[:100_000]
    began = time.process_time()
    parse_answer(output, options("Paris", "Rome", "3", "a"))
    assert time.process_time() - began < 0.8  # about 0.1 s; a quadratic step takes many


def test_json_of_every_city_is_read():
    for option in CITIES:
        for shape in (
            {"answer": f"{option.id} {option.text}"},
            {"answer": option.text},
            {"answer": option.id},
            {"reason": "because", "answer": {"id": option.id, "text": option.text}},
        ):
            assert parse_answer(json.dumps(shape), CITIES).option == option
            assert parse_answer(json.dumps(shape, indent=2), CITIES).option == option
