"""Experiments: one row a game, settings applied and put back."""

import asyncio
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from harness.errors import SettingError
from harness.games.client import QuizClient
from harness.games.experiment import STAGE_COLUMNS, games_table, run_experiment
from harness.games.login import Credentials
from harness.games.practice import PracticeServer, ServerOptions
from harness.games.records import GameListener
from harness.quiz import Category
from harness.settings import current, override


def helpers():
    name = "hotseat_test_table"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("table.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


table = helpers()


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOTSEAT_PLAY_PAUSE_S", "0")
    with PracticeServer(
        table.make_questions(3),
        database=tmp_path / "games.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=1),
        synthesiser=None,
    ) as server:

        def run(category, games=1, *, player=None, seen=None, **named):
            def load(settings):
                if seen is not None:
                    seen.append(settings)
                return player or table.Player()

            quiz = QuizClient(server.url, Credentials("ada", "password"), min_interval_s=0)
            return run_experiment(
                category,
                games=games,
                quiz=quiz,
                server=server.url,
                load_contestant=load,
                search=False,
                **named,
            )

        yield run


def test_one_row_a_game(experiment):
    found = experiment(Category.MATHS, 3, player=table.Player({5: "wrong"}))
    assert found.height == 3
    assert found["level_reached"].to_list() == [3, 1, 3]
    assert found["end"].to_list() == ["won", "wrong answer", "won"]
    assert found["right"].to_list() == [3, 1, 3]
    assert found["judged"].to_list() == [3, 2, 3]
    assert found["prize"].to_list() == [300, 100, 300]
    assert found["category"].unique().to_list() == ["maths"]
    assert found["t_generate_s"].null_count() == 0
    assert found["t_rerank_s"].null_count() == 3  # never ran
    assert (found["question_s"] > 0).all()
    assert (found["seconds"] > 0).all()
    assert found["overrides"].to_list() == ["{}"] * 3
    assert found.schema == games_table([]).schema  # the same for no games at all
    assert set(STAGE_COLUMNS) <= set(found.columns)


def test_overrides_hold_for_these_games_and_are_put_back(experiment):
    before = current().flat()
    seen = []
    found = experiment("news", overrides={"retrieval.keep": 60}, seen=seen)
    assert seen[0].retrieval.keep == 60
    assert json.loads(found["overrides"][0]) == {"retrieval.keep": 60}
    assert current().flat() == before
    with pytest.raises(RuntimeError):
        experiment(
            "news", overrides={"retrieval.keep": 61}, player=Broken(), seen=seen, listener=None
        )
    assert current().flat() == before


class Broken:
    """Can't even be closed."""

    def play(self, question, transport, trace):
        raise ValueError("no")

    def close(self):
        raise RuntimeError("no")


def test_an_enclosing_override_counts(experiment):
    seen = []
    with override({"retrieval.keep": 50, "engine.threads": 1}):
        found = experiment("news", overrides={"retrieval.keep": 60}, seen=seen)
    assert (seen[0].retrieval.keep, seen[0].engine.threads) == (60, 1)
    assert json.loads(found["overrides"][0]) == {"retrieval.keep": 60, "engine.threads": 1}


def test_an_unknown_name_is_refused_before_anything_is_loaded(experiment):
    seen = []
    with pytest.raises(SettingError, match=r"Did you mean 'retrieval\.keep'"):
        experiment("news", overrides={"retrieval.kep": 60}, seen=seen)
    assert seen == []


def test_it_works_in_a_notebook_whose_loop_is_running(experiment):
    async def cell():
        return experiment("news")

    assert asyncio.run(cell())["end"].to_list() == ["won"]


def test_tables_can_be_put_together(experiment):
    both = pl.concat([experiment("news"), experiment("news", overrides={"retrieval.keep": 60})])
    assert both["overrides"].n_unique() == 2


def test_problems_are_warnings(experiment):
    class Full(table.Player):
        def play(self, question, transport, trace):
            raise MemoryError

    class Loud:
        def __getattr__(self, name):
            raise ValueError("broken display")

    with pytest.warns(UserWarning, match="Loud failed and was switched off"):
        experiment("news", listener=Loud())


class Interrupting(GameListener):
    """Presses Ctrl-C when the second question of the second game is asked."""

    def __init__(self):
        self.game = 0

    def planned(self, plan):
        self.game = plan.number

    def asked(self, record, question, left_s):
        if (self.game, question.level) == (2, 2):
            os.kill(os.getpid(), signal.SIGINT)


def check_interrupted(experiment):
    with pytest.warns(UserWarning, match="Interrupted after 2 of 5 games"):
        found = experiment("news", 5, listener=Interrupting())
    assert found["end"].to_list() == ["won", "stopped"]
    assert found["level_reached"].to_list() == [3, 1]


def test_interrupted_the_rows_so_far_are_returned(experiment):
    check_interrupted(experiment)


def test_interrupted_in_a_notebook_the_rows_so_far_are_returned(experiment):
    async def cell():
        # A notebook's kernel puts Python's own handler in while a cell runs.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            check_interrupted(experiment)
        finally:
            signal.signal(signal.SIGINT, before)

    asyncio.run(cell())


@pytest.mark.parametrize("value", ["60", np.int64(60), 60.0])
def test_a_value_is_kept_as_it_was_understood(experiment, value):
    found = experiment("news", overrides={"retrieval.keep": value})
    assert found["overrides"].to_list() == ['{"retrieval.keep": 60}']


def test_a_login_in_an_address_is_not_kept(experiment):
    found = experiment("news", overrides={"search.url": "http://me:secret@127.0.0.1:8080"})
    assert json.loads(found["overrides"][0]) == {"search.url": "http://127.0.0.1:8080"}
