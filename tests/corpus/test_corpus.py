"""Corpora as folders: made, opened, exported, imported, checked."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.clock import VirtualClock
from harness.corpus import Corpus, Problem, RequestPolicy, check
from harness.errors import CorpusDamagedError, CorpusError, CorpusMissError, MissingError

URLS = tuple(f"https://e.org/{number}" for number in range(6))


@pytest.fixture
def exported(corpus: Corpus, web: Any, play: Any, tmp_path: Path) -> Path:
    """A small interchange folder with questions."""
    questions = tmp_path / "asked.jsonl"
    questions.write_text('{"id": "q1"}\n')
    corpus.set_questions(questions)
    play(corpus.tape("record", inner=web.transport), *URLS, "https://e.org/fail")
    assert corpus.export(tmp_path / "exported").problems == ()
    return tmp_path / "exported"


def warc_of(folder: Path) -> Path:
    (path,) = folder.glob("*.warc.gz")
    return path


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(bytes(data))


def test_a_new_corpus(tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    questions.write_text("{}\n")
    folder = tmp_path / "deep" / "corpus"
    with Corpus.create(
        folder,
        name="Ligúria",
        settings={"fetch.pages": 3},
        questions=questions,
        clock=VirtualClock(),
    ) as corpus:
        assert corpus.manifest.format == "hotseat-corpus/1"
        assert corpus.manifest.created == "2026-01-01T00:00:00.000000Z"
        assert corpus.manifest.questions == "questions.jsonl"
        assert corpus.questions_path is not None
        assert corpus.questions_path.read_text() == "{}\n"
        empty = corpus.digest()
    with Corpus.open(folder) as again:
        assert again.manifest == corpus.manifest
        assert again.manifest.settings == {"fetch.pages": 3}
        assert again.digest() == empty
        assert again.problems == again.verify() == []
        assert not again.read_only
    with pytest.raises(CorpusError, match="already a corpus"):
        Corpus.create(folder, name="t")


def test_a_corpus_may_be_made_where_its_questions_lie(tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("{}\n")
    with Corpus.create(tmp_path, name="t", questions=questions) as corpus:
        assert corpus.questions_path == questions
        other = tmp_path / "other"
        other.write_text("[]\n")
        corpus.set_questions(other)
        assert questions.read_text() == "[]\n"


def test_questions_can_be_added_later(corpus: Corpus, tmp_path: Path) -> None:
    assert corpus.questions_path is None
    with pytest.raises(MissingError, match="no question file"):
        corpus.set_questions(tmp_path / "nowhere")
    (tmp_path / "q").write_text("{}\n")
    corpus.set_questions(tmp_path / "q")
    with Corpus.open(corpus.path) as again:
        assert again.questions_path == corpus.path / "questions.jsonl"


def test_a_creation_that_was_interrupted_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.corpus import _create

    def killed(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_create, "write_atomic", killed)
        with pytest.raises(KeyboardInterrupt):
            Corpus.create(tmp_path / "c", name="t")
    with pytest.raises(CorpusError, match=r"manifest\.json"):
        Corpus.open(tmp_path / "c")
    Corpus.create(tmp_path / "c", name="t").close()


def test_a_recording_without_its_manifest_is_not_taken_over(
    corpus: Corpus, web: Any, play: Any
) -> None:
    play(corpus.tape("record", inner=web.transport), URLS[0])
    (corpus.path / "manifest.json").unlink()
    with pytest.raises(CorpusError, match="without its manifest"):
        Corpus.create(corpus.path, name="t")


def test_only_one_of_two_creators_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.corpus import _create

    original = _create.write_atomic

    def slow(path: Path, data: bytes, **options: Any) -> None:
        monkeypatch.setattr(_create, "write_atomic", original)
        Corpus.create(tmp_path / "c", name="first").close()
        original(path, data, **options)

    monkeypatch.setattr(_create, "write_atomic", slow)
    with pytest.raises(CorpusError, match="already a corpus"):
        Corpus.create(tmp_path / "c", name="second")
    with Corpus.open(tmp_path / "c") as corpus:
        assert corpus.manifest.name == "first"


@pytest.mark.parametrize(
    ("manifest", "what"),
    [
        ("", "no JSON object"),
        ("[]", "no JSON object"),
        ("[" * 100_000, "no JSON object"),
        ("{}", "names no format"),
        ('{"format": "hotseat-corpus/x"}', "names no format"),
        ('{"format": "hotseat-corpus/2"}', "made by a newer Hotseat"),
        ('{"format": "hotseat-corpus/0"}', "never was"),
        ('{"format": "hotseat-corpus/1"}', "lacks the corpus's name"),
        ('{"format": "hotseat-corpus/1", "name": "t", "created": "", "settings": 1}', "settings"),
        (" " * 2_000_000, "larger than"),
    ],
)
def test_manifests_that_can_not_be_used(tmp_path: Path, manifest: str, what: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(CorpusError, match=what) as caught:
        Corpus.open(tmp_path)
    assert "\n" not in str(caught.value)
    (tmp_path / "store").mkdir()
    with pytest.raises(CorpusError, match=what):
        Corpus.open(tmp_path)


CLIMBING = [
    "../secret",
    "/etc/passwd",
    "a/b",
    "..",
    ".hidden",
    "C:\\x",
    "a\\b",
    "",
    "x\0y",
    7,
    "link.jsonl",
]


@pytest.mark.parametrize("name", CLIMBING)
def test_names_that_climb_out_are_refused(tmp_path: Path, name: Any) -> None:
    (tmp_path / "secret").write_text("private")
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(tmp_path / "secret")
    told = {"format": "hotseat-corpus/1", "name": "t", "created": "now"}
    listed = [{"files": {name: "sha256:" + "0" * 64}}] if isinstance(name, str) else []
    for changes in ({"questions": name}, *listed):
        (folder / "manifest.json").write_text(json.dumps({**told, **changes}))
        (folder / "c.warc.gz").touch()
        with pytest.raises(CorpusError, match="not one beside it"):
            Corpus.open(folder)


def test_what_is_no_corpus_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no corpus at"):
        Corpus.open(tmp_path / "nowhere")
    with pytest.raises(MissingError, match="no corpus at"):
        Corpus.import_from(tmp_path / "nowhere", tmp_path / "x")
    with pytest.raises(CorpusError, match=r"manifest\.json"):
        Corpus.open(tmp_path)
    (tmp_path / "page.html").write_text("hello")
    with pytest.raises(CorpusError, match="no WARC file by its name"):
        Corpus.open(tmp_path / "page.html")
    told = {"format": "hotseat-corpus/1", "name": "t", "created": "now"}
    (tmp_path / "manifest.json").write_text(json.dumps(told))
    with pytest.raises(CorpusError, match="holds no recording"):
        Corpus.open(tmp_path)


def test_an_exported_folder_opens_as_the_same_corpus(
    exported: Path, corpus: Corpus, web: Any, play: Any
) -> None:
    with Corpus.open(exported) as opened:
        assert opened.read_only
        assert opened.problems == []
        assert opened.digest() == corpus.digest()
        assert opened.questions_path is not None
        assert opened.questions_path.read_text() == '{"id": "q1"}\n'
        assert opened.manifest == corpus.manifest
        asked = len(web.asked)
        found = play(opened.tape("replay"), *URLS, "https://e.org/fail")
        assert [getattr(one, "status_code", None) for one in found] == [200] * 6 + [None]
        assert len(web.asked) == asked
        assert opened.verify() == []
        with pytest.raises(CorpusError, match="read-only"):
            opened.tape("record", inner=web.transport)
        with pytest.raises(CorpusError, match="read-only"):
            opened.set_questions(exported / "questions.jsonl")


def test_it_is_unpacked_once_and_again_when_it_changes(
    exported: Path, hotseat_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.corpus import _unpack

    Corpus.open(exported).close()
    (unpacked,) = (path for path in (hotseat_home / "corpora").iterdir() if path.is_dir())
    with monkeypatch.context() as patch:
        patch.setattr(_unpack, "unpack", None)
        Corpus.open(exported).close()
        moved = exported.with_name("moved")
        shutil.copytree(exported, moved)
        Corpus.open(moved).close()
    (moved / "questions.jsonl").write_text('{"id": "q2"}\n')
    with Corpus.open(moved) as opened:
        assert opened.questions_path is not None
        assert opened.questions_path.read_text() == '{"id": "q2"}\n'
        assert opened.problems == [
            Problem("questions.jsonl", "the file is not the one that was exported")
        ]
    assert len([path for path in unpacked.parent.iterdir() if path.is_dir()]) == 2


def test_an_unpacked_corpus_needs_no_right_to_write(exported: Path, hotseat_home: Path) -> None:
    Corpus.open(exported).close()
    (unpacked,) = (path for path in (hotseat_home / "corpora").iterdir() if path.is_dir())
    assert sorted(path.name for path in (unpacked / "store").iterdir()) == ["cache.db"]


def test_a_home_that_can_not_be_written_is_said_so(
    exported: Path, hotseat_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = hotseat_home / "file"
    blocked.touch()
    monkeypatch.setenv("HOTSEAT_HOME", str(blocked))
    with pytest.raises(CorpusError, match="HOTSEAT_HOME"):
        Corpus.open(exported)


def test_one_changed_byte_of_a_body_is_found_and_the_rest_is_usable(
    exported: Path, play: Any
) -> None:
    with Corpus.open(exported) as opened:
        assert opened.verify() == []
    path = warc_of(exported)
    flip(path, path.stat().st_size // 2)
    with Corpus.open(exported) as opened:
        problems = opened.verify()
        assert problems[0] == Problem(path.name, "the file is not the one that was exported")
        assert len(problems) == 3  # the file, the record, the number of entries
        assert opened.problems == problems[:2]
        found = play(opened.tape("replay"), *URLS, "https://e.org/fail")
        refused = [one for one in found if isinstance(one, CorpusDamagedError)]
        assert len(refused) == 1
        assert sum(getattr(one, "status_code", 0) == 200 for one in found) >= 5


def test_changes_to_the_gzip_header_are_found_by_the_files_hash(exported: Path) -> None:
    """Also where another tool packed it, whose headers have no checksum of their own."""
    path = warc_of(exported)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())))
    manifest = exported / "manifest.json"
    told = json.loads(manifest.read_text())
    del told["sha256"]
    told["files"][path.name] = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    manifest.write_text(json.dumps(told))
    with Corpus.open(exported) as opened:
        assert opened.verify() == []
    flip(path, 9)  # the field that names the operating system
    with Corpus.open(exported) as opened:
        assert [problem.what for problem in opened.verify()] == [
            "the file is not the one that was exported"
        ]


def test_missing_and_ruined_files_leave_the_rest(exported: Path) -> None:
    (exported / "questions.jsonl").unlink()
    with Corpus.open(exported) as opened:
        assert opened.questions_path is None
        assert opened.problems == [Problem("questions.jsonl", "the file is missing")]
        assert opened.info().entries == 7
    warc_of(exported).write_bytes(b"ruined")
    with Corpus.open(exported) as opened:
        assert opened.info().entries == 0
        told = "\n".join(map(str, opened.verify()))
    assert "is not a WARC file" in told
    assert "promises 7 entries, 0 can be read" in told


def test_a_wrong_promise_of_the_manifest_is_found(exported: Path) -> None:
    path = exported / "manifest.json"
    told = json.loads(path.read_text())
    del told["sha256"]
    told["digest"] = "sha256:" + "0" * 64
    path.write_text(json.dumps(told))
    with Corpus.open(exported) as opened:
        assert ["its digest is sha256:000" in str(one) for one in opened.verify()] == [True]


def test_a_folder_made_by_hand_opens(exported: Path) -> None:
    """A manifest with no more than the names, beside any WARC files."""
    path = exported / "manifest.json"
    told = {"format": "hotseat-corpus/1", "name": "mine", "created": "2026-01-01T00:00:00Z"}
    path.write_text(json.dumps({**told, "questions": "questions.jsonl"}))
    with Corpus.open(exported) as opened:
        assert opened.info().entries == 7
        assert opened.questions_path is not None
        assert opened.verify() == []


def test_a_rotten_unpacked_copy_is_found(exported: Path, hotseat_home: Path, play: Any) -> None:
    import sqlite3

    Corpus.open(exported).close()
    (path,) = (hotseat_home / "corpora").rglob("cache.db")
    database = sqlite3.connect(path)
    with database:
        database.execute(
            "UPDATE Cache SET value = CAST(x'00' || substr(value, 2) AS BLOB)"
            " WHERE key LIKE 'body:%'"
        )
    database.close()
    with Corpus.open(exported) as opened:
        assert len(opened.verify()) == 6
        assert isinstance(play(opened.tape("replay"), URLS[0])[0], CorpusDamagedError)


def test_exporting_twice_gives_the_same_bytes(
    exported: Path, corpus: Corpus, tmp_path: Path
) -> None:
    corpus.export(tmp_path / "again")
    with Corpus.open(exported) as opened:
        opened.export(tmp_path / "third")
    for path in exported.iterdir():
        for other in ("again", "third"):
            assert (tmp_path / other / path.name).read_bytes() == path.read_bytes()
    told = json.loads((exported / "manifest.json").read_text())
    assert told["digest"] == corpus.digest()
    assert told["entries"] == 7
    assert sorted(told["files"]) == ["questions.jsonl", "test.warc.gz"]


def test_an_export_replaces_nothing_but_an_export(corpus: Corpus, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("manifest.json", "questions.jsonl"):
        (mine / name).write_text("{}")
    with pytest.raises(CorpusError, match="holds other things and no export"):
        corpus.export(mine, replace=True)
    assert [path.read_text() for path in mine.iterdir()] == ["{}", "{}"]
    with pytest.raises(CorpusError, match="other things"):
        corpus.export(corpus.path / "store", replace=True)
    (tmp_path / "folder.warc.gz").mkdir()
    with pytest.raises(CorpusError, match="already something"):
        corpus.export(tmp_path / "folder.warc.gz", replace=True)
    corpus.export(unfinished := tmp_path / "out")
    (unfinished / "manifest.json").unlink()  # which is written last
    corpus.export(unfinished, replace=True)
    assert (unfinished / "manifest.json").is_file()


@pytest.mark.parametrize("size", [None, 0])
def test_a_store_that_is_gone_is_not_begun_anew(tmp_path: Path, size: int | None) -> None:
    Corpus.create(tmp_path / "c", name="c").close()
    database = tmp_path / "c" / "store" / "cache.db"
    database.unlink()
    if size is not None:
        database.touch()
    for read_only in (False, True):
        with pytest.raises(CorpusDamagedError, match=r"cache\.db"):
            Corpus.open(tmp_path / "c", read_only=read_only)
    assert database.exists() == (size is not None)
    assert check(tmp_path / "c").problems


def test_a_pipe_in_place_of_the_manifest_is_not_waited_for(tmp_path: Path) -> None:
    Corpus.create(tmp_path / "c", name="c").close()
    (tmp_path / "c" / "manifest.json").unlink()
    os.mkfifo(tmp_path / "c" / "manifest.json")
    with pytest.raises(CorpusError, match="is no file"):
        Corpus.open(tmp_path / "c")


def test_a_folder_without_a_manifest_is_said_to_be_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="is no corpus"):
        Corpus.open(tmp_path)


def test_a_huge_question_file_is_told_and_not_read(tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    questions.write_text("{}\n")
    Corpus.create(tmp_path / "c", name="c", questions=questions).close()
    with (tmp_path / "c" / "questions.jsonl").open("wb") as file:
        file.truncate(2**40)
    with Corpus.open(tmp_path / "c") as corpus:
        assert "larger than any may be" in str(corpus.problems[0])
        assert corpus.questions_path is None
        corpus.export(tmp_path / "out")
    with (tmp_path / "out" / "questions.jsonl").open("wb") as file:
        file.truncate(2**40)
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())
    told["files"]["questions.jsonl"] = "sha256:" + "0" * 64
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(told))
    with Corpus.open(tmp_path / "out") as again:
        assert "larger than any may be" in " ".join(map(str, again.problems))


def test_a_name_that_is_no_text_is_stored_as_one(tmp_path: Path) -> None:
    made = Corpus.create(tmp_path / "c", name="a\udcff", settings={"search.language": "\udcff"})
    made.close()
    with Corpus.open(tmp_path / "c") as corpus:
        assert (corpus.manifest.name, corpus.problems) == ("a?", [])


def test_nothing_is_overwritten_unless_asked(
    exported: Path, corpus: Corpus, web: Any, play: Any, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError, match="already something"):
        corpus.export(exported)
    with pytest.raises(CorpusError, match="working corpus"):
        corpus.export(corpus.path, replace=True)
    single = tmp_path / "x.warc.gz"
    corpus.export(single)
    with pytest.raises(CorpusError, match="already something"):
        corpus.export(single)
    with pytest.raises(CorpusError, match="is packed"):
        corpus.export(tmp_path / "x.warc")
    with pytest.raises(MissingError, match="no folder"):
        corpus.export(tmp_path / "nowhere" / "x.warc.gz")
    (exported / "README").write_text("mine")
    told = json.loads((exported / "manifest.json").read_text())
    (exported / "old.warc.gz").write_bytes(b"")
    told["files"]["old.warc.gz"] = "sha256:" + "0" * 64
    (exported / "manifest.json").write_text(json.dumps(told))
    play(corpus.tape("record", inner=web.transport), "https://e.org/new")
    corpus.export(exported, replace=True)
    assert sorted(path.name for path in exported.iterdir()) == [
        "README",
        "manifest.json",
        "questions.jsonl",
        "test.warc.gz",
    ]
    with Corpus.open(exported) as opened:
        assert opened.verify() == []
        assert opened.digest() == corpus.digest()


def test_an_export_leaves_damage_out_and_says_so(
    exported: Path, corpus: Corpus, tmp_path: Path
) -> None:
    for name in corpus._store._cache.keys("body:")[:1]:
        corpus._store._cache.set(name, b"rotten")
    (problem,) = corpus.export(tmp_path / "rest").problems
    assert "damaged" in problem.what
    with Corpus.open(tmp_path / "rest") as rest:
        assert rest.info().entries == 6
        assert rest.verify() == []


def test_an_import_can_be_recorded_into(
    exported: Path, corpus: Corpus, web: Any, play: Any, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    with Corpus.import_from(exported, mine) as made:
        assert made.digest() == corpus.digest()
        assert made.manifest == corpus.manifest
        assert made.questions_path == mine / "questions.jsonl"
        play(made.tape("record", inner=web.transport), "https://e.org/new")
        assert made.info().entries == 8
    with pytest.raises(CorpusError, match="already something"):
        Corpus.import_from(exported, mine)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_an_import_heals_when_recorded_again(
    exported: Path, web: Any, play: Any, tmp_path: Path
) -> None:
    path = warc_of(exported)
    flip(path, path.stat().st_size // 2)
    with Corpus.import_from(exported, tmp_path / "mine") as made:
        assert len(made.problems) == 2
        assert len(made.verify()) == 3
        assert made.info().damaged == 1
    with Corpus.open(tmp_path / "mine") as made:
        assert len(made.verify()) == 1
        play(made.tape("record", inner=web.transport), *URLS, "https://e.org/fail")
        assert made.verify() == []
        assert made.info().damaged == 0


def test_an_import_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.warc").write_text("no warc")
    with pytest.raises(CorpusError, match="not a WARC"):
        Corpus.import_from(tmp_path / "x.warc", tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["x.warc"]


def test_the_same_record_twice(exported: Path, corpus: Corpus) -> None:
    path = warc_of(exported)
    data = path.read_bytes()
    path.write_bytes(data + data)
    with Corpus.open(exported) as opened:
        assert opened.digest() == corpus.digest()
        assert [problem.where for problem in opened.problems] == [path.name]


def test_what_a_corpus_tells_of_itself(exported: Path, corpus: Corpus, web: Any, play: Any) -> None:
    policy = RequestPolicy(provider="searxng", max_bytes=3)
    tape = corpus.tape("record", inner=web.transport)
    play(tape, "http://h/search?q=1", "http://h/search?q=1", policy=policy)
    info = corpus.info()
    assert (info.entries, info.requests, info.failures, info.truncated) == (9, 8, 1, 2)
    assert (info.bodies, info.damaged, info.kind) == (7, 0, "working store")
    assert info.providers == {"page": 7, "searxng": 2}
    assert info.digest == corpus.digest()
    assert info.body_bytes == sum(len(f"answer {n} to {URLS[n - 1]}") for n in range(1, 7)) + 3
    with Corpus.open(exported) as opened:
        assert opened.info().kind == "interchange folder"
    json.dumps(info.settings)


def test_verify_tells_how_far_it_is(exported: Path, corpus: Corpus) -> None:
    seen: list[tuple[int, int]] = []
    assert corpus.verify(lambda done, total: seen.append((done, total))) == []
    assert seen[-1] == (13, 13)
    done = [number for number, _ in seen]
    assert done == sorted(set(done))
    assert len(done) >= 7  # each entry, and the bodies in lots


def test_strange_rows_are_told(exported: Path, corpus: Corpus) -> None:
    corpus._store._cache.set("something else", b"x")
    corpus._store._cache.set("entry:short:0", b"x")
    assert [problem.where for problem in corpus.verify()] == ["store", "store"]


def test_a_missing_body_is_told(exported: Path, corpus: Corpus) -> None:
    name = corpus._store._cache.keys("body:")[0]
    del corpus._store._cache[name]
    (problem,) = corpus.verify()
    assert problem.what == "its body is missing"
    assert "GET https://e.org/" in problem.where


def test_a_read_only_corpus_can_not_be_changed(exported: Path, corpus: Corpus, play: Any) -> None:
    before = {path: path.read_bytes() for path in corpus.path.rglob("*.json")}
    with Corpus.open(corpus.path, read_only=True) as opened:
        assert play(opened.tape("replay"), URLS[0])[0].status_code == 200
        assert isinstance(play(opened.tape("replay"), "https://e.org/x")[0], CorpusMissError)
        assert opened.digest() == corpus.digest()
    assert {path: path.read_bytes() for path in corpus.path.rglob("*.json")} == before


def test_no_handle_stays_open(exported: Path) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("needs /proc")
    before = len(list(descriptors.iterdir()))
    for _ in range(3):
        with Corpus.open(exported) as opened:
            opened.verify()
    assert len(list(descriptors.iterdir())) == before
