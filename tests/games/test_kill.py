"""A player that is killed at any step and started again: nothing lost, nothing answered twice."""

import importlib.util
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from harness.corpus import Corpus
from harness.games.journal import read_games
from harness.games.practice import PracticeServer, ServerOptions
from harness.games.records import End
from harness.question_file import load_questions

HERE = Path(__file__).parent


def make_questions(count):
    spec = importlib.util.spec_from_file_location("hotseat_kill_table", HERE / "table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_questions(count, ("history",))


def run(url, corpus, step, tmp_path, games=1):
    done = subprocess.run(
        [sys.executable, str(HERE / "player_child.py"), url, str(corpus), str(step), str(games)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"HOTSEAT_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
        timeout=60,
    )
    assert done.returncode in (0, -9), done.stderr
    return done.returncode == -9


@pytest.fixture
def server(tmp_path):
    lines = []
    with PracticeServer(
        make_questions(2),
        database=tmp_path / "games.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=3),
        synthesiser=None,
        tell=lines.append,
    ) as running:
        running.lines = lines
        yield running


def test_killed_at_every_step(server, tmp_path):
    step = 0
    while True:
        step += 1
        corpus = tmp_path / f"corpus-{step}"
        began = len(server.lines)
        killed = run(server.url, corpus, step, tmp_path)
        if not killed:
            break
        seen = load_seen(corpus)
        run(server.url, corpus, 0, tmp_path)
        check(server, tmp_path, corpus, server.lines[began:], seen)
    assert step > 30  # as many as there are, or the hooks are gone


def load_seen(corpus):
    """Return the questions that the killed player had written down."""
    try:
        return {one.text for one in load_questions(corpus / "questions.jsonl").questions}
    except Exception:
        return set()


def check(server, tmp_path, corpus, lines, seen):
    records = read_games(corpus / "games")
    # The one that was killed was found again and won, and another one was played.
    assert [record.end for record in records] == [End.WON] * len(records)
    assert 1 <= len(records) <= 2
    questions = load_questions(corpus / "questions.jsonl")
    assert questions.problems == ()
    with Corpus.open(corpus) as opened:
        assert opened.problems == []
        assert opened.verify() == []
    assert seen <= {one.text for one in questions.questions}
    for record in records:
        assert [one.level for one in record.questions] == [1, 2]
    learned = {one.text: one.gold for one in questions.questions}
    for record in records:
        for question in record.questions:
            gold = learned[question.text]
            # A verdict that came before the kill and was not written is learned from the state.
            assert gold.answer is not None
            assert gold.answer.startswith("rowan")
            assert gold.refused == ()
    answers = [line for line in lines if "/answer" in line and " 200" in line]
    with sqlite3.connect(tmp_path / "games.sqlite") as database:
        ids = [record.session_id for record in records]
        marks = ",".join("?" * len(ids))
        (served,) = database.execute(
            f"SELECT count(answered) FROM serving WHERE game_id IN ({marks})", ids
        ).fetchone()
    database.close()
    assert len(answers) == served == 2 * len(records)
