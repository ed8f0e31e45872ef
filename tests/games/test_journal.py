"""The journal: torn and hostile lines are passed over, one writer at a time."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError
from harness.games.journal import Journal, read_games
from harness.games.records import End

STARTED = {
    "event": "started",
    "game": "g1",
    "server": "http://s",
    "player": "ada",
    "session_id": 7,
    "competition_id": 3,
    "competition": "Maths",
    "category": "maths",
    "mode": "text",
    "max_level": 15,
    "level": 1,
    "at": "2026-01-01T00:00:00+00:00",
}
ENDED = {
    "event": "ended",
    "game": "g1",
    "end": "wrong answer",
    "prize": 100,
    "problem": "",
    "at": "2026-01-01T00:01:00+00:00",
}


def test_what_was_written_is_read(tmp_path):
    with Journal(tmp_path) as journal:
        journal.write(STARTED)
        journal.write(ENDED)
    (record,) = read_games(tmp_path)
    assert (record.player, record.end, record.prize) == ("ada", End.WRONG, 100)
    with Journal(tmp_path) as journal:
        assert journal.damaged == 0


def test_a_torn_last_line_is_passed_over_and_the_next_one_is_whole(tmp_path):
    with Journal(tmp_path) as journal:
        journal.write(STARTED)
    path = tmp_path / "games.jsonl"
    path.write_bytes(path.read_bytes() + json.dumps(ENDED).encode()[:30])
    with Journal(tmp_path) as journal:
        assert journal.damaged == 1
        assert not journal.folds["g1"].ended
        journal.write(ENDED)
    (record,) = read_games(tmp_path)
    assert record.end is End.WRONG


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{" * 100_000,
        b'{"event": "started", "game": "x"}',
        b'{"event": "judged", "game": "never began"}',
        b'{"event": "ended", "game": "g1", "end": "nonsense", "at": "", "prize": 0, "problem": ""}',
        b'{"event": "asked", "game": "g1", "level": "x"}',
        b'{"event": ["a"], "game": {"a": 1}}',
    ],
)
def test_hostile_lines_spoil_nothing(tmp_path, line):
    good = json.dumps(STARTED).encode()
    (tmp_path / "games.jsonl").write_bytes(good + b"\n" + line + b"\n")
    with Journal(tmp_path) as journal:
        assert list(journal.folds) == ["g1"]
        assert journal.damaged <= 1
    assert len(read_games(tmp_path)) == 1


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_can_be_read(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("journal")
    (folder / "games.jsonl").write_bytes(b"\n".join([json.dumps(STARTED).encode(), *lines]))
    assert len(read_games(folder)) >= 1


def test_one_writer_at_a_time(tmp_path):
    with Journal(tmp_path), pytest.raises(BadInputError, match="Another process is playing"):
        Journal(tmp_path)
    with Journal(tmp_path):
        pass


def test_a_folder_that_can_not_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match="Can't write games"):
        Journal(tmp_path / "file" / "games")
