"""``hotseat play``, ``tournament`` and ``games`` against a practice server."""

import importlib.util
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from harness.cli import main
from harness.games.practice import PracticeServer, ServerOptions

GAMES = Path(__file__).parent.parent / "games"


def helpers():
    name = "hotseat_test_table"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, GAMES / "table.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


table = helpers()


class Player(table.Player):
    problems = ()

    def keep_vectors(self, folder):
        pass


@pytest.fixture
def server(tmp_path):
    with PracticeServer(
        table.make_questions(4),
        database=tmp_path / "games.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=1),
        synthesiser=None,
    ) as running:
        yield running


@pytest.fixture
def player():
    return Player()


@pytest.fixture
def hotseat(server, player, monkeypatch, tmp_path, capsys):
    """Run the command line with a scripted contestant; returns status, stdout, stderr."""
    import harness.contestant.embedded as embedded

    monkeypatch.setattr(embedded, "load_contestant", lambda settings, progress=None: player)
    monkeypatch.setenv("HOTSEAT_QUIZ_USER", "ada")
    monkeypatch.setenv("HOTSEAT_QUIZ_PASSWORD", "password")
    monkeypatch.setenv("HOTSEAT_PLAY_PAUSE_S", "0")
    monkeypatch.chdir(tmp_path)

    def run(command, *arguments):
        capsys.readouterr()
        if command in ("play", "tournament") and "--server" not in arguments:
            arguments = (*arguments, "--server", server.url)
        status = main([command, *arguments])
        return status, *capsys.readouterr()

    return run


def test_play_prints_lines_on_the_way_and_tables_at_the_end(hotseat, player):
    player.moods[6] = "wrong"
    status, out, err = hotseat("play", "-c", "science", "--games", "2", "--no-search")
    assert status == 0
    assert "Game 1 of 2: Science and Nature, text" in err
    assert err.count("  right  rowan ") == 5
    assert err.count("  wrong  ") == 1
    assert "won: level 4 of 4, prize 500" in err
    lines = [line for line in out.splitlines() if line.startswith("Science and Nature")]
    assert "4/4" in lines[0]
    assert "won" in lines[0]
    assert "1/4" in lines[1]
    assert "wrong answer" in lines[1]
    assert "all questions judged               5/6     83.3 %" in out
    assert "<- you" in out
    assert "Seconds per question, live" in out


def test_the_json_document_holds_everything(hotseat, player, tmp_path):
    player.moods[3] = "wrong"
    status, out, _ = hotseat(
        "play", "-c", "maths", "-n", "2", "--record", "my games", "--no-search", "--json"
    )
    assert status == 0
    document = json.loads(out)
    assert document["player"] == "ada"
    assert [game["end"] for game in document["games"]] == ["wrong answer", "won"]
    assert document["accuracy"]["judged"] == 7
    assert document["accuracy"]["right"] == 6
    assert document["accuracy"]["lower"] < 6 / 7 < document["accuracy"]["upper"]
    assert (document["best_prize"], document["mean_prize"]) == (500, 350)
    assert document["by_basis"]["model alone"]["judged"] == 7
    assert document["by_category"]["maths"] == document["accuracy"]
    assert document["by_end"] == {"wrong answer": 1, "won": 1}
    assert document["stages"]["generate"]["n"] == 7
    assert document["leaderboards"][0]["entries"][0]["username"] == "ada"
    assert document["games"][0]["questions"][2]["correct"] is False
    assert document["replay"] == "hotseat replay 'my games' --no-search"
    assert (tmp_path / "my games" / "questions.jsonl").is_file()


def test_a_tournament_fills_its_table_and_the_leaderboards(hotseat):
    status, out, _ = hotseat("tournament", "--no-search", "--json")
    assert status == 0
    document = json.loads(out)
    assert [row["category"] for row in document["by_competition"]] == [
        "entertainment",
        "history",
        "science",
        "maths",
        "philosophy",
        "news",
    ]
    assert all(row["best_level"] == 4 for row in document["by_competition"])
    boards = document["leaderboards"]
    assert len(boards) == 6
    assert all(board["entries"][0]["username"] == "ada" for board in boards)
    status, out, _ = hotseat("tournament", "-c", "news", "-c", "maths", "--no-search")
    assert out.count("Leaderboard: ") == 2
    assert "Levels reached" in out


def test_games_shows_what_was_played(hotseat, tmp_path):
    hotseat("play", "-c", "news", "--record", "rec", "--no-search")
    status, out, _ = hotseat("games", "rec")
    assert status == 0
    assert "won" in out
    assert json.loads(hotseat("games", "rec", "--json")[1])["accuracy"]["right"] == 4
    status, _, err = hotseat("games", "nowhere")
    assert status == 2
    assert "There are no games in nowhere." in err


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("-c", "sports"), 2, "The quiz server has no competition 'sports'. It has entertainment,"),
        (("-c", "news", "--mode", "speech"), 3, "Speech games need a transcriber"),
        (("-c", "news", "--server", "http://127.0.0.1:9"), 3, "quiz server"),
        (("-c", "news", "--server", "nonsense"), 2, "address can't be used"),
        (("-c", "news", "--set", "play.pauses=1"), 2, "Did you mean 'play.pause_s'?"),
    ],
)
def test_bad_input_is_one_sentence(hotseat, arguments, status, says):
    found, out, err = hotseat("play", *arguments)
    assert found == status, err
    assert says in err
    assert "Traceback" not in err
    assert out == ""


def test_a_wrong_password_is_one_sentence(hotseat, monkeypatch):
    hotseat("play", "-c", "news", "--no-search")
    monkeypatch.setenv("HOTSEAT_QUIZ_PASSWORD", "another")
    status, _, err = hotseat("play", "-c", "news", "--no-search")
    assert status == 2
    assert "does not accept the user name and password" in err
    assert "another" not in err


def test_no_login_and_nobody_to_ask(hotseat, monkeypatch):
    monkeypatch.delenv("HOTSEAT_QUIZ_PASSWORD")
    status, _, err = hotseat("play", "-c", "news")
    assert status == 3
    assert "HOTSEAT_QUIZ_PASSWORD is not set" in err


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_game_is_gone_on_with(hotseat, player, number, status):
    player.moods[3] = 1.0

    def interrupt():
        while len(player.asked) < 3:
            threading.Event().wait(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt, daemon=True).start()
    found, out, err = hotseat("play", "-c", "history", "--record", "rec", "--no-search")
    assert found == status
    assert "stopped" in out
    assert "is gone on with by the next 'hotseat play'" in err
    player.moods.clear()
    found, out, err = hotseat("play", "-c", "history", "--record", "rec", "--no-search", "--json")
    assert found == 0
    document = json.loads(out)
    assert [game["end"] for game in document["settled"]] == ["won"]
    assert document["settled"][0]["resumed"]
    assert [game["end"] for game in document["games"]] == ["won"]
    assert "Going on with game" in err


def test_hostile_texts_reach_no_terminal(hotseat, server, tmp_path, capsys):
    evil = "\x1b[2J\x1b]0;owned\x07[red]x[/red]"
    questions = [
        type(one)(
            one.id, one.category, f"{evil} {one.text}", one.options, one.gold, one.level, one.tags
        )
        for one in table.make_questions(2, ("news",))
    ]
    with PracticeServer(
        questions,
        database=tmp_path / "evil.sqlite",
        options=ServerOptions(scrypt_cost=2),
        synthesiser=None,
    ) as other:
        status, out, err = hotseat("play", "-c", "news", "--no-search", "--server", other.url)
    assert status == 0
    assert "\x1b" not in out + err
    assert "\x07" not in out + err
