"""Merging: any order, any number of times, the same corpus, and every conflict told."""

from __future__ import annotations

import itertools
import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.corpus import Corpus, Entry, Failure, open_or_create, request_key
from harness.corpus._body import body_sha256
from harness.errors import BadInputError, CorpusError, MissingError
from harness.question_file import load_questions

Script = Callable[..., "subprocess.Popen[str]"]

MERGE_AND_DIE = """
    import os, signal, sys
    from harness.corpus import Corpus, _merge, _merge_questions

    steps = int(sys.argv[3])

    def count(original):
        def counted(*arguments, **options):
            global steps
            steps -= 1
            if steps == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **options)
        return counted

    _merge.unpack = count(_merge.unpack)
    _merge._take = count(_merge._take)
    _merge.merge_questions = count(_merge.merge_questions)
    _merge_questions.write_atomic = count(_merge_questions.write_atomic)
    with Corpus.open(sys.argv[1]) as corpus:
        corpus.merge(sys.argv[2])
    print("done", flush=True)
"""


def entry(path: str, body: bytes | None = b"body", **changes: Any) -> Entry:
    values: dict[str, Any] = {
        "request": request_key("GET", f"https://e.org/{path}", {}, None),
        "ordinal": 0,
        "fetched_at": "2026-01-01T00:00:00.000000Z",
        "elapsed_s": 0.25,
    }
    if body is None:
        values["failure"] = Failure("ReadTimeout", "late")
    else:
        values |= {"status": 200, "body_sha256": body_sha256(body), "body_bytes": len(body)}
    return Entry(**{**values, **changes})


def make(path: Path, *entries: tuple[Entry, bytes], **options: Any) -> Path:
    with Corpus.create(path, name=path.name, **options) as made:
        for one, body in entries:
            made._store.put(one, body, replace=True)
    return path


def write_questions(path: Path, *texts: str, **more: Any) -> Path:
    lines = [
        {"category": "news", "question": text, "options": ["a", "b"], "answer": "a", **more}
        for text in texts
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def test_entries_of_all_forms_come_together(tmp_path: Path) -> None:
    one = make(tmp_path / "one", (entry("a"), b"body"), (entry("b", None), b""))
    two = make(tmp_path / "two", (entry("a"), b"body"), (entry("c", b"x" * 90_000), b"x" * 90_000))
    three = make(tmp_path / "three", (entry("d", ordinal=1), b"body"))
    for path in (two, three):
        with Corpus.open(path) as made:
            made.export(tmp_path / f"{path.name}-out")
            made.export(tmp_path / f"{path.name}.warc.gz")
    with Corpus.create(tmp_path / "all", name="all") as target:
        done = [target.merge(one), target.merge(tmp_path / "two-out")]
        done.append(target.merge(tmp_path / "three.warc.gz"))
        assert [(m.new, m.same, m.conflicts, m.problems) for m in done] == [
            (2, 0, (), ()),
            (1, 1, (), ()),
            (1, 0, (), ()),
        ]
        assert target.verify() == []
        digest = target.digest()
        again = target.merge(tmp_path / "two")
        assert (again.new, again.same) == (0, 2)
        assert target.digest() == digest
        assert [path.name for path in target.path.iterdir() if path.name[0] == "."] == []


BETTER = [
    (entry("a", None), entry("a"), "it is an answer"),
    (entry("a", status=503), entry("a", status=404), "it is an answer"),
    (entry("a", truncated=True, fetched_at="2027"), entry("a"), "its body is complete"),
    (entry("a"), entry("a", fetched_at="2026-06"), "it was fetched later"),
]


@pytest.mark.parametrize(("worse", "better", "why"), BETTER)
def test_a_conflict_is_settled_by_the_entries_alone_and_told(
    tmp_path: Path, worse: Entry, better: Entry, why: str
) -> None:
    first = make(tmp_path / "first", (worse, b"body" if worse.status else b""))
    second = make(tmp_path / "second", (better, b"body"))
    for number, (target, source) in enumerate([(first, second), (second, first)]):
        shutil.copytree(target, copy := tmp_path / f"copy {number}")
        with Corpus.open(copy) as corpus:
            done = corpus.merge(source)
            (conflict,) = done.conflicts
            assert conflict.replaced == (target == first)
            assert conflict.why == why
            assert "https://e.org/a (no. 0): recorded differently" in str(conflict)
            assert list(corpus.entries()) == [better]
            assert corpus.verify() == []


found = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.integers(0, 1),
        st.sampled_from([None, b"one", b"two"]),
        st.sampled_from(["2026-01", "2026-02"]),
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda item: item[:2],
)


