import errno
import json
import os

import pytest

from harness.errors import BadInputError, QuestionFileError
from harness.importers import import_questions
from harness.question_file import load_questions


@pytest.fixture
def run(tmp_path):
    """Import lines (as records) into ``target.jsonl`` and return the report."""

    def run(*records, **options):
        source = tmp_path / "source.jsonl"
        source.write_text("".join(json.dumps(record) + "\n" for record in records))
        return import_questions(source, tmp_path / "target.jsonl", **options)

    return run


@pytest.fixture
def target(tmp_path):
    return tmp_path / "target.jsonl"


def record(text="Q?", answer="a", options=("a", "b", "c"), **more):
    found = {"category": "news", "question": text, "options": list(options), **more}
    return found if answer is None else found | {"answer": answer}


def test_a_new_file_then_more(run, target):
    assert run(record(), record("R?")).taken == 2
    before = target.read_bytes()
    report = run(record("R?"), record("S?"))
    assert (report.before, report.taken, report.per_category) == (2, 1, {"news": 1})
    assert report.imported.refused == {"a repeat": 1}
    assert target.read_bytes().startswith(before)
    loaded = load_questions(target)
    assert [question.text for question in loaded.questions] == ["Q?", "R?", "S?"]
    assert loaded.problems == ()


def test_importing_again_changes_nothing(run, target):
    run(record(), record("R?"))
    before = target.read_bytes()
    run(record(), record("R?"))
    assert target.read_bytes() == before


@pytest.mark.parametrize("text", ["Q?", "  q?\t", "Ｑ？", "q?"])
def test_repeats_are_found_by_normalised_text(run, text):
    run(record())
    report = run(record(text, options=("c", "b", "a")))
    assert (report.taken, report.imported.refused) == (0, {"a repeat": 1})


def test_the_same_text_in_another_category_is_another_question(run):
    assert run(record(), record(category="maths")).taken == 2


def test_repeats_inside_one_file(run):
    report = run(record(), record(), record(answer="b"))
    assert (report.taken, report.imported.read) == (1, 3)
    assert report.imported.refused == {
        "a repeat": 1,
        "contradicts what is known of the same question": 1,
    }
    contradiction = report.imported.examples[1]
    assert contradiction.line == 3
    assert "'b', not 'a', in 'Q?'" in str(contradiction)


def test_more_knowledge_of_a_known_question_is_added(run, target):
    run(record(answer=None), record("R?", answer=None, refused=["b"]))
    report = run(record(), record("R?", answer=None, refused=["c"]), record("R?", answer="a"))
    assert report.taken == 3
    loaded = load_questions(target)
    assert loaded.merged == 3
    one, two = loaded.questions
    assert (one.gold.answer, two.gold.answer, two.gold.refused) == ("a", "a", ("b", "c"))


def test_less_knowledge_is_a_repeat(run):
    run(record())
    assert run(record(answer=None)).taken == 0


@pytest.mark.parametrize(
    "later",
    [
        record(answer="b"),
        record(answer=None, refused=["a"]),
        record(answer="b", options=("a", "b", "x")),
    ],
)
def test_contradictions_with_the_target(run, target, later):
    run(record())
    before = target.read_bytes()
    report = run(later)
    assert list(report.imported.refused) == ["contradicts what is known of the same question"]
    assert target.read_bytes() == before


def test_the_same_question_with_other_distractors_is_a_repeat(run):
    run(record())
    assert run(record(options=("a", "x", "y"))).imported.refused == {"a repeat": 1}


def test_a_stem_used_for_two_questions_is_kept(run, target):
    run(record("Which is a mammal?", "cat", ("cat", "fly")))
    assert run(record("Which is a mammal?", "dog", ("dog", "bee"))).taken == 1
    assert len(load_questions(target).questions) == 2


def test_ids_stay_unique(run, target):
    run(record(id="one"))
    assert run(record("R?", id="one"), record("S?", id="two")).taken == 2
    loaded = load_questions(target)
    assert loaded.problems == ()
    first, second, third = (question.id for question in loaded.questions)
    assert (first, third) == ("one", "two")
    assert second.startswith("q-")


def test_an_answer_written_a_little_differently(run, target):
    source = target.parent / "history"
    source.write_text("#Q Q?\n^ ROME\nA Rome\nB Athens\n\n#Q R?\n^ ROME\nA Rome\nB rome\n")
    report = import_questions(source, target)
    assert load_questions(target).questions[0].gold.answer == "Rome"
    assert report.imported.refused == {"the answer is not among the options": 1}


def test_a_dry_run_writes_nothing(run, target):
    report = run(record(), dry_run=True)
    assert (report.taken, report.target) == (1, None)
    assert not target.exists()


def test_a_line_cut_by_a_crash_is_left_alone(run, target):
    run(record())
    with target.open("ab") as file:
        file.write(b'{"category": "ne')
    run(record("R?"))
    loaded = load_questions(target)
    assert [question.text for question in loaded.questions] == ["Q?", "R?"]
    assert len(loaded.problems) == 1


def test_an_empty_target_is_a_new_one(run, target):
    target.write_bytes(b"\n\n")
    assert run(record()).taken == 1
    assert len(load_questions(target).questions) == 1


def test_a_full_disk_leaves_the_file_as_it_was(run, target, monkeypatch):
    run(record())
    before = target.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(QuestionFileError, match="No space left"):
        run(record("R?"))
    assert target.read_bytes() == before
    target.unlink()
    with pytest.raises(QuestionFileError, match="No space left"):
        run(record("R?"))
    assert sorted(path.name for path in target.parent.iterdir()) == ["source.jsonl"]


def test_targets_that_can_not_be(run, target, tmp_path):
    target.mkdir()
    with pytest.raises(BadInputError, match="no file to add"):
        run(record())
    target.rmdir()
    target.write_text("this is a letter, not a question file\n")
    with pytest.raises(QuestionFileError, match="no usable question"):
        run(record())
    assert target.read_text().startswith("this is a letter")
    source = tmp_path / "source.jsonl"
    with pytest.raises(BadInputError, match="no folder"):
        import_questions(source, tmp_path / "nowhere" / "q.jsonl")
    with pytest.raises(BadInputError):
        import_questions(source, tmp_path / "a\0b")


def test_only_the_first_few_examples_are_kept(run):
    report = run(*(record("Q?") for _ in range(50)))
    assert report.imported.refused == {"a repeat": 49}
    assert len(report.imported.examples) == 5


def test_a_question_that_fits_no_line_is_refused(run):
    long = [f"{n}{'ü' * 4_000}" for n in range(8)]
    source = {"category": "news", "question": "Q?", "options": long, "answer": long[0]}
    assert "too long" in str(run(source).imported.refused) or run(source).imported.refused == {
        "can't be read": 1
    }


def test_importing_a_file_into_itself_changes_nothing(run, target):
    run(record(), record("R?"))
    before = target.read_bytes()
    assert import_questions(target, target).taken == 0
    assert target.read_bytes() == before
