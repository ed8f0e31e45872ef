import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError, HotseatError
from harness.games import wire
from harness.games.errors import QuizProtocolError
from harness.quiz import Category

READERS = [
    wire.read_user,
    wire.read_competitions,
    wire.read_config,
    wire.read_state,
    wire.read_answer,
    wire.read_leaderboard,
]

STATE = {
    "sessionId": 12,
    "competition": {"id": 2, "name": "Science and Nature"},
    "status": "in_progress",
    "earnedAmount": 1000,
    "currentLevel": 5,
    "moneyPyramid": [{"level": 1, "amount": 100}, {"level": 2, "amount": 200.5}],
    "questionDeadline": "2026-05-01T10:00:30.250Z",
    "question": {
        "id": 77,
        "text": "What is it?",
        "options": [{"id": n, "text": t} for n, t in enumerate("abcd")],
        "level": 5,
    },
    "maxLevel": 15,
    "mode": "text",
}
ANSWER = {
    "correct": True,
    "gameOver": False,
    "earnedAmount": 2000,
    "timedOut": False,
    "status": "in_progress",
    "currentLevel": 6,
    "reachedLevel": 6,
    "questionDeadline": None,
    "question": None,
    "moneyPyramid": [],
}


def body(record, **changes):
    merged = {k: v for k, v in (record | changes).items() if v is not ...}
    return json.dumps(merged).encode()


def test_a_state_is_read_whole():
    state = wire.read_state(body(STATE, somethingNew={"x": [1]}))
    assert state.session_id == 12
    assert state.competition == wire.CompetitionRef(2, "Science and Nature")
    assert state.question_deadline == datetime(2026, 5, 1, 10, 0, 30, 250_000, tzinfo=UTC)
    assert state.money_pyramid[1] == wire.PyramidStep(2, 200.5)
    assert state.question.option(3).text == "d"
    assert state.question.option(4) is None
    assert (state.max_level, state.mode, state.is_over) == (15, "text", False)


def test_what_may_be_null_or_missing():
    for absent in (None, ...):
        nothing = dict.fromkeys(("questionDeadline", "question", "maxLevel", "competition"), absent)
        state = wire.read_state(body(STATE, moneyPyramid=absent, **nothing))
        assert (state.question_deadline, state.question, state.max_level) == (None, None, None)
        nothing = dict.fromkeys(
            ("correct", "status", "currentLevel", "reachedLevel", "question", "moneyPyramid"),
            absent,
        )
        answer = wire.read_answer(body(ANSWER, **nothing))
        assert (answer.correct, answer.status, answer.current_level) == (None, None, None)


@pytest.mark.parametrize(
    ("competition", "ref"),
    [
        (4, wire.CompetitionRef(id=4)),
        ("News", wire.CompetitionRef(name="News")),
        ({"id": 1}, wire.CompetitionRef(id=1)),
        ({}, wire.CompetitionRef()),
        (None, wire.CompetitionRef()),
    ],
)
def test_the_shape_of_a_games_competition_is_left_open(competition, ref):
    assert wire.read_state(body(STATE, competition=competition)).competition == ref


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sessionId": ...}, "'sessionId' of the reply is missing"),
        ({"sessionId": "12"}, "is not a whole number"),
        ({"sessionId": True}, "is not a whole number"),
        ({"sessionId": -1}, "is not between"),
        ({"sessionId": 2**63}, "is not between"),
        ({"currentLevel": 1.5}, "is not a whole number"),
        ({"earnedAmount": "100"}, "is not a number"),
        ({"earnedAmount": -1}, "not an amount"),
        ({"earnedAmount": 1e300}, "not an amount"),
        ({"earnedAmount": 10**400}, "not an amount"),
        ({"mode": "video"}, "neither text nor speech"),
        ({"status": 3}, "is not text"),
        ({"status": "x" * 65}, "longer than 64"),
        ({"questionDeadline": "soon"}, "is not a time"),
        ({"questionDeadline": "2026-05-01T10:00:30"}, "without its zone"),
        ({"questionDeadline": "0001-01-01T00:00:00+23:59"}, "is not a time"),
        ({"questionDeadline": "9" * 65}, "longer than 64"),
        ({"question": []}, "not an object"),
        ({"question": STATE["question"] | {"options": []}}, "fewer than 2 options"),
        ({"question": STATE["question"] | {"options": [{"id": 0}] * 2}}, "share one id"),
        ({"question": STATE["question"] | {"options": [{"id": n} for n in range(9)]}}, "more than"),
        ({"question": STATE["question"] | {"text": "x" * 20_001}}, "longer than 20000"),
        ({"question": STATE["question"] | {"text": "\ud800"}}, "surrogate"),
        ({"moneyPyramid": {}}, "is not a list"),
        ({"moneyPyramid": [7]}, "not an object"),
        ({"moneyPyramid": [{"level": 1, "amount": 1}] * 1001}, "more than 1000"),
    ],
)
def test_what_does_not_fit_is_named(changes, words):
    with pytest.raises(QuizProtocolError, match=words) as caught:
        wire.read_state(body(STATE, **changes))
    assert str(caught.value).startswith("The quiz server's reply to 'state' can't be used: ")


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "9" * 5000])
def test_numbers_that_are_none(constant):
    raw = body(STATE).replace(b'"earnedAmount": 1000', f'"earnedAmount": {constant}'.encode())
    with pytest.raises(QuizProtocolError):
        wire.read_state(raw)


