"""Nothing acknowledged is lost, whenever the server goes away."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from harness.errors import BadInputError
from harness.games.practice import Database, add_account


def test_accounts_games_and_leaderboards_survive(serve, join, right, wrong):
    server = serve()
    client = join(server)
    running = client.start(0)
    running.answer(right(running.current_question))
    over = client.start(1)
    over.answer(wrong(over.current_question))
    board = client.leaderboard(1)
    cookie = client.http.cookies["polimillionaire_auth"]
    server.close()

    again = serve()
    client = join(again)
    assert client.leaderboard(1) == board
    resumed = client.resume(running.state.session_id)
    assert resumed.state == running.state
    assert resumed.answer(right(resumed.current_question))["currentLevel"] == 3
    client.http.cookies.set("polimillionaire_auth", cookie)
    assert client.me()["username"] == "ada"  # the old login still holds


def test_a_running_game_does_not_need_its_question_file_any_more(serve, join, right, questions):
    server = serve()
    game = join(server).start(5)
    asked = game.current_question
    server.close()
    others = [one for one in questions(2) if one.category == "maths"]
    again = join(serve(others)).resume(game.state.session_id)
    assert again.current_question == asked
    while not again.over:
        again.answer(right(again.current_question))
    assert again.state.earned == 1_024_000


@pytest.mark.parametrize("mode", ["text", "speech"])
def test_another_server_goes_on_at_any_step(serve, join, right, voice, mode):
    """Each step is made at the server that did not make the one before: all is in the file."""
    first = join(serve()).start(2, mode)
    second = join(serve()).resume(first.state.session_id)
    pair = [first, second]
    for level in range(1, 16):
        for place in range(4 if mode == "speech" else 0):
            pair.reverse()
            assert pair[0].refresh().deadline is None
            pair[0].next_option_audio()
            assert voice.spoken[-1].startswith(f"Option {'ABCD'[place]}.")
        pair.reverse()
        assert pair[0].refresh() == pair[1].refresh()
        assert pair[0].state.level == level
        assert pair[0].state.deadline is not None
        if mode == "speech":
            option = next(place for place in range(4) if "rowan" in voice.spoken[-4:][place])
        else:
            option = right(pair[0].current_question)
        pair[0].answer(option)
    assert second.refresh().status == "completed"


SERVER = """
import json, sys
from pathlib import Path
from harness.games.practice import PracticeServer, ServerOptions
from harness.question_file import load_questions
server = PracticeServer(load_questions(Path(sys.argv[1])).questions, port=int(sys.argv[3]),
    database=Path(sys.argv[2]), options=ServerOptions(seed=1, scrypt_cost=2), synthesiser=None)
print("ready", flush=True)
server.run()
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a matter of Unix")
def test_killed_at_any_moment_no_answer_is_lost_or_counted_twice(
    tmp_path, official, right, questions
):
    from harness.question_file import dump_question

    asked = tmp_path / "q.jsonl"
    asked.write_text("\n".join(map(dump_question, questions(15))) + "\n", encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def start():
        command = [sys.executable, "-c", SERVER, str(asked), str(tmp_path / "db"), str(port)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    process = start()
    try:
        with official.Client(f"http://127.0.0.1:{port}") as client:
            client.login("ada", "secret")
            game = client.start(0)
            for delay_s in (0.0, 0.0007, 0.0015, 0.003, 0.02):
                level, option = game.state.level, right(game.current_question)
                killer = threading.Timer(delay_s, process.send_signal, [signal.SIGKILL])
                killer.start()
                acknowledged = True
                try:
                    game.answer(option)
                except official.requests.RequestException:
                    acknowledged = False
                killer.join()
                process.wait()
                process.stdout.close()
                process = start()
                state = game.refresh()
                assert state.status == "in_progress"
                assert state.level in ((level + 1,) if acknowledged else (level, level + 1))
            while not game.over:
                game.answer(right(game.current_question))
            assert game.state.earned == 1_024_000
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_failed_request_leaves_nothing_behind(tmp_path):
    database = Database(tmp_path / "db")

    def half(connection):
        connection.execute(
            "INSERT INTO account (username, name_key, role, password, created_wall_s) "
            "VALUES ('a', 'a', 'player', 'x', 0)"
        )
        raise KeyError("broken")

    with pytest.raises(KeyError):
        database.transact(half)
    (count,) = database.transact(
        lambda connection: connection.execute("SELECT count(*) FROM account").fetchone()
    )
    assert count == 0
    database.close()


def test_a_file_open_twice_in_one_process_goes_on_for_all(tmp_path):
    """An account added while a server runs in the same program must not cost it its locks."""
    count = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); "
        "print(db.execute('SELECT count(*) FROM account').fetchone()[0]); db.close()"
    )

    def seen():
        command = [sys.executable, "-c", count, str(tmp_path / "db")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    first = Database(tmp_path / "db")
    first.transact(add_account, "ada", "x", 0.0)
    Database(tmp_path / "db").close()
    assert seen() == "1"
    first.transact(add_account, "bob", "x", 0.0)
    assert seen() == "2"
    first.close()


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of Unix")
def test_the_file_is_the_owners_alone(tmp_path):
    Database(tmp_path / "new" / "db").close()
    assert (tmp_path / "new" / "db").stat().st_mode & 0o077 == 0


def test_a_file_that_is_something_else_is_refused_and_left_alone(tmp_path):
    import sqlite3

    text = tmp_path / "notes.txt"
    text.write_text("not a database, but somebody's notes, and rather long ones" * 20)
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.commit()
    connection.close()
    later = tmp_path / "later.sqlite"
    Database(later).close()
    connection = sqlite3.connect(later)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for path, said in (
        (text, "can't be used"),
        (other, "another program's"),
        (later, "another version"),
        (tmp_path, "Can't open"),
    ):
        content = path.read_bytes() if path.is_file() else None
        with pytest.raises(BadInputError, match=said):
            Database(path)
        assert (path.read_bytes() if path.is_file() else None) == content


def test_no_password_and_no_token_is_on_the_disk(serve, join, tmp_path):
    server = serve()
    client = join(server, password="correct horse battery")
    token = client.http.cookies["polimillionaire_auth"]
    server.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"scrypt$" in kept
    assert b"correct horse battery" not in kept
    assert token.encode() not in kept
    assert json.dumps(token).encode() not in kept
