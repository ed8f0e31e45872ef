from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from harness.clock import VirtualClock
from harness.errors import BadInputError, MissingError
from harness.quiz import Answer, Basis, Category, Gold, Option, ParseStep, Question
from harness.replay import _files
from harness.replay._files import sweep, write_atomic
from harness.replay.digest import results_digest
from harness.replay.rows import make_row
from harness.replay.run_folder import (
    RunDamagedError,
    RunFolder,
    RunWriteError,
    new_run_path,
    read_manifest,
    read_rows,
)
from harness.replay.traces import encode_line, read_traces
from harness.trace import Trace


def make(name: str, output: str = "ANSWER: 0 a") -> dict:
    question = Question(name, Category.NEWS, "?", (Option(0, "a"), Option(1, "b")), Gold("a"))
    trace = Trace(clock=VirtualClock())
    trace.note(output=output)
    return make_row(question, Answer(question.options[0], Basis.MODEL, ParseStep.TEXT), trace)


def put(folder: RunFolder, name: str, output: str = "ANSWER: 0 a") -> None:
    row = make(name, output)
    folder.append(row, encode_line({"question": "?", "row": row, "trace": {}}))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that stopped after two questions."""
    path = tmp_path / "run"
    with RunFolder.create(path, {"name": "n"}) as folder:
        put(folder, "q1")
        put(folder, "q2", "zwei\u2028Zeilen")
    return path


def test_a_run_from_beginning_to_end(tmp_path: Path):
    path = tmp_path / "deep" / "run"
    with RunFolder.create(path, {"name": "n"}) as folder:
        assert read_manifest(path) == {"format": "hotseat-run/1", "name": "n", "status": "running"}
        put(folder, "q2")
        put(folder, "q1")
        digest = folder.finish(finished="now")
    assert read_rows(path) == [make("q1"), make("q2")]
    assert digest == results_digest([make("q1"), make("q2")])
    assert read_manifest(path) == {
        "format": "hotseat-run/1",
        "name": "n",
        "status": "finished",
        "finished": "now",
        "digest": digest,
    }
    assert [line["row"]["question_id"] for line in read_traces(path)] == ["q2", "q1"]
    files = {item.name for item in path.iterdir()} - {".lock"}
    assert files == {"manifest.json", "traces.jsonl", "answers.parquet"}


def test_an_appended_question_is_on_disk_at_once(tmp_path: Path, monkeypatch):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(handle))
    with RunFolder.create(tmp_path / "run", {}) as folder:
        synced.clear()
        put(folder, "q1")
        assert len(synced) == 1
        assert [line["row"] for line in read_traces(tmp_path / "run")] == [make("q1")]


def test_resume_knows_what_was_answered(run: Path):
    with RunFolder.resume(run) as folder:
        assert list(folder.rows.values()) == [make("q1"), make("q2", "zwei\u2028Zeilen")]
        assert folder.dropped_lines == 0
        put(folder, "q3")
        folder.finish()
    assert [row["question_id"] for row in read_rows(run)] == ["q1", "q2", "q3"]


@pytest.mark.parametrize("kept", ["", "{", '{"question":"?","row":{"question_id":"q3"'])
def test_a_torn_last_line_is_dropped(run: Path, kept: str):
    traces = run / "traces.jsonl"
    whole = traces.read_bytes()
    traces.write_bytes(whole + kept.encode())
    with RunFolder.resume(run) as folder:
        assert list(folder.rows) == ["q1", "q2"]
        assert folder.dropped_lines == bool(kept)
        assert traces.read_bytes() == whole
        put(folder, "q3")
    with RunFolder.resume(run) as folder:
        assert list(folder.rows) == ["q1", "q2", "q3"]


def test_every_cut_of_the_last_line_costs_only_that_line(run: Path):
    traces = run / "traces.jsonl"
    whole = traces.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole), 37):
        traces.write_bytes(whole[:end])
        with RunFolder.resume(run) as folder:
            assert list(folder.rows) == ["q1"]
        assert traces.read_bytes() == whole[:first]


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"row": 3}',
        b'{"row": {"question_id": "q1"}}',
        b"[" * 100_000,
        b"",
    ],
)
def test_a_damaged_line_in_the_middle_costs_only_itself(run: Path, damage: bytes):
    traces = run / "traces.jsonl"
    first, second = traces.read_bytes().splitlines(keepends=True)
    traces.write_bytes(first + damage + b"\n" + second)
    with RunFolder.resume(run) as folder:
        assert list(folder.rows) == ["q1", "q2"]
        assert folder.dropped_lines == 1
    assert traces.read_bytes() == first + second


def test_a_question_twice_counts_once(run: Path):
    traces = run / "traces.jsonl"
    traces.write_bytes(traces.read_bytes() * 2)
    with RunFolder.resume(run) as folder:
        assert list(folder.rows) == ["q1", "q2"]
        assert folder.dropped_lines == 2


def test_a_row_of_other_columns_is_not_believed(run: Path):
    traces = run / "traces.jsonl"
    document = json.loads(traces.read_bytes().splitlines()[0])
    document["row"]["correct"] = "yes"
    traces.write_bytes(encode_line(document))
    with RunFolder.resume(run) as folder:
        assert folder.rows == {}


def test_only_one_process_writes(run: Path):
    with (
        RunFolder.resume(run),
        pytest.raises(BadInputError, match="Another process is writing"),
    ):
        RunFolder.resume(run)
    with RunFolder.resume(run):
        pass


def test_a_finished_run_is_not_written_again(run: Path):
    with RunFolder.resume(run) as folder:
        folder.finish()
    with pytest.raises(BadInputError, match="already finished"):
        RunFolder.resume(run)
    with pytest.raises(BadInputError, match="already finished"):
        RunFolder.resume(run)  # the lock was given back


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(BadInputError, match="not empty"):
        RunFolder.create(tmp_path, {})
    assert not (tmp_path / "manifest.json").exists()
    file = tmp_path / "letter.txt"
    with pytest.raises(BadInputError, match=r"Can't write a run to .*letter.txt"):
        RunFolder.create(file, {})


def test_a_run_killed_before_its_manifest_can_start_again(tmp_path: Path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".manifest.json.0011.hotseat-tmp").write_text("{")
    with RunFolder.create(tmp_path, {}):
        assert not list(tmp_path.glob("*tmp"))


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (None, "holds no manifest.json"),
        (b"{", "can't be read"),
        (b"\xff", "can't be read"),
        (b"[" * 100_000, "can't be read"),
        (b"[]", "not of the format"),
        (b'{"format": "hotseat-run/9", "status": "running"}', "not of the format"),
        (b'{"format": "hotseat-run/1"}', "how far"),
    ],
)
def test_a_manifest_that_cannot_be_used(run: Path, manifest: bytes | None, message: str):
    if manifest is None:
        (run / "manifest.json").unlink()
    else:
        (run / "manifest.json").write_bytes(manifest)
    for reader in (RunFolder.resume, read_rows, read_manifest):
        with pytest.raises((RunDamagedError, MissingError), match=message):
            reader(run)


def test_a_manifest_beyond_bounds(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("harness.replay.run_folder._MAX_MANIFEST_BYTES", 10)
    with pytest.raises(RunDamagedError, match="larger than"):
        read_manifest(run)


def test_rows_of_an_unfinished_run_are_refused_with_the_way_on(run: Path):
    with pytest.raises(BadInputError, match=r"not finished.*--resume"):
        read_rows(run)


def finish(run: Path) -> None:
    with RunFolder.resume(run) as folder:
        folder.finish()


def test_a_missing_or_broken_table_is_refused(run: Path):
    finish(run)
    table = run / "answers.parquet"
    data = table.read_bytes()
    table.write_bytes(data[: len(data) // 2])
    with pytest.raises(RunDamagedError, match="can't be read"):
        read_rows(run)
    table.unlink()
    with pytest.raises(RunDamagedError, match="can't be read"):
        read_rows(run)


def test_a_changed_answer_is_noticed(run: Path):
    finish(run)
    table = run / "answers.parquet"
    changed = pl.read_parquet(table).with_columns(pl.lit(True).alias("correct"))
    changed = changed.with_columns(answer_text=pl.lit("b"))
    changed.write_parquet(table)
    with pytest.raises(RunDamagedError, match="digest"):
        read_rows(run)


def test_a_table_without_a_column_is_refused(run: Path):
    finish(run)
    table = run / "answers.parquet"
    pl.read_parquet(table).drop("basis").write_parquet(table)
    with pytest.raises(RunDamagedError, match="basis"):
        read_rows(run)


def test_a_full_disk_is_told_with_the_way_on(run: Path, monkeypatch: pytest.MonkeyPatch):
    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with RunFolder.resume(run) as folder:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(RunWriteError, match=r"No space left.*--resume") as caught:
            put(folder, "q3")
        assert caught.value.exit_code == 3
        assert list(folder.rows) == ["q1", "q2"]


def test_partial_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = os.write
    with RunFolder.create(tmp_path / "run", {}) as folder:
        monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:7]))
        put(folder, "q1")
    assert [line["row"] for line in read_traces(tmp_path / "run")] == [make("q1")]


def test_names_of_runs(tmp_path: Path):
    now = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    path = new_run_path(tmp_path, "../My Corpus!", now)
    assert path == tmp_path / "20260504T030201Z-my-corpus"
    path.mkdir()
    assert new_run_path(tmp_path, "My Corpus", now).name == "20260504T030201Z-my-corpus-2"
    assert new_run_path(tmp_path, "何", now).name == "20260504T030201Z-run"


def test_an_atomic_write_that_breaks_leaves_the_old_file(tmp_path: Path, monkeypatch):
    target = tmp_path / "f"
    write_atomic(target, b"old")

    def break_half_way(file) -> None:
        file.write(b"ne")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(target, break_half_way)
    assert [item.name for item in tmp_path.iterdir()] == ["f"]
    monkeypatch.setattr(_files.os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        write_atomic(target, b"new")
    assert target.read_bytes() == b"old"


def test_sweep_takes_only_our_leftovers(tmp_path: Path):
    for name in (".a.json.1f.hotseat-tmp", ".hidden", "a.tmp"):
        (tmp_path / name).touch()
    sweep(tmp_path)
    assert {item.name for item in tmp_path.iterdir()} == {".hidden", "a.tmp"}


def test_a_line_takes_any_text():
    line = encode_line({"a": "\ud800 é"})
    assert json.loads(line) == {"a": "\ud800 é"}
    with pytest.raises(ValueError, match="JSON"):
        encode_line({"a": float("inf")})