def test_speech_hides_every_text():
    question = {"id": 5, "text": None, "options": [{"id": n, "text": None} for n in range(4)]}
    state = wire.read_state(body(STATE, mode="speech", question=question))
    assert state.question.text is None
    assert [option.id for option in state.question.options] == [0, 1, 2, 3]


def test_competitions_and_configurations():
    items = [
        {"id": 0, "name": "Entertainment", "maxLevels": 15, "isInfinite": False},
        {
            "id": 9,
            "name": "Cooking",
            "description": "d",
            "maxLevels": 3,
            "isInfinite": True,
            "createdAt": "yesterday",
            "questionCount": 12,
        },
    ]
    first, second = wire.read_competitions(json.dumps({"competitions": items}).encode())
    assert (first.category, first.description) == (Category.ENTERTAINMENT, None)
    assert (second.category, second.question_count, second.is_infinite) == (None, 12, True)
    with pytest.raises(QuizProtocolError, match="share one id"):
        wire.read_competitions(json.dumps({"competitions": items[:1] * 2}).encode())
    with pytest.raises(QuizProtocolError, match="'competitions' is missing"):
        wire.read_competitions(b"{}")
    prizes = {"type": "exponential", "baseAmount": 100, "growthRate": 2, "milestoneLevels": [5]}
    config = wire.read_config(json.dumps(items[0] | {"prizeConfig": prizes}).encode())
    assert config.prizes == wire.PrizeConfig("exponential", 100.0, 2.0, (5,))
    with pytest.raises(QuizProtocolError, match="no level"):
        wire.read_config(
            json.dumps(items[0] | {"prizeConfig": prizes | {"milestoneLevels": ["5"]}}).encode()
        )


@pytest.mark.parametrize(
    "name",
    [
        "Entertainment",
        "Ancient History and Politics",
        "Science and Nature",
        "Maths",
        "Philosophy and Psychology",
        "News",
    ],
)
def test_the_servers_six_names_are_known(name):
    assert wire.Competition(0, name, 15, False).category is not None


def test_a_leaderboard():
    entry = {"id": 1, "username": "ada", "score": 3.5, "reachedLevel": 4, "totalTrials": 2}
    board = wire.read_leaderboard(json.dumps({"entries": [entry]}).encode())
    assert board.entries[0] == wire.LeaderboardEntry(1, "ada", 3.5, 4, 2, None)


def test_modes():
    assert (wire.parse_mode("text"), wire.parse_mode("speech")) == ("text", "speech")
    with pytest.raises(BadInputError, match="Unknown mode"):
        wire.parse_mode("Text")


plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["in_progress", "text", "speech", "2026-05-01T10:00:30Z"])
)
names = st.sampled_from(
    sorted(
        {*STATE, *ANSWER, *STATE["question"], "user", "competitions", "entries", "prizeConfig"}
        | {"name", "maxLevels", "isInfinite", "amount", "username", "milestoneLevels", "role"}
    )
)
trees = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=8),
    max_leaves=20,
)


def one_sentence_or_a_value(raw):
    for read in READERS:
        try:
            read(raw)
        except HotseatError as error:
            said = str(error)
            assert said.isprintable()
            assert len(said) < 400


@given(st.binary(max_size=60) | trees.map(lambda tree: json.dumps(tree).encode()))
def test_arbitrary_json_gives_a_value_or_one_sentence(raw):
    one_sentence_or_a_value(raw)


@given(st.sampled_from([STATE, ANSWER]), st.dictionaries(names, trees, max_size=3))
def test_a_reply_with_fields_replaced(record, changes):
    one_sentence_or_a_value(body(record | changes))


@given(st.integers(0, 600), st.binary(min_size=1, max_size=3))
def test_a_reply_with_bytes_replaced(place, patch):
    raw = body(STATE)
    one_sentence_or_a_value(raw[:place] + patch + raw[place + len(patch) :])