@settings(max_examples=8, deadline=None)
@given(st.lists(found, min_size=3, max_size=3))
def test_the_order_of_sources_makes_no_difference(sources: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = []
        for number, rows in enumerate(sources):
            entries = [
                (
                    entry(path, body, ordinal=ordinal, fetched_at=when, truncated=cut),
                    body or b"",
                )
                for path, ordinal, body, when, cut in rows
            ]
            paths.append(make(folder / str(number), *entries))
        digests = set()
        for number, order in enumerate(itertools.permutations(paths)):
            with Corpus.create(folder / f"all {number}", name="all") as target:
                for path in (*order, order[0]):
                    target.merge(path)
                digests.add(target.digest())
                assert target.verify() == []
        assert len(digests) == 1


def test_a_damaged_source_gives_the_rest(tmp_path: Path) -> None:
    source = make(
        tmp_path / "source",
        (entry("a", b"one"), b"one"),
        (entry("b", b"two"), b"two"),
        (entry("c", b"six"), b"six"),
    )
    with Corpus.open(source) as damaged:
        cache = damaged._store._cache
        cache.set(f"body:{body_sha256(b'one')}", b"rotten")
        cache.set(f"entry:{entry('b').request.sha256}:0", b"rotten")
        damaged._store.mark_lost("0" * 64, 2, "cut off")
    with Corpus.create(tmp_path / "target", name="t") as target:
        done = target.merge(source)
        assert (done.new, len(done.problems)) == (1, 3)
        assert target.info().damaged == 3
        assert len(target.verify()) == 3
        healthy = make(tmp_path / "healthy", (entry("a", b"one"), b"one"))
        assert target.merge(healthy).new == 1
        assert target.info().damaged == 2


def test_damage_in_the_target_is_healed(tmp_path: Path) -> None:
    source = make(tmp_path / "source", (entry("a", b"one"), b"one"), (entry("b"), b"body"))
    shutil.copytree(source, tmp_path / "target")
    with Corpus.open(tmp_path / "target") as target:
        digest = target.digest()
        target._store._cache.set(f"entry:{entry('b').request.sha256}:0", b"rotten")
        del target._store._cache[f"body:{body_sha256(b'one')}"]
        assert len(target.verify()) == 2
        target.merge(source)
        assert target.verify() == []
        assert target.digest() == digest


def test_questions_are_appended_once(tmp_path: Path) -> None:
    ours = write_questions(tmp_path / "ours.jsonl", "Who was it?", "When?", id="same")
    ours.write_text(ours.read_text().splitlines()[0])  # one, and no line end
    theirs = write_questions(tmp_path / "theirs.jsonl", "WHO  was it?", "Where?")
    clash = write_questions(tmp_path / "clash.jsonl", "Why?", id="same")
    target = make(tmp_path / "target", questions=ours)
    sources = [
        make(tmp_path / "source", questions=theirs),
        make(tmp_path / "clashing", questions=clash),
    ]
    with Corpus.open(target) as corpus:
        assert [corpus.merge(path).questions for path in sources] == [1, 1]
        assert [corpus.merge(path).questions for path in sources] == [0, 0]
        assert corpus.questions_path
        loaded = load_questions(corpus.questions_path)
        assert [one.text for one in loaded.questions] == ["Who was it?", "Where?", "Why?"]
        assert [one.id for one in loaded.questions][::2] == ["same", "same-2"]
        assert loaded.problems == ()
        assert corpus.verify() == []
    with Corpus.open(target) as again:
        assert again.problems == []
    with Corpus.create(tmp_path / "bare", name="bare") as bare:
        assert bare.merge(target).questions == 3


def test_other_settings_are_told(tmp_path: Path) -> None:
    source = make(tmp_path / "source", (entry("a"), b"body"), settings={"search.language": "it"})
    with open_or_create(tmp_path / "new", source) as made:
        assert made.manifest.settings == {"search.language": "it"}
        assert made.merge(source).notes == ()
    with Corpus.create(tmp_path / "other", name="o") as other:
        (note,) = other.merge(source).notes
        assert "search.language = it" in note
        other.export(tmp_path / "o.warc.gz")
    with open_or_create(tmp_path / "from warc", tmp_path / "o.warc.gz") as made:
        assert made.manifest.settings == {}


@pytest.mark.parametrize("step", [1, 2, 3, 5, 6, 7, 8])
def test_a_kill_leaves_all_or_nothing_and_the_next_run_completes_it(
    tmp_path: Path, script: Script, step: int
) -> None:
    questions = write_questions(tmp_path / "q.jsonl", "Who?", "When?")
    bodies = [bytes([65 + number]) * 50_000 for number in range(3)]
    source = make(
        tmp_path / "source",
        *((entry(str(number), body), body) for number, body in enumerate(bodies)),
        questions=questions,
    )
    with Corpus.open(source) as made:
        made.export(tmp_path / "out")
        digest = made.digest()
    with Corpus.create(tmp_path / "target", name="t") as target:
        empty = target.digest()
    process = script(MERGE_AND_DIE, tmp_path / "target", tmp_path / "out", step)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, output
    with Corpus.open(tmp_path / "target") as target:
        assert target.verify() == []
        assert target.digest() == (empty if step < 5 else digest)
        target.merge(tmp_path / "out")
        assert target.digest() == digest
        assert target.questions_path
        assert len(load_questions(target.questions_path).questions) == 2
        assert target.verify() == []
    with Corpus.open(tmp_path / "target") as target:
        assert target.manifest.questions_sha256


def test_wrong_sources_are_refused_before_anything_happens(tmp_path: Path) -> None:
    target = make(tmp_path / "target", (entry("a"), b"body"))
    with Corpus.open(target) as corpus:
        with pytest.raises(MissingError):
            corpus.merge(tmp_path / "nowhere")
        with pytest.raises(BadInputError, match="into itself"):
            corpus.merge(tmp_path / "target" / ".." / "target")
        with pytest.raises(CorpusError, match="no WARC file"):
            corpus.merge(__file__)
        corpus.export(tmp_path / "out")
    for source, kind in ((tmp_path / "nowhere", MissingError), (Path(__file__), CorpusError)):
        with pytest.raises(kind):
            open_or_create(tmp_path / "new", source)
    assert not (tmp_path / "new").exists()
    with (
        Corpus.open(tmp_path / "out") as exported,
        pytest.raises(CorpusError, match="read-only"),
    ):
        exported.merge(target)


def test_a_damaged_body_is_healed_by_the_same_entry(tmp_path: Path) -> None:
    whole = make(tmp_path / "whole", (entry("a"), b"body"))
    broken = make(tmp_path / "broken", (entry("a"), b"body"))
    with Corpus.open(broken) as corpus:
        with corpus._store.writer() as cache:
            cache.set(f"body:{body_sha256(b'body')}", b"garbage")
        assert corpus.verify() != []
        corpus.merge(whole)
        assert corpus.verify() == []
