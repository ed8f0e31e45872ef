import json

import pytest

from harness.cli import main

TRIVIA = {
    "response_code": 0,
    "results": [
        {
            "type": "multiple",
            "difficulty": "easy",
            "category": topic,
            "question": f"Question on {topic}?",
            "correct_answer": "the longest option",
            "incorrect_answers": ["short", "brief", "tiny"],
        }
        for topic in ("History", "Politics", "Science &amp; Nature", "Geography", "Sports")
    ],
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trivia.json").write_text(json.dumps(TRIVIA))
    return tmp_path


def document(capsys):
    return json.loads(capsys.readouterr().out)


def test_an_import_says_what_it_took_and_what_not(here, capsys):
    assert main(["datasets", "import", "trivia.json", "--to", "q.jsonl"]) == 0
    said = capsys.readouterr().out
    assert "took 3 of 5 questions into q.jsonl" in said
    assert "history 2" in said
    assert "Not taken, no category known for it: 2" in said
    assert "trivia.json:4: topic 'Geography'" in said
    assert "Topics without a category: Geography 1, Sports 1" in said
    assert len((here / "q.jsonl").read_text().splitlines()) == 3


def test_an_import_with_a_category_takes_the_rest(here, capsys):
    command = ["datasets", "import", "trivia.json", "--to", "q.jsonl", "-c", "news", "--json"]
    assert main(command) == 0
    told = document(capsys)
    assert (told["format"], told["read"], told["taken"]) == ("opentdb", 5, 5)
    assert told["categories"] == {"history": 2, "science": 1, "news": 2}
    assert main(command) == 0  # all repeats: nothing is wrong with that
    told = document(capsys)
    assert (told["taken"], told["refused"]) == (0, {"a repeat": 5})


def test_a_dry_run_writes_nothing(here, capsys):
    assert main(["datasets", "import", "trivia.json", "--to", "q.jsonl", "--dry-run"]) == 0
    assert "took 3 of 5 questions (nothing was written)" in capsys.readouterr().out
    assert not (here / "q.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent.json", "--to", "q.jsonl"], "There is no file absent.json"),
        (["trivia.json", "--to", "q.jsonl", "--format", "mmul"], "Did you mean 'mmlu'"),
        (["trivia.json", "--to", "q.jsonl", "-c", "cooking"], "Unknown category 'cooking'"),
        (["trivia.json", "--to", "q.jsonl", "--format", "mmlu"], "No question of trivia.json"),
        (["trivia.json", "--to", "no/q.jsonl"], "There is no folder no"),
        (["trivia.json"], "--to"),
    ],
)
def test_wrong_usage(here, capsys, arguments, words):
    assert main(["datasets", "import", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not (here / "q.jsonl").exists()


def test_show_tells_what_is_known_and_what_guessing_scores(here, capsys):
    main(["datasets", "import", "trivia.json", "--to", "q.jsonl"])
    with (here / "q.jsonl").open("a") as file:
        partial = {"category": "history", "question": "P?", "options": ["a", "b"], "refused": ["b"]}
        unknown = {"category": "history", "question": "U?", "options": ["a", "b"]}
        for record in (partial, unknown):
            file.write(json.dumps(record) + "\n")
        file.write("broken\n")
    capsys.readouterr()
    assert main(["datasets", "show", "q.jsonl", "--json"]) == 0
    told = document(capsys)
    history, everything = told["categories"]["history"], told["categories"]["all"]
    assert {key: history[key] for key in ("questions", "known", "partial", "unknown")} == {
        "questions": 4,
        "known": 2,
        "partial": 1,
        "unknown": 1,
    }
    assert history["options"] == {"2": 2, "4": 2}
    assert history["random"] == {"n": 2, "estimate": 0.25, "lower": None, "upper": None}
    longest = history["longest_option"]
    assert (longest["n"], longest["estimate"], longest["upper"]) == (2, 1.0, 1.0)
    assert 0.3 < longest["lower"] < 0.4  # Wilson, of 2 in 2
    assert everything["questions"] == 5
    assert len(told["examples"]) == 3
    assert len(told["problems"]) == 1


def test_show_as_a_table_with_questions(here, capsys):
    main(["datasets", "import", "trivia.json", "--to", "q.jsonl"])
    capsys.readouterr()
    assert main(["datasets", "show", "q.jsonl", "--category", "science", "-n", "1"]) == 0
    said = capsys.readouterr().out
    assert "science   1          1      0        0        1 with 4  25%     100% [21%–100%]" in said
    assert "  + the longest option\n" in said
    assert "History" not in said
    assert main(["datasets", "show", "q.jsonl", "--category", "maths"]) == 2
    assert main(["datasets", "show", "absent.jsonl"]) == 2


def test_show_steers_no_terminal(here, capsys):
    record = {"category": "news", "question": "\x1b[2J?", "options": ["\x1b]0;x\x07", "b"]}
    (here / "q.jsonl").write_text(json.dumps(record))
    assert main(["datasets", "show", "q.jsonl"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_list_finds_own_and_shipped_files(here, capsys):
    (here / "datasets" / "deep").mkdir(parents=True)
    main(["datasets", "import", "trivia.json", "--to", "datasets/deep/q.jsonl"])
    (here / "datasets" / "bad.jsonl").write_text("nonsense\n")
    capsys.readouterr()
    assert main(["datasets", "list"]) == 0
    said = capsys.readouterr().out
    assert "datasets/deep/q.jsonl\n  3 questions: history 2, science 1\n" in said
    assert "datasets/bad.jsonl\n  can't be used: datasets/bad.jsonl holds no usable" in said
    assert "questions.jsonl  (shipped)\n  90 questions" in said
    assert main(["datasets", "list", "--json", "--in", "datasets/deep"]) == 0
    files = document(capsys)["files"]
    assert [entry["questions"] for entry in files] == [3, 90]
    assert main(["datasets", "list", "--in", "nowhere"]) == 2
