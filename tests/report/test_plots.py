"""Figures of games: what is drawn is what the table says."""

import io
import json
from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import BadInputError, MissingError
from harness.games.experiment import games_table
from harness.games.records import End, GameRecord, PlayedQuestion
from harness.quiz import Basis, Category
from harness.report import plots
from harness.report.plots import plot_levels, plot_times

pytest.importorskip("matplotlib")
import polars as pl


def game(level, seconds=(9.0,), competition="Maths"):
    questions = tuple(
        PlayedQuestion(
            place,
            "g",
            "?",
            ("a", "b"),
            chosen="a",
            correct=True,
            basis=Basis.MODEL,
            seconds={"search": 1.0, "generate": took, "parse": 0.01},
            taken_s=took + 1,
        )
        for place, took in enumerate(seconds, start=1)
    )
    return GameRecord(
        "http://s",
        "ada",
        1,
        3,
        competition,
        Category.MATHS,
        "text",
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:01:00+00:00",
        15,
        level,
        0.0,
        End.WRONG,
        questions,
    )


def heights(axes):
    return [round(bar.get_height()) for bar in axes.patches]


@settings(deadline=None)  # the first figure of a process loads fonts
@given(st.lists(st.integers(0, 15), min_size=1, max_size=30))
def test_the_bars_count_the_games(levels):
    figure = plot_levels(games_table([game(level) for level in levels]))
    (axes,) = figure.axes
    assert heights(axes) == [levels.count(level) for level in range(16)]
    assert axes.get_title(loc="left").startswith(f"{len(levels)} game")


def test_groups_are_drawn_one_below_the_other_with_their_names():
    table = pl.concat(
        [
            games_table([game(2), game(4)]),
            games_table([game(9)], overrides={"retrieval.keep": 60}),
        ]
    )
    figure = plot_levels(table)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [
        "defaults  (2 games, median 3)",
        "retrieval.keep = 60  (1 game, median 9)",
    ]
    assert [sum(heights(axes)) for axes in figure.axes] == [2, 1]


def test_times_are_means_over_a_games_questions_by_stage():
    figure = plot_times(games_table([game(2, (8.0, 10.0)), game(1, (4.0,))]))
    (axes,) = figure.axes
    widths = {}
    for container in axes.containers:
        widths[container.get_label()] = [bar.get_width() for bar in container]
    assert widths["generate"] == [9.0, 4.0]
    assert widths["search"] == [1.0, 1.0]
    assert widths["all shorter ones"] == pytest.approx([0.01, 0.01])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["game 1", "game 2"]
    words = [text.get_text() for text in axes.texts]
    assert {"budget 25 s", "limit 30 s", "10.0 s", "5.0 s"} <= set(words)


def test_many_games_become_their_mean():
    games = [game(1, (float(n),)) for n in range(1, 41)]
    (axes,) = plot_times(games_table(games)).axes
    (bars,) = (one for one in axes.containers if one.get_label() == "generate")
    assert [bar.get_width() for bar in bars] == [pytest.approx(fmean(range(1, 41)))]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["40 games"]


def test_a_figure_saves_the_same_bytes_with_text_as_text(tmp_path):
    table = games_table([game(level) for level in (1, 4, 15)])
    saved = []
    for name in ("one.svg", "two.svg"):
        plot_levels(table).savefig(tmp_path / name)
        saved.append((tmp_path / name).read_bytes())
    assert saved[0] == saved[1]
    assert b"highest level answered right</text>" in saved[0]
    target = io.BytesIO()
    plot_times(table).savefig(target, format="png")
    assert target.getvalue().startswith(b"\x89PNG")


def test_a_figure_shows_itself_in_a_notebook():
    figure = plot_levels(games_table([game(3)]))
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_axes_that_are_there_can_be_drawn_into():
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    assert plot_levels(games_table([game(3)]), ax=axes) is figure
    assert plot_times(games_table([game(3)]), ax=figure.add_subplot()) is figure
    two = pl.concat([games_table([game(3)]), games_table([game(3)], overrides={"a": 1})])
    with pytest.raises(BadInputError, match="2 groups of games"):
        plot_levels(two, ax=axes)


@pytest.mark.parametrize("plot", [plot_levels, plot_times])
def test_tables_that_can_not_be_drawn(plot):
    with pytest.raises(BadInputError, match="holds no game"):
        plot(games_table([]))
    with pytest.raises(BadInputError, match="lacks the column"):
        plot(pl.DataFrame({"a": [1]}))
    many = pl.concat([games_table([game(3, competition=f"c{n}")]) for n in range(30)])
    with pytest.raises(BadInputError, match="30 groups"):
        plot(many)


def test_odd_overrides_are_shown_as_they_are():
    table = games_table([game(3)]).with_columns(overrides=pl.lit("["))
    other = games_table([game(3)]).with_columns(overrides=pl.lit(json.dumps([1])))
    titles = [axes.get_title(loc="left") for axes in plot_levels(pl.concat([table, other])).axes]
    assert [title.partition("  ")[0] for title in titles] == ["[", "[1]"]


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    import builtins

    real = builtins.__import__

    def missing(name, *values, **named):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *values, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingError, match=r"hotseat\[plots\]"):
        plots._figure_class()


def test_a_game_without_a_question_takes_no_part_in_the_times():
    none = game(0, seconds=())
    two = games_table([game(3, (9.0,), "News"), game(3, (9.0,), "Maths"), none])
    names = [text.get_text() for text in plot_times(two).axes[0].get_yticklabels()]
    assert names == ["News  (1 game)", "Maths  (1 game)"]
    with pytest.raises(BadInputError, match="no game"):
        plot_times(games_table([none]))


def test_games_not_played_to_the_end_are_told():
    stopped = replace(game(2), end=End.STOPPED)
    figure = plot_levels(games_table([game(3), stopped]))
    assert "1 not played to the end" in figure.axes[0].get_title(loc="left")
