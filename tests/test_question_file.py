from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import QuestionFileError
from harness.question_file import (
    MAX_LINE_BYTES,
    LoadedQuestions,
    dump_question,
    load_questions,
    questions_digest,
)
from harness.quiz import Category, Gold, GoldKind, Option, Question

GOOD: dict[str, Any] = {
    "category": "news",
    "question": "Who won?",
    "options": ["Anna", "Bert", "Carla"],
}


@pytest.fixture
def load(tmp_path: Path):
    def load(*lines: Any) -> LoadedQuestions:
        raw = [
            line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode()
            for line in lines
        ]
        path = tmp_path / "q.jsonl"
        path.write_bytes(b"\n".join(raw))
        return load_questions(path)

    return load


def test_reads_all_fields(load):
    loaded = load(
        {
            "id": "n1",
            "category": "Science and Nature",
            "level": 7,
            "question": "Who won?",
            "options": [{"id": 5, "text": "Anna"}, {"id": 2, "text": "Bert"}],
            "answer": "Bert",
            "refused": ["Anna"],
            "tags": ["invented", "invented"],
            "source": {"anything": ["else"]},
        }
    )
    assert loaded == LoadedQuestions(
        (
            Question(
                "n1",
                Category.SCIENCE,
                "Who won?",
                (Option(5, "Anna"), Option(2, "Bert")),
                Gold("Bert", ("Anna",)),
                7,
                ("invented",),
            ),
        )
    )


def test_option_ids_default_to_positions_from_zero(load):
    (question,) = load(GOOD).questions
    assert [option.id for option in question.options] == [0, 1, 2]
    assert question.gold.kind is GoldKind.UNKNOWN


def test_default_id_depends_on_question_and_options_not_on_their_order(load):
    first = load(GOOD).questions[0].id
    assert first.startswith("q-")
    assert len(first) == 12
    assert load({**GOOD, "options": ["Carla", "Anna", "Bert"]}).questions[0].id == first
    assert load({**GOOD, "options": ["Carla", "Anna"]}).questions[0].id != first
    assert load({**GOOD, "category": "history"}).questions[0].id != first


def test_a_number_is_taken_as_an_id(load):
    assert load({**GOOD, "id": 17}).questions[0].id == "17"


