"""Spoken games: what is free is used, the last option comes last, clips are kept."""

import importlib.util
import io
import json
import sys
import time
import wave
from pathlib import Path

import pytest

from harness.games.client import QuizClient
from harness.games.clips import ClipStore
from harness.games.journal import read_games
from harness.games.login import Credentials
from harness.games.playing import PlayRequest, play_games
from harness.games.practice import PracticeServer, ServerOptions
from harness.games.records import End
from harness.question_file import load_questions
from harness.quiz import Basis


def helpers():
    name = "hotseat_test_table"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("table.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


table = helpers()


class Voice:
    """A synthesiser whose clips are the texts themselves, as samples."""

    identity = "fake 2"

    def speak(self, text):
        target = io.BytesIO()
        with wave.open(target, "wb") as writer:
            writer.setnchannels(1)
            writer.setsampwidth(2)
            writer.setframerate(24_000)
            writer.writeframes(text.encode("utf-16-le"))
        return target.getvalue()


class Ears:
    """A transcriber for that voice; it keeps a history."""

    def __init__(self, deaf_to=""):
        self.heard = []
        self.deaf_to = deaf_to

    def transcribe(self, clip, *, category, prompt):
        with wave.open(io.BytesIO(clip.data)) as reader:
            text = reader.readframes(reader.getnframes()).decode("utf-16-le").strip("\0")
        self.heard.append((text, str(category), prompt))
        if self.deaf_to and self.deaf_to in text:
            return ""
        label, _, rest = text.partition(". ")
        return rest if label.startswith("Option ") else text


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = []
    with PracticeServer(
        table.make_questions(3, ("history",)),
        database=tmp_path / "games.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=1),
        synthesiser=Voice(),
        tell=lambda line: lines.append((time.monotonic(), line)),
    ) as server:

        def play(player, ears, **settings):
            request = PlayRequest(
                server.url,
                (("history", "speech"),),
                record=tmp_path / "corpus",
                search=False,
                assignments={"play.pause_s": 0, **settings},
            )
            quiz = QuizClient(server.url, Credentials("ada", "password"), min_interval_s=0)
            (record,) = play_games(
                request, quiz=quiz, load_contestant=lambda settings: player, transcriber=ears
            ).records
            return record

        play.lines = lines
        play.server = server
        yield play


def test_a_spoken_game_is_won_and_recorded(scene, tmp_path):
    ears, player = Ears(), table.Player()
    record = scene(player, ears)
    assert (record.end, record.level_reached, record.mode) == (End.WON, 3, "speech")
    first = record.questions[0]
    assert first.text.startswith("What grows at place")
    assert ears.heard[0] == (first.text, "history", "")
    assert [heard[0][:9] for heard in ears.heard[1:5]] == [f"Option {c}." for c in "ABCD"]
    assert {heard[2] for heard in ears.heard[1:5]} == {first.text}
    assert {"hear", "search", "generate", "wait"} <= set(first.seconds)
    assert first.left_s > 25  # hearing and research cost none of the thirty seconds
    questions = load_questions(tmp_path / "corpus" / "questions.jsonl").questions
    assert {one.gold.answer[:5] for one in questions} == {"rowan"}
    assert all(one.tags == ("speech",) for one in questions)
    assert read_games(tmp_path / "corpus" / "games") == (record,)


def test_clips_are_kept_once_and_named_in_the_journal(scene, tmp_path):
    scene(table.Player(), Ears())
    scene(table.Player(), Ears())
    journal = (tmp_path / "corpus" / "games" / "games.jsonl").read_text().splitlines()
    asked = [event for event in map(json.loads, journal) if event["event"] == "asked"]
    store = ClipStore(tmp_path / "corpus" / "clips")
    for event in asked:
        assert len(event["clips"]) == 5
        texts = [
            Ears().transcribe(store.read(name), category=None, prompt="") for name in event["clips"]
        ]
        assert texts == [event["text"], *event["options"]]
    names = {path.stem for path in store.folder.iterdir()}
    assert names == {name for event in asked for name in event["clips"]}


class Slow(table.Player):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.researched = []

    def research(self, text, category, transport, trace):
        time.sleep(self.seconds)
        self.researched.append(time.monotonic())
        return super().research(text, category, transport, trace)


def fourth_asked(scene):
    """Return when the last option of the first question was asked for."""
    calls = [moment for moment, line in scene.lines if "audio/option/next" in line]
    return calls[3], calls[2]


def test_the_last_option_is_asked_for_when_the_research_is_done(scene):
    player = Slow(0.3)
    record = scene(player, Ears())
    last, third = fourth_asked(scene)
    assert third < player.researched[0] <= last
    assert record.end is End.WON


def test_patience_with_the_research_ends(scene):
    player = Slow(0.6)
    record = scene(player, Ears(), **{"play.patience_s": 0.05})
    last, _ = fourth_asked(scene)
    assert last < player.researched[0]
    assert record.end is End.WON  # the research was waited for in the counted time


def test_a_late_research_is_a_late_answer(scene):
    record = scene(Slow(0.6), Ears(), **{"play.patience_s": 0.05, "time.budget_s": 0.1})
    assert record.questions[0].basis is Basis.DEADLINE


def test_what_was_not_heard_is_answered_all_the_same(scene, tmp_path):
    """Empty texts: the question can't be kept in a question file, but the game goes on."""
    record = scene(table.Player(), Ears(deaf_to="Option B"))
    first = record.questions[0]
    assert "" in first.options
    assert first.correct is not None


class Broken(Ears):
    def __init__(self, kind, place):
        super().__init__()
        self.kind, self.place = kind, place

    def transcribe(self, clip, *, category, prompt):
        text = super().transcribe(clip, category=category, prompt=prompt)
        if (len(self.heard) - 1) % 5 == self.place:
            if self.kind == "slow":
                time.sleep(0.6)
            else:
                raise OSError("no whisper")
        return text


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_transcriber_that_fails_costs_a_text_and_no_answer(scene, place):
    record = scene(table.Player(), Broken("fails", place))
    first = record.questions[0]
    assert "hearing_failed" in first.degradations
    assert first.correct is not None
    assert record.end in (End.WON, End.WRONG)


def test_a_last_option_that_is_heard_too_slowly_is_not_waited_for(scene):
    record = scene(table.Player(), Broken("slow", 4), **{"time.budget_s": 0.2})
    first = record.questions[0]
    assert "hearing_failed" in first.degradations
    assert first.left_s > 25


def test_research_that_breaks_is_told(scene):
    class Lost(table.Player):
        def research(self, text, category, transport, trace):
            raise ZeroDivisionError("no pages")

    record = scene(Lost(), Ears())
    assert record.end is End.WON
    assert all("search_failed" in one.degradations for one in record.questions)


def test_listening_is_not_the_loops_own_time(scene):
    class Calm(Ears):
        def transcribe(self, clip, *, category, prompt):
            time.sleep(0.05)
            return super().transcribe(clip, category=category, prompt=prompt)

    record = scene(Slow(0.3), Calm())
    assert all(one.overhead_s < 0.15 for one in record.questions)
