"""Reading runs from disk: what is refused, and in which words."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from harness.errors import BadInputError, MissingError
from harness.replay.digest import results_digest
from harness.replay.run_folder import RunDamagedError, read_rows
from harness.scoring.run_table import _has_digest, load_run, table_of_rows


def edit_manifest(run: Path, **changes: object) -> None:
    file = run / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_a_finished_run_is_read_whole(runs, tmp_path: Path):
    path = runs.write_run(tmp_path / "mine", runs.rows("RWF?"))
    table = load_run(path)
    assert table.name == "mine"
    assert table.frame.height == table.expected == 4
    assert table.digest == json.loads((path / "manifest.json").read_text())["digest"]
    assert table.seconds_setting("time.allowed_s", 1.0) == 30.0
    assert table.seconds_setting("time.none", 1.0) == 1.0
    assert table.frame["answer_text"].to_list() == [r["answer_text"] for r in read_rows(path)]


def test_any_text_keeps_its_digest(runs):
    texts = [
        '"',
        "\\",
        "\n\t\r\b\f",
        "\x00\x01\x1f\x7f",
        "\u2028\u2029",
        "é何😀",
        "</x>&'",
        "\ufeff",
    ]
    rows = [
        runs.row(n, "R", answer_text=text, question_id=f"{text}{n}", output=text, tags=[text, ""])
        for n, text in enumerate(texts)
    ]
    frame = pl.DataFrame(rows, schema=table_of_rows(rows, "x").frame.schema | {"output": pl.String})
    whole = pl.DataFrame(rows, infer_schema_length=None)
    assert frame.height == whole.height
    assert _has_digest(whole, results_digest(rows))
    assert not _has_digest(whole, results_digest(rows[1:]))


def test_an_unfinished_run(runs, tmp_path: Path):
    path = runs.write_run(tmp_path / "cut", runs.rows("RW"), finish=False)
    with pytest.raises(BadInputError, match=r"not finished.*hotseat replay --resume"):
        load_run(path)


def test_no_run_at_all(tmp_path: Path):
    with pytest.raises(MissingError, match="is not a run folder"):
        load_run(tmp_path)


def test_a_run_of_a_later_format(runs, tmp_path: Path):
    path = runs.write_run(tmp_path / "later", runs.rows("R"))
    edit_manifest(path, format="hotseat-run/2")
    with pytest.raises(BadInputError, match=r"format hotseat-run/2; this Hotseat reads hotseat-ru"):
        load_run(path)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 7}', '{"format": "other/1"}'])
def test_a_manifest_that_is_none(runs, tmp_path: Path, text: str):
    path = runs.write_run(tmp_path / "odd", runs.rows("R"))
    (path / "manifest.json").write_text(text)
    with pytest.raises(RunDamagedError, match=r"manifest\.json"):
        load_run(path)


def test_a_table_of_other_columns(runs, tmp_path: Path):
    path = runs.write_run(tmp_path / "old", runs.rows("RW"))
    file = path / "answers.parquet"
    pl.read_parquet(file).drop("basis").with_columns(pl.col("level").cast(pl.String)).write_parquet(
        file
    )
    with pytest.raises(RunDamagedError, match=r"another version.*columns level, basis"):
        load_run(path)


def test_a_table_that_was_changed_after_the_run(runs, tmp_path: Path):
    path = runs.write_run(tmp_path / "cooked", runs.rows("RW"))
    file = path / "answers.parquet"
    pl.read_parquet(file).with_columns(correct=True).write_parquet(file)
    with pytest.raises(RunDamagedError, match="digest"):
        load_run(path)


def test_a_table_that_is_no_table(runs, tmp_path: Path):
    path = runs.write_run(tmp_path / "torn", runs.rows("RW"))
    file = path / "answers.parquet"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(RunDamagedError, match="can't be read"):
        load_run(path)
    file.unlink()
    with pytest.raises(RunDamagedError, match="can't be read"):
        load_run(path)


def test_a_question_with_two_rows(runs, tmp_path: Path):
    twice = [runs.row(1), runs.row(1), runs.row(2), runs.row(2), runs.row(3)]
    with pytest.raises(
        BadInputError, match=r"'q001' has more than one row in it.*and so have 1 ot"
    ):
        table_of_rows(twice, "it")
    path = runs.write_run(tmp_path / "twice", [runs.row(1)])
    frame = pl.read_parquet(path / "answers.parquet")
    pl.concat([frame, frame]).write_parquet(path / "answers.parquet")
    with pytest.raises(BadInputError, match="'q001' has more than one row"):
        load_run(path)


def test_gold_that_contradicts_its_kind(runs):
    with pytest.raises(RunDamagedError, match="gold_text"):
        table_of_rows([runs.row(1, gold_text=None)], "it")


def test_rows_may_name_their_game(runs, tmp_path: Path):
    rows = [{**runs.row(n), "game": f"g{n % 2}"} for n in (2, 0, 1)]
    assert table_of_rows(rows, "x").frame["game"].to_list() == ["g0", "g1", "g0"]
    path = runs.write_run(tmp_path / "games", runs.rows("RRR"))
    frame = pl.read_parquet(path / "answers.parquet")
    frame.with_columns(game=pl.lit("g")).write_parquet(path / "answers.parquet")
    assert load_run(path).frame["game"].to_list() == ["g"] * 3