BAD_LINES = [
    (b"{", "Not valid JSON"),
    (b"[1, 2]", "not a JSON object"),
    (b'"text"', "not a JSON object"),
    (b"[" * 30_000, "nested too deeply"),
    (b'{"level": ' + b"9" * 5_000 + b"}", "number is too long"),
    (b'{"question": "\xe9"}', "byte 15 of the line is not UTF-8"),
    ({k: v for k, v in GOOD.items() if k != "question"}, "'question' is missing"),
    ({**GOOD, "question": "  "}, "'question' is empty"),
    ({**GOOD, "question": 3}, "'question' must be text"),
    (b'{"category":"news","question":"\\ud800","options":["a","b"]}', "surrogate"),
    ({k: v for k, v in GOOD.items() if k != "category"}, "'category' is missing"),
    ({**GOOD, "category": "sience"}, "Did you mean 'science'?"),
    ({**GOOD, "category": 4}, "'category' must be text"),
    ({**GOOD, "options": ["only one"]}, "There is 1 option; 2 to 8"),
    ({**GOOD, "options": list("abcdefghi")}, "9 options; 2 to 8"),
    ({**GOOD, "options": "Anna"}, "'options' must be a list"),
    ({"category": "news", "question": "Q?", "option": ["a", "b"]}, "Is 'option' meant to be it?"),
    ({"category": "news", "quesion": "Q?", "options": ["a", "b"]}, "'question' is missing"),
    ({**GOOD, "options": ["Anna", None]}, "option 2 must be text"),
    ({**GOOD, "options": ["Anna", ""]}, "Option 2 is empty"),
    ({**GOOD, "options": [{"id": "x", "text": "a"}, "b"]}, "id of option 1"),
    ({**GOOD, "options": [{"id": True, "text": "a"}, "b"]}, "id of option 1"),
    ({**GOOD, "options": [{"id": 1, "text": "a"}, "b"]}, "share one id"),
    ({**GOOD, "answer": "Karla"}, "'Karla' is not among the options. Did you mean 'Carla'?"),
    ({**GOOD, "answer": "anna"}, "'anna' is not among the options. Did you mean 'Anna'?"),
    ({**GOOD, "answer": 0}, "'answer' must be text"),
    ({**GOOD, "refused": "Anna"}, "'refused' must be a list"),
    ({**GOOD, "refused": ["Zoe"]}, "refused text 'Zoe' is not among the options"),
    ({**GOOD, "answer": "Anna", "refused": ["Anna"]}, "both the answer and refused"),
    ({**GOOD, "refused": ["Anna", "Bert", "Carla"]}, "every option is refused"),
    ({**GOOD, "tags": [1]}, "entry of 'tags' must be text"),
    ({**GOOD, "level": "3"}, "'level' must be a whole number"),
    ({**GOOD, "level": True}, "'level' must be a whole number"),
    ({**GOOD, "level": -1}, "'level' must be a whole number"),
    ({**GOOD, "level": 0}, "'level' must be a whole number, 1 or more"),
    ({**GOOD, "level": 2.0}, "'level' must be a whole number"),
    ({**GOOD, "level": 10**30}, "'level' is too large"),
    ({**GOOD, "id": ""}, "'id' is empty"),
    ({**GOOD, "id": "a\x1b[2J"}, "'id' must be printable"),
    ({**GOOD, "id": ["a"]}, "'id' must be text"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_named_and_the_rest_stays_usable(load, line, message):
    loaded = load(GOOD, line, {**GOOD, "question": "And then?"})
    assert [question.text for question in loaded.questions] == ["Who won?", "And then?"]
    (problem,) = loaded.problems
    assert problem.line == 2
    assert not problem.warning
    assert message.lower() in problem.message.lower()
    assert str(problem).startswith(f"{problem.path}:2: ")
    assert problem.message.endswith((".", "?"))


@pytest.mark.parametrize(
    ("given", "meant"),
    [("anwser", "answer"), ("tgas", "tags"), ("Answer", "answer"), ("refusd", "refused")],
)
def test_a_misspelt_field_is_told_and_the_question_kept(load, given, meant):
    loaded = load(GOOD, {**GOOD, "question": "And then?", given: "Anna"})
    assert len(loaded.questions) == 2
    (problem,) = loaded.problems
    assert problem.warning
    assert str(problem) == (f"{problem.path}:2: Unknown field '{given}'; did you mean '{meant}'?")


def test_other_unknown_fields_are_tolerated_silently(load):
    line = {**GOOD, "answer": "Anna", "source": 1, "answer_by": 2, "answers": 3, "x" * 5_000: 4}
    assert load(line).problems == ()


def test_messages_hold_no_control_characters_and_stay_short(load):
    loaded = load(
        GOOD, {**GOOD, "answer": "\x1b[31m" + "x" * 5_000}, {**GOOD, "category": "\x07" * 999}
    )
    for problem in loaded.problems:
        assert problem.message.isprintable()
        assert len(problem.message) < 300


def test_an_over_long_line_is_passed_over_whole(load):
    long = {**GOOD, "question": "x" * (3 * MAX_LINE_BYTES)}
    loaded = load(GOOD, long, {**GOOD, "question": "And then?"})
    assert [problem.line for problem in loaded.problems] == [2]
    assert "longer than 64 KB" in loaded.problems[0].message
    assert len(loaded.questions) == 2


def test_a_line_of_exactly_the_limit_is_read(load):
    empty = len(json.dumps({**GOOD, "question": ""}))
    fits = {**GOOD, "question": "x" * (MAX_LINE_BYTES - empty)}
    assert len(load(fits, {**GOOD, "question": "And then?"}).questions) == 2
    assert len(load(fits).questions) == 1
    with pytest.raises(QuestionFileError, match="longer than"):
        load({**fits, "question": fits["question"] + "xxx"})


def test_byte_order_mark_crlf_and_blank_lines(tmp_path: Path):
    path = tmp_path / "q.jsonl"
    line = json.dumps(GOOD).encode()
    other = json.dumps({**GOOD, "question": "And\u2028then?"}, ensure_ascii=False).encode()
    path.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\r\n   \n" + other + b"\r\n{bad\r\n")
    loaded = load_questions(path)
    assert [question.text for question in loaded.questions] == ["Who won?", "And\u2028then?"]
    assert [problem.line for problem in loaded.problems] == [5]


def test_identical_options_are_kept_with_a_warning(load):
    loaded = load({**GOOD, "options": ["Anna", "Anna", "Bert"], "answer": "Anna"})
    (problem,) = loaded.problems
    assert problem.warning
    assert "identical: 'Anna'" in problem.message
    assert loaded.questions[0].judge("Anna") is True


def test_a_repeated_id_of_another_question_is_refused(load):
    loaded = load({**GOOD, "id": "x"}, {**GOOD, "id": "x", "question": "And then?"})
    assert len(loaded.questions) == 1
    assert "'x' is already that of line 1" in loaded.problems[0].message


def test_the_same_question_twice_merges_gold(load):
    shuffled = ["Bert", "Carla", "Anna"]
    loaded = load(
        {**GOOD, "id": "first", "refused": ["Bert"], "tags": ["a"]},
        {**GOOD, "question": " WHO  won? ", "options": shuffled, "refused": ["Carla"]},
        {**GOOD, "id": "third", "options": shuffled, "answer": "Anna", "tags": ["b"]},
    )
    (question,) = loaded.questions
    assert question.id == "first"
    assert question.gold == Gold("Anna", ("Bert", "Carla"))
    assert question.tags == ("a", "b")
    assert loaded.merged == 2
    assert loaded.problems == ()


def test_other_distractors_make_another_question(load):
    loaded = load(
        {**GOOD, "answer": "Anna"}, {**GOOD, "options": ["Anna", "Dora"], "answer": "Anna"}
    )
    assert len(loaded.questions) == 2


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"answer": "Anna"}, {"answer": "Bert"}, "'Bert' contradicts 'Anna' in line 1"),
        ({"answer": "Anna"}, {"refused": ["Anna"]}, "'Anna' is both the answer and refused"),
        ({"refused": ["Anna"]}, {"answer": "Anna"}, "'Anna' is both the answer and refused"),
        ({"refused": ["Anna"]}, {"refused": ["Bert", "Carla"]}, "every option is refused"),
    ],
)
def test_contradictory_gold_keeps_the_first_line(load, first, second, message):
    loaded = load({**GOOD, **first}, {**GOOD, **second})
    (question,) = loaded.questions
    assert question.gold == load({**GOOD, **first}).questions[0].gold
    assert message in loaded.problems[0].message
    assert loaded.problems[0].line == 2


