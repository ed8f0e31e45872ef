"""Each format: what it gives, and what it refuses and why."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from harness.errors import BadInputError
from harness.importers import FORMATS, guess_format, read_questions
from harness.quiz import Category


@pytest.fixture
def read(tmp_path):
    def read(content, name="file.txt", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_questions(path, **options)

    return read


def first(imported):
    return imported.questions[0]


def trivia(**changes):
    return {
        "type": "multiple",
        "difficulty": "hard",
        "category": "Science & Nature",
        "question": 'Who said "Eureka" in café 7?',
        "correct_answer": "Archimède's",
        "incorrect_answers": ["Plato & co", "Zeno", "<b>Bion</b>"],
    } | changes


def encoded(item, encode):
    return {
        key: [encode(entry) for entry in value] if isinstance(value, list) else encode(value)
        for key, value in item.items()
    }


def entities(text):
    for char, name in (("&", "&amp;"), ('"', "&quot;"), ("'", "&#039;"), ("é", "&eacute;")):
        text = text.replace(char, name)
    return text


@pytest.mark.parametrize(
    ("encode", "note"),
    [
        (entities, None),
        (lambda text: base64.b64encode(text.encode()).decode(), "base64"),
        (lambda text: quote(text, safe=""), "RFC 3986"),
        (quote_plus, "URL encoding"),
    ],
    ids=["entities", "base64", "url3986", "urlLegacy"],
)
def test_open_trivia_db_in_every_encoding(read, encode, note):
    found = read(json.dumps({"response_code": 0, "results": [encoded(trivia(), encode)]}))
    assert found.format == "opentdb"
    question = first(found)
    assert question.text == 'Who said "Eureka" in café 7?'
    assert question.gold.answer == "Archimède's"
    texts = [option.text for option in question.options]
    assert texts == ["<b>Bion</b>", "Archimède's", "Plato & co", "Zeno"]
    assert question.category is Category.SCIENCE
    assert question.tags == ("opentdb", "difficulty-hard")
    assert question.level is None  # difficulty is not a level
    assert bool(found.notes) is (note is not None)
    assert all(note in text for text in found.notes)


def test_a_right_answers_place_says_nothing(read):
    items = [trivia(question=f"Question {n}?", correct_answer=f"{n}") for n in range(9)]
    items = [item | {"incorrect_answers": ["2.5", "4.5", "7.5"]} for item in items]
    found = read(json.dumps(items))
    places = {
        [option.text for option in question.options].index(question.gold.answer)
        for question in found.questions
    }
    assert places == {0, 1, 2, 3}


def test_open_trivia_db_true_or_false(read):
    item = trivia(type="boolean", correct_answer="True", incorrect_answers=["False"])
    assert [option.text for option in first(read(json.dumps([item]))).options] == ["False", "True"]


@pytest.mark.parametrize(
    ("topic", "category"),
    [
        ("Entertainment: Musicals &amp; Theatres", Category.ENTERTAINMENT),
        ("Celebrities", Category.ENTERTAINMENT),
        ("Politics", Category.HISTORY),
        ("Mythology", Category.HISTORY),
        ("Science: Computers", Category.SCIENCE),
        ("Science: Mathematics", Category.MATHS),
        ("Geography", None),
        ("", None),
        (None, None),
    ],
)
def test_topics(read, topic, category):
    found = read(json.dumps({"results": [trivia(category=topic)]}))
    assert [question.category for question in found.questions] == ([category] if category else [])
    if category is None:
        assert found.refused == {"no category known for it": 1}
        assert list(found.unknown_topics) == [topic or "none"]


def test_a_given_category_is_only_for_those_without_one(read):
    items = [trivia(category="Geography"), trivia(question="Another?")]
    found = read(json.dumps(items), category=Category.NEWS)
    assert [question.category for question in found.questions] == [Category.NEWS, Category.SCIENCE]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (7, "can't be read"),
        (trivia(question=None), "can't be read"),
        (trivia(incorrect_answers="x"), "can't be read"),
        (trivia(incorrect_answers=[1]), "can't be read"),
        (trivia(question="x" * 20_001), "too long"),
        (trivia(incorrect_answers=list("abcdefgh")), "too few or too many options"),
        (trivia(incorrect_answers=[]), "too few or too many options"),
        (trivia(incorrect_answers=["", "b"]), "an empty question or option"),
        (trivia(question=" \t&nbsp; "), "an empty question or option"),
        (trivia(incorrect_answers=["Zeno", "Zeno "]), "two options are the same"),
        (trivia(incorrect_answers=["Archimède's"]), "two options are the same"),
    ],
)
def test_one_bad_item_spoils_no_other(read, item, reason):
    found = read(json.dumps({"results": [item, trivia(question="A good one?")]}))
    assert [question.text for question in found.questions] == ["A good one?"]
    assert (found.refused, found.read) == ({reason: 1}, 2)
    assert found.examples[0].line == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"response_code": 5, "results": []}', "answered with code 5"),
        ('{"results": {}}', "no list of 'results'"),
        ('{"results": [', "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_json_that_is_no_trivia(read, content, words):
    with pytest.raises(BadInputError, match=words):
        read(content, format_name="opentdb")


QA = (
    "#Q Where is it?\r\n^ There\r\nA Here\r\nB There\r\n\r\n"
    "#Q A question that\nA goes on?\n^ Both\nA One\nB Two\nC Both\nD None\nof these\n\n"
)


def test_open_trivia_qa(read):
    found = read(QA, "history")
    assert found.format == "opentriviaqa"
    two, four = found.questions
    assert [option.text for option in two.options] == ["Here", "There"]
    assert (two.gold.answer, two.category) == ("There", Category.HISTORY)
    assert four.text == "A question that A goes on?"
    assert [option.text for option in four.options] == ["One", "Two", "Both", "None of these"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(read, end):
    content = "\n".join(QA.replace("\r\n", "\n").split("\n")).replace("\n", end)
    assert len(read(content, "history").questions) == 2


@pytest.mark.parametrize(
    ("raw", "text", "noted"),
    [
        ("Brummbär".encode(), "Brummbär", False),
        (b"\xef\xbb\xbfBrumm", "Brumm", False),
        ("Brummbär".encode("latin-1"), "Brummbär", True),
        ("It’s “so”".encode("cp1252"), "It’s “so”", True),
        ("Józef ".encode() + b"Brummb\xe4r", "Józef Brummbär", True),
        ("It’s ".encode() + b"\xe2\x80\x9cso\xe2\x80? x\xe9", "It’s “so” xé", True),
        (b"a\x81b", "a b", True),
        ("e\u0301".encode(), "é", False),
        (b"a\0b\x1b[2J\xe2\x80\x8bc", "a b [2Jc", False),
    ],
)
def test_encodings(read, raw, text, noted):
    content = b"#Q " + raw + b"\n^ x\nA x\nB y\n"
    if raw.startswith(b"\xef\xbb\xbf"):
        content = b"\xef\xbb\xbf" + content.replace(b"\xef\xbb\xbf", b"")
    found = read(content, "history", format_name="opentriviaqa")
    assert first(found).text == text
    assert bool(found.notes) is noted


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("#Q Q?\nA x\nB y\n", "no right answer given"),
        ("#Q Q?\n^ z\nA x\nB y\n", "the answer is not among the options"),
        ("#Q Q?\n^ x\n^ y\nA x\nB y\n", "can't be read"),
        ("#Q Q?\n^ x\nA x\n", "too few or too many options"),
        ("#Q Q?\n^ x\nA x\nB\nC y\n", "an empty question or option"),
        (
            "#Q Q?\n^ x\n" + "".join(f"{c} {c}\n" for c in "ABCDEFGHI"),
            "too few or too many options",
        ),
        ("#Q Q?\n" + "more\n" * 300 + "^ x\nA x\nB y\n", "can't be read"),
        ("#Q Q?\n^ x\nA x\nB " + "y" * 70_000 + "\n", "too long"),
        ("stray\n", "can't be read"),
    ],
)
def test_what_open_trivia_qa_refuses(read, content, reason):
    found = read(content + "\n#Q Good?\n^ a\nA a\nB b\n", "history", format_name="opentriviaqa")
    assert [question.text for question in found.questions] == ["Good?"]
    assert set(found.refused) == {reason}


def test_a_file_whose_name_is_no_topic_needs_a_category(read):
    assert not read(QA, "general").questions
    assert len(read(QA, "general", category=Category.NEWS).questions) == 2


def test_mmlu(read):
    content = '"Which of\nthese, now?",a,"b, c",d,e,B\nBad,a,b,c,d,E\nShort,a,b\n'
    found = read(content, "high_school_world_history_test.csv")
    assert found.format == "mmlu"
    question = first(found)
    assert question.text == "Which of these, now?"
    assert (question.gold.answer, question.category) == ("b, c", Category.HISTORY)
    assert found.refused == {"the answer is not among the options": 1, "can't be read": 1}
    assert [problem.line for problem in found.examples] == [3, 4]


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("abstract_algebra_dev.csv", Category.MATHS),
        ("professional_psychology_val.csv", Category.PHILOSOPHY),
        ("astronomy.csv", Category.SCIENCE),
        ("marketing_test.csv", None),
        ("news.csv", Category.NEWS),
    ],
)
def test_mmlu_subjects(read, name, category):
    found = read("Q?,a,b,c,d,A\n", name)
    assert [question.category for question in found.questions] == ([category] if category else [])


BANKS = {
    "letters": "question,A,B,C,D,answer\nQ?,w,x,y,z,c\n",
    "options and an id": "Question;Option A;Option B;Option C;Option D;gold_id\n"
    "Q?;w;x;y;z;2\nR?;w;x;y;z;0\n",
    "counted from 1": "stem,option_1,option_2,option_3,option_4,correct_option\nQ?,w,x,y,z,3\n",
    "counted from 0": "prompt\topt0\topt1\topt2\topt3\tlabel\nQ?\tw\tx\ty\tz\t2\n",
    "from 1 by the file": "question,A,B,C,D,label\nQ?,w,x,y,z,3\nR?,w,x,y,z,4\n",
    "by text": "text,choice_a,choice_b,choice_c,choice_d,answer_text\nQ?,w,x,y,z,y\n",
    "text under answer": "question,A,B,C,D,correct_answer\nQ?,w,x,y,z,y\n",
    "numbers as texts": "question,A,B,C,D,answer\nQ?,w,x,y,z,y\nR?,11,12,13,14,13\n",
}


@pytest.mark.parametrize("content", BANKS.values(), ids=BANKS.keys())
def test_question_banks(read, content):
    found = read(content, category=Category.NEWS)
    assert found.format == "bank"
    assert first(found).gold.answer == "y"
    assert not found.refused


def test_a_banks_other_columns(read):
    content = (
        "id,category,level,difficulty,question,a,b,c,d,answer\n"
        "x1,Science and Nature,4,Easy,Q?,w,x,y,z,A\n"
        "x2,Cooking,soon,,R?,w,x,,,B\n"
    )
    found = read(content, category=Category.NEWS)
    one, two = found.questions
    assert (one.id, one.category, one.level) == ("x1", Category.SCIENCE, 4)
    assert one.tags == ("bank", "difficulty-easy")
    assert (two.id, two.category, two.level) == ("x2", Category.NEWS, None)
    assert [option.text for option in two.options] == ["w", "x"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("question,A,B,C,D,label\nQ?,w,x,y,z,2\n", "the answer can be read in two ways"),
        ("question,A,B,C,D,answer\nQ?,b,a,c,d,A\nR?,b,A,c,d,A\n", "the answer can be read"),
        ("question,A,B,C,D,label\nQ?,w,x,y,z,9\nR?,w,x,y,z,0\n", "the answer is not among"),
        ("question,A,B,C,D,answer\nQ?,w,x,y,z,\n", "no right answer given"),
        ("question,A,B,C,D,answer\nQ?,w\n", "can't be read"),
        ("question,A,B,C,D,answer\nQ?,w,,y,z,A\n", "an empty question or option"),
        ("question,option_1,option_2,answer\nQ?,w,x,3\n", "the answer is not among"),
    ],
)
def test_what_a_bank_refuses(read, content, reason):
    found = read(content, category=Category.NEWS, format_name="bank")
    assert any(name.startswith(reason) for name in found.refused)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("question,A,B,C,D", "the right answer"),
        ("question,A,answer", "2 to 8 options"),
        ("A,B,C,D,answer", "a question"),
    ],
)
def test_a_header_that_lacks_something(read, header, words):
    with pytest.raises(BadInputError, match=f"no column for .*{words}"):
        read(header + "\n1,2,3,4,5\n", format_name="bank")


def test_a_quote_that_is_never_closed_does_not_swallow_the_memory(read):
    rows = "".join(f"Q{n}?,a,b,c,d,A\n" for n in range(15_000))
    found = read('"Open,a,b,c,d,A\n' + rows, "astronomy.csv", format_name="mmlu")
    assert found.refused["can't be read"] >= 1
    assert len(found.questions) > 1_000


def test_own_json_lines(read):
    lines = [
        {
            "id": "n1",
            "category": "News",
            "question": "Q?",
            "options": [{"id": 3, "text": "a"}, {"id": 1, "text": "b"}, {"id": 2, "text": "c"}],
            "refused": ["b"],
            "level": 3,
            "tags": ["x"],
        },
        {"category": "news", "question": "R?", "options": ["a"]},
    ]
    found = read("\n".join(map(json.dumps, lines)) + "\nnonsense\n")
    question = first(found)
    assert found.format == "hotseat"
    assert (question.id, question.level, question.tags) == ("n1", 3, ("x",))
    assert [(option.id, option.text) for option in question.options] == [
        (3, "a"),
        (1, "b"),
        (2, "c"),
    ]
    assert question.gold.refused == ("b",)
    assert found.refused == {"can't be read": 2}


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'\xef\xbb\xbf{"response_code":0,"results":[]}', "opentdb"),
        (b'[{"question": 1}]', "opentdb"),
        (b"\n\n#Q What\n^ x", "opentriviaqa"),
        (b'{"category": "news", "question": "Q"}', "hotseat"),
        (b"question,A,B,C,D,answer\n", "bank"),
        (b"Question;Answer\n", "bank"),
        (b'"Q, really?",a,b,c,d,D\n', "mmlu"),
    ],
)
def test_formats_are_recognised(head, name):
    assert guess_format(head, "f") == name


@pytest.mark.parametrize("head", [b"", b"hello", b"\xff\xfeQ\0", b"PK\x03\x04\0\0", b"a,b,c\n"])
def test_formats_that_are_not(head):
    with pytest.raises(BadInputError):
        guess_format(head, "f")


def test_an_unknown_format_names_the_nearest(read):
    with pytest.raises(BadInputError, match="Did you mean 'opentdb'"):
        read("x", format_name="opentbd")
    assert set(FORMATS) == {"opentdb", "opentriviaqa", "mmlu", "bank", "hotseat"}


def test_files_that_are_none(tmp_path):
    for path in (tmp_path, tmp_path / "absent", tmp_path / "a\0b"):
        with pytest.raises(BadInputError):
            read_questions(path)


def test_a_file_that_is_too_large(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(257 * 2**20)
    with pytest.raises(BadInputError, match="larger than 256 MB"):
        read_questions(path)
    with path.open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(BadInputError, match="larger than 64 MB"):
        read_questions(path, format_name="opentdb")
