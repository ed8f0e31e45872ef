from __future__ import annotations

import json
from pathlib import Path

from harness.scoring.compare import compare_runs, flips
from harness.scoring.flip_stories import Story, read_stories, with_stories
from harness.scoring.run_table import load_run


def test_the_stories_of_some_questions(runs, tmp_path: Path):
    path = runs.write_run(tmp_path / "run", runs.rows("RRR"))
    assert read_stories(path, ["q001", "never"]) == {
        "q001": Story("What of q001?", ("http://pages.example/q001",))
    }
    assert read_stories(path, []) == {}
    assert read_stories(None, ["q001"]) == {}
    assert read_stories(tmp_path, ["q001"]) == {}


def test_damaged_lines_are_passed_over(runs, tmp_path: Path):
    path = runs.write_run(tmp_path / "run", runs.rows("RR"))
    file = path / "traces.jsonl"
    bad = [
        b'{"question":"x","row":{"question_id":"q000"\n',
        b'{"question":7,"row":{"question_id":"q000"},"trace":{"facts":{}}}\n',
        b'{"question":"x","row":{"question_id":\xff\n',
        b"\n",
        json.dumps({"question": 'about "row":{"question_id":"q000"'}).encode() + b"\n",
        b"[" * 5000 + b"\n",
    ]
    file.write_bytes(b"".join(bad) + file.read_bytes())
    assert set(read_stories(path, ["q000", "q001"])) == {"q000", "q001"}
    assert read_stories(path, ["q000"])["q000"].question == "What of q000?"


def test_flips_with_their_stories(runs, tmp_path: Path):
    paths = [runs.write_run(tmp_path / name, runs.rows(name)) for name in ("RRW", "RWR")]
    found = flips(compare_runs(*map(load_run, paths)))
    told = with_stories(found, paths[0], None)
    assert [flip["question"] for flip in told] == ["What of q001?", "What of q002?"]
    assert told[0]["a"]["sources"] == ["http://pages.example/q001"]
    assert told[0]["b"]["sources"] == []
    assert with_stories(found, None, None)[0]["question"] is None