@pytest.mark.parametrize("content", [b"", b"\n\n", b"{bad\nworse\n", "q".encode("utf-16")])
def test_no_usable_line_is_one_error(tmp_path: Path, content: bytes):
    path = tmp_path / "q.jsonl"
    path.write_bytes(content)
    with pytest.raises(QuestionFileError, match="no usable question") as caught:
        load_questions(path)
    assert caught.value.exit_code == 2
    if content.strip():
        assert "Line 1: " in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path):
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(QuestionFileError, match="Can't read the question file"):
            load_questions(path)


def test_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("harness.question_file.MAX_FILE_BYTES", 10)
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(GOOD))
    with pytest.raises(QuestionFileError, match="larger than"):
        load_questions(path)


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(str.strip)
ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(
    lambda text: text.isprintable() and text.strip()
)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    option_texts = draw(st.lists(texts, min_size=2, max_size=8, unique=True))
    numbers = draw(
        st.just(list(range(len(option_texts))))
        | st.lists(
            st.integers(0, 10**9),
            min_size=len(option_texts),
            max_size=len(option_texts),
            unique=True,
        )
    )
    answer = draw(st.none() | st.sampled_from(option_texts))
    others = [text for text in option_texts[1:] if text != answer]
    refused = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    return Question(
        id=draw(ids),
        category=draw(st.sampled_from(Category)),
        text=draw(texts),
        options=tuple(map(Option, numbers, option_texts)),
        gold=Gold(answer, tuple(refused)),
        level=draw(st.none() | st.integers(1, 2**63 - 1)),
        tags=tuple(draw(st.lists(texts, max_size=3, unique=True))),
    )


@given(st.lists(questions(), min_size=1, max_size=5, unique_by=(lambda q: q.id, lambda q: q.key)))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, written):
    path = tmp_path_factory.mktemp("round") / "q.jsonl"
    path.write_bytes("".join(dump_question(question) + "\n" for question in written).encode())
    loaded = load_questions(path)
    assert loaded.questions == tuple(written)
    assert loaded.problems == ()


@given(
    st.lists(questions(), max_size=5).flatmap(
        lambda qs: st.tuples(st.just(qs), st.permutations(qs))
    )
)
def test_digest_does_not_depend_on_the_order(pair):
    assert questions_digest(pair[0]) == questions_digest(pair[1])


@given(questions())
def test_digest_covers_gold(question: Question):
    other = Question(**{**{n: getattr(question, n) for n in question.__slots__}, "level": -1})
    assert questions_digest([question]) != questions_digest([other])


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, raw: bytes):
    path = tmp_path_factory.mktemp("fuzz") / "q.jsonl"
    path.write_bytes(raw)
    with pytest.raises(QuestionFileError):
        load_questions(path)
