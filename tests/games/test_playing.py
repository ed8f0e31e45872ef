"""Whole games through ``play_games`` against a practice server over a real socket."""

import asyncio
import errno
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from harness.errors import BadInputError, DiskFullError, MissingError, SettingError
from harness.games import journal as journal_module
from harness.games.client import QuizClient
from harness.games.errors import QuizLoginError, QuizUnreachableError
from harness.games.journal import read_games
from harness.games.login import Credentials
from harness.games.playing import PlayRequest, play_games
from harness.games.practice import PracticeServer, ServerOptions
from harness.games.records import End, GameListener
from harness.question_file import load_questions
from harness.quiz import Basis

NO_PAUSE = {"play.pause_s": 0}


def helpers():
    name = "hotseat_test_table"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("table.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


table = helpers()


class Heard(GameListener):
    """Keeps the history of what it is told."""

    def __init__(self):
        self.events = []

    def planned(self, plan):
        self.events.append(("planned", plan.number, plan.total))

    def started(self, record, *, resumed):
        self.events.append(("started", record.session_id, resumed))

    def asked(self, record, question, left_s):
        self.events.append(("asked", question.level, left_s))

    def stage(self, name, seconds):
        self.events.append(("stage", name))

    def noted(self, facts):
        self.events.append(("noted", *facts))

    def answering(self, record, question):
        self.events.append(("answering", question.chosen))

    def judged(self, record, question):
        self.events.append(("judged", question.correct))

    def ended(self, record):
        self.events.append(("ended", record.end))

    def problem(self, sentence):
        self.events.append(("problem", sentence))


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOTSEAT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server(tmp_path):
    options = ServerOptions(scrypt_cost=2, seed=1)
    with PracticeServer(
        table.make_questions(),
        database=tmp_path / "games.sqlite",
        options=options,
        synthesiser=None,
    ) as running:
        yield running


@pytest.fixture
def play(server):
    def start(player=None, *, plan=(("history", "text"),), listener=None, who="ada", **request):
        player = player or table.Player()
        request.setdefault("search", False)
        settings = {**NO_PAUSE, **request.pop("assignments", {})}
        wanted = PlayRequest(server.url, plan, assignments=settings, **request)
        quiz = QuizClient(server.url, Credentials(who, "password"), min_interval_s=0)
        return play_games(
            wanted, quiz=quiz, load_contestant=lambda settings: player, listener=listener
        )

    return start


def test_a_game_is_won_and_told_in_order(play):
    heard = Heard()
    outcome = play(listener=heard)
    (record,) = outcome.records
    assert (record.end, record.level_reached, record.max_level) == (End.WON, 5, 5)
    assert (record.right, record.judged, record.prize) == (5, 5, 1000.0)
    assert (record.player, record.mode, record.category) == ("ada", "text", "history")
    assert [one.level for one in record.questions] == [1, 2, 3, 4, 5]
    assert all(one.basis is Basis.MODEL and one.left_s > 20 for one in record.questions)
    assert all("generate" in one.seconds and "wait" in one.seconds for one in record.questions)
    assert not outcome.interrupted
    assert outcome.problems == ()
    kinds = [event[0] for event in heard.events if event[0] not in ("stage", "noted")]
    assert kinds == ["planned", "started", *["asked", "answering", "judged"] * 5, "ended"]
    assert ("stage", "generate") in heard.events
    assert ("noted", "output") in heard.events
    ((competition, mode, board),) = outcome.leaderboards
    assert (competition.name, mode) == ("Ancient History and Politics", "text")
    assert [(one.username, one.reached_level) for one in board.entries] == [("ada", 5)]


def test_a_wrong_answer_ends_the_game(play):
    (record,) = play(table.Player({3: "wrong"})).records
    assert (record.end, record.level_reached, record.prize) == (End.WRONG, 2, 200.0)
    assert [one.correct for one in record.questions] == [True, True, False]


def test_the_contestant_sees_one_order_of_options_whatever_the_server_shuffled(play):
    player = table.Player()
    records = play(player, games=3).records
    shown = {}
    for question in player.asked:
        assert [one.id for one in question.options] == [0, 1, 2, 3]
        assert shown.setdefault(question.text, question.options) == question.options
    served = {}
    for record in records:
        for question in record.questions:
            served.setdefault(question.text, set()).add(question.options)
    assert any(len(orders) > 1 for orders in served.values())  # it did shuffle
    assert all(record.end is End.WON for record in records)


def test_a_slow_answer_is_replaced_in_time_and_the_model_is_waited_for(play):
    player = table.Player({1: 0.6})
    (record,) = play(player, assignments={"time.budget_s": 0.25}).records
    first = record.questions[0]
    assert first.basis is Basis.DEADLINE
    assert first.taken_s < 0.5
    assert "no answer after 0.2 s" in first.notes[0] or "0.3 s" in first.notes[0]
    assert first.chosen == min(first.options)  # all are as long, so the first in order
    # Whether the fallback was right is luck; if so, the second waited for the first.
    assert record.end in (End.WRONG, End.WON)
    assert player.closed


@pytest.mark.parametrize("fault", [ValueError("boom"), MemoryError(), BadInputError("no good")])
def test_a_contestant_that_fails_answers_by_the_fallback(play, fault):
    (record,) = play(table.Player({1: fault})).records
    first = record.questions[0]
    assert first.basis is Basis.FAILED
    assert "failed" in first.notes[0]
    assert "answer_failed" in first.degradations
    assert first.correct is not None


def test_a_listener_that_raises_costs_no_game(play):
    class Bad(GameListener):
        def asked(self, record, question, left_s):
            raise RuntimeError("no terminal")

    outcome = play(listener=Bad())
    assert outcome.records[0].end is End.WON
    assert "Bad failed and was switched off (RuntimeError: no terminal)." in outcome.problems


def test_games_can_be_read_from_the_journal(play, tmp_path):
    played = play(table.Player({4: "wrong"}), games=2, plan=(("maths", "text"), ("news", "text")))
    assert read_games(tmp_path / "home" / "games") == played.records
    with pytest.raises(BadInputError, match="There are no games"):
        read_games(tmp_path / "nowhere")


def test_what_was_learned_goes_into_the_corpus(play, tmp_path):
    corpus = tmp_path / "corpus"
    play(table.Player({2: "wrong"}), record=corpus, games=1)
    questions = load_questions(corpus / "questions.jsonl").questions
    assert [one.gold.answer is not None for one in questions] == [True, False]
    assert questions[1].gold.refused
    assert read_games(corpus / "games")[0].questions[0].question_id == questions[0].id
    again = play(record=corpus, games=4)
    known = load_questions(corpus / "questions.jsonl")
    assert {one.gold.answer for one in known.questions} == {f"rowan {n}" for n in range(5)}
    assert known.problems == ()
    assert again.problems == ()


def test_a_question_of_a_recorded_file_is_asked_as_the_file_has_it(play, tmp_path, server):
    """Else a replay, which asks from the file, would show the model something else."""
    own = tmp_path / "own.jsonl"
    lines = [
        {
            "id": f"mine-{n}",
            "category": "history",
            "question": f"What grows at place {n} of history?",
            "options": [f"{name} {n}" for name in ("rowan", "cedar", "alder", "birch")],
        }
        for n in range(5)
    ]
    own.write_text("".join(json.dumps(line) + "\n" for line in lines))
    from harness.corpus import Corpus

    Corpus.create(tmp_path / "corpus", name="c", questions=own).close()
    player = table.Player()
    (record,) = play(player, record=tmp_path / "corpus").records
    assert {one.id for one in player.asked} == {line["id"] for line in lines}
    assert all(one.options[0].text.startswith("rowan") for one in player.asked)
    assert {one.question_id for one in record.questions} == {line["id"] for line in lines}
    merged = load_questions(tmp_path / "corpus" / "questions.jsonl")
    assert [one.id for one in merged.questions] == [line["id"] for line in lines]
    with Corpus.open(tmp_path / "corpus") as corpus:
        assert corpus.problems == []


def test_contradicting_verdicts_are_reported_and_the_first_is_kept(play, tmp_path, server):
    corpus = tmp_path / "corpus"
    play(record=corpus)
    file = corpus / "questions.jsonl"
    # The pool is rebuilt with another truth: as if the first game had been told otherwise.
    text = file.read_text().replace('"answer": "rowan 0"', '"answer": "alder 0"')
    assert text != file.read_text()
    file.write_text(text)
    outcome = play(record=corpus)
    assert any("was judged right" in problem for problem in outcome.problems)
    assert outcome.records[0].end is End.WON


def test_an_unknown_competition_is_refused_with_those_there_are(play):
    with pytest.raises(BadInputError, match=r"no competition 'sports'.*It has entertainment, "):
        play(plan=(("sports", "text"),))


@pytest.mark.parametrize("name", ["history", "Ancient History and Politics", "1", "HISTORY "])
def test_competitions_are_found_by_category_name_and_id(play, name):
    assert play(plan=((name, "text"),)).records[0].competition_id == 1


def test_a_wrong_password_is_told_before_a_model_is_loaded(play, server):
    play(who="bea")
    loaded = []
    with pytest.raises(QuizLoginError, match="user name and password"):
        play_games(
            PlayRequest(server.url, (("history", "text"),)),
            credentials=Credentials("bea", "another"),
            load_contestant=lambda settings: loaded.append(1),
        )
    assert loaded == []


def test_no_server_is_one_sentence():
    with pytest.raises(QuizUnreachableError, match="quiz server"):
        play_games(
            PlayRequest("http://127.0.0.1:9", (("history", "text"),)),
            credentials=Credentials("ada", "password"),
            load_contestant=lambda settings: table.Player(),
        )


def test_a_setting_that_does_not_exist_is_refused_before_anything_is_made(play, tmp_path):
    with pytest.raises(SettingError, match=r"play\.pause_s"):
        play(assignments={"play.pauses": 1}, record=tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_speech_without_a_transcriber_is_refused_before_a_game_starts(play):
    with pytest.raises(MissingError, match=r"need a transcriber.*text mode"):
        play(plan=(("history", "speech"),))


def test_it_works_inside_a_running_event_loop(play):
    async def notebook():
        return play()

    assert asyncio.run(notebook()).records[0].end is End.WON


def test_a_second_player_process_on_one_journal_is_refused(play, tmp_path):
    with (
        journal_module.Journal(tmp_path / "home" / "games"),
        pytest.raises(BadInputError, match="Another process is playing"),
    ):
        play()


def test_a_full_disk_lets_the_answer_leave_and_then_stops(play, tmp_path, monkeypatch):
    corpus = tmp_path / "corpus"
    real, written = journal_module.append_lines, []

    def append(path, data):
        written.append(data)
        if len(written) >= 5:  # started, asked, answering, judged, and now the second question
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, data)

    with monkeypatch.context() as full:
        full.setattr(journal_module, "append_lines", append)
        outcome = play(record=corpus, games=3)
    (record,) = outcome.records
    assert record.end is End.STOPPED
    assert [one.correct for one in record.questions] == [True, True]
    assert "disk is full" in record.problem
    assert record.problem in outcome.problems
    again = play(record=corpus)
    (settled,) = again.settled
    assert (settled.resumed, settled.end, settled.level_reached) == (True, End.WON, 5)
    assert len(load_questions(corpus / "questions.jsonl").questions) == 5


def test_a_full_disk_while_a_left_game_is_settled_starts_no_other(play, tmp_path, monkeypatch):
    class Killed(table.Player):
        def answer(self, question, evidence, trace):
            if len(self.asked) == 1:
                raise KeyboardInterrupt
            return super().answer(question, evidence, trace)

    assert play(Killed(), record=tmp_path / "corpus").interrupted

    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(journal_module, "append_lines", full)
        outcome = play(record=tmp_path / "corpus")
    assert [record.end for record in outcome.settled] == [End.STOPPED]
    assert outcome.records == ()


def test_a_game_that_can_not_be_written_down_is_not_begun(play, tmp_path, monkeypatch):
    player = table.Player()

    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_module, "append_lines", full)
    (record,) = play(player).records
    assert (record.end, record.questions, player.asked) == (End.STOPPED, (), [])
    assert "disk is full" in record.problem


def test_a_full_disk_during_research_stops_after_the_answer(play, tmp_path):
    class Full(table.Player):
        def play(self, question, transport, trace):
            if transport is not None:
                raise DiskFullError(tmp_path)
            return super().play(question, transport, trace)

    outcome = play(Full(), record=tmp_path / "corpus", search=True)
    (record,) = outcome.records
    assert record.end is End.STOPPED
    assert [one.correct for one in record.questions] == [True]
    assert "search_failed" in record.questions[0].degradations


def test_a_search_server_that_is_not_there_is_told_once_and_the_model_answers_alone(play, tmp_path):
    class Lost(table.Player):
        def play(self, question, transport, trace):
            if transport is not None:
                raise MissingError("The search server at http://x refused the connection.")
            return super().play(question, transport, trace)

    heard = Heard()
    outcome = play(Lost(), record=tmp_path / "corpus", search=True, listener=heard)
    assert outcome.records[0].end is End.WON
    told = [event for event in heard.events if event[0] == "problem"]
    assert told == [("problem", "The search server at http://x refused the connection.")]
    assert all("search_failed" in one.degradations for one in outcome.records[0].questions)
