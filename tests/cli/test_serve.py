"""``hotseat serve``: what it says, what it refuses, and that it serves."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing

import httpx
import pytest

from harness.cli import main

HOTSEAT = "import sys; from harness.cli import main; sys.exit(main())"
LINE = {
    "category": "news",
    "question": "Which tree?",
    "options": ["alder", "birch", "cedar", "rowan"],
    "answer": "rowan",
}


@pytest.fixture
def hotseat(capsys):
    def run(*words):
        code = main(["serve", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def serving(isolated_home):
    """Return a function that starts the command and gives the process and what it said first."""
    running = []

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, "-c", HOTSEAT, "serve", "--port", "0", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        said = []
        while not said or not said[-1].startswith("Ctrl-C"):
            said.append(process.stdout.readline())
            assert said[-1], process.stderr.read()
        return process, "".join(said)

    yield start
    for process in running:
        process.kill()
        process.communicate()


def url(said):
    return re.search(r"Practice server: (http://127\.0\.0\.1:\d+)", said)[1]


def log_in(said, name="ada"):
    client = httpx.Client(base_url=url(said), trust_env=False)
    reply = client.post("/api/auth/login", json={"username": name, "password": "secret"})
    return client, reply.status_code


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_it_serves_the_sample_without_any_option(serving, isolated_home):
    process, said = serving()
    assert re.search(r"  3  Maths +15 questions\n", said)
    assert re.search(r"  5  News +13 questions, 13 levels\n", said)
    assert "Left out: 4 questions without a known answer." in said
    assert re.search(r"Speech: espeakng-loader [\d.]+", said)
    assert "Accounts: made at the first login" in said
    assert "Other machines" not in said
    client, status = log_in(said)
    assert status == 200
    with closing(client):
        assert len(client.get("/api/competitions").json()["competitions"]) == 6
        client.post("/api/game/start", json={"competitionId": 3, "mode": "text"})
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "Stopped. Games go on when the server is started again.\n"
    assert (isolated_home / "practice" / "games.sqlite").is_file()
    process, said = serving("--verbose")
    client, _ = log_in(said)
    with closing(client):
        assert client.get("/api/game/1/state").json()["competition"]["name"] == "Maths"
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 143
    assert re.search(r"GET /api/game/1/state 200 \d+ ms", err)


def test_question_files_of_ones_own(serving, tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(json.dumps(LINE) + "\nnonsense\n")
    second.write_text(json.dumps(LINE | {"category": "maths"}) + "\n" + json.dumps(LINE) + "\n")
    _, said = serving("-q", str(first), "-q", str(second), "--db", str(tmp_path / "x.sqlite"))
    assert "  3  Maths                          1 question, 1 level\n" in said
    assert "  5  News " in said
    assert "Entertainment" not in said
    assert "Left out: 1 question asked twice." in said
    assert (tmp_path / "x.sqlite").is_file()


def test_a_closed_server_and_its_accounts(serving, hotseat, tmp_path, monkeypatch):
    database = str(tmp_path / "club.sqlite")
    monkeypatch.setattr(sys, "stdin", io.StringIO("secret\n"))
    assert hotseat("--db", database, "--add-user", "ada") == (0, "Made the account 'ada'.\n", "")
    _, said = serving("--db", database, "--closed")
    assert "Accounts: only those made with --add-user." in said
    for name, expected in (("ada", 200), ("eve", 401)):
        client, status = log_in(said, name)
        client.close()
        assert status == expected, name
    monkeypatch.setattr(sys, "stdin", io.StringIO("other\n"))  # while the server runs
    code, out, _ = hotseat("--db", database, "--add-user", "Ada")
    assert (code, out) == (0, "'Ada' has another password now; logged out.\n")
    client, status = log_in(said, "ada")
    client.close()
    assert status == 401


@pytest.mark.parametrize(
    ("name", "password", "said"), [("", "x\n", "username"), ("ada", "\n", "password")]
)
def test_an_account_that_nobody_can_have(hotseat, monkeypatch, name, password, said):
    monkeypatch.setattr(sys, "stdin", io.StringIO(password))
    code, _, err = hotseat("--add-user", name)
    assert code == 2
    assert said in err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_other_machines_are_let_in_only_when_asked_for(hotseat, host):
    code, out, err = hotseat("--host", host)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert f"Other machines could reach a server on {host}. Add --public" in err


def test_a_public_server_says_what_that_means(hotseat, monkeypatch):
    from harness.games.practice import PracticeServer, server

    listen, wanted = server._listen, []

    def on_loopback(host, port):
        wanted.append(host)
        return listen("127.0.0.1", 0)

    monkeypatch.setattr(server, "_listen", on_loopback)
    monkeypatch.setattr(PracticeServer, "run", lambda self: None)
    code, out, _ = hotseat("--host", "0.0.0.0", "--public")
    assert (code, wanted) == (0, ["0.0.0.0"])
    assert "Other machines can reach this server, and nothing it sends is encrypted." in out


def test_a_port_in_use_is_told_in_one_sentence(hotseat):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, out, err = hotseat("--port", str(taken.getsockname()[1]))
    assert (code, out) == (2, "")
    assert re.fullmatch(r"hotseat: Can't listen on .*: Address already in use\. Choose .*\n", err)


def test_files_that_can_not_be_used(hotseat, tmp_path):
    (tmp_path / "notes").write_text("no database, no questions, only notes\n" * 40)
    for words in (
        ("--questions", str(tmp_path / "absent")),
        ("--questions", str(tmp_path / "notes")),
        ("--port", "0", "--db", str(tmp_path / "notes")),
        ("--port", "0", "--db", str(tmp_path)),
    ):
        code, out, err = hotseat(*words)
        assert (code, out) == (2, ""), words
        assert err.startswith("hotseat: ")


def test_the_help_shows_examples(hotseat):
    code, out, _ = hotseat("--help")
    assert code == 0
    assert "hotseat serve --questions mine.jsonl" in out
    assert "--public" in out
