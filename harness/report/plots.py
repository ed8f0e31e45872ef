"""Figures of played games, from the table of :func:`harness.games.experiment.run_experiment`.

Plain matplotlib: a figure shows itself in a notebook and saves with
``figure.savefig("levels.svg")``.  Needs ``pip install 'hotseat[plots]'``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from harness.errors import BadInputError, MissingError

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_levels", "plot_times"]

# Okabe and Ito's colours, which differ for all kinds of colour vision.  A stage
# has the same one in every figure; neighbours differ in grey, too.
_STAGES = {
    "hear": "#CC79A7",
    "search": "#E69F00",
    "lookup": "#A65E00",
    "fetch": "#F0E442",
    "extract": "#8C8C00",
    "chunk": "#B9E3D6",
    "encode": "#009E73",
    "rerank": "#7FD1B9",
    "prompt": "#333333",
    "generate": "#0072B2",
    "parse": "#56B4E9",
    "wait": "#D55E00",
}
_BARS, _MARK, _REST = "#0072B2", "#D55E00", "#999999"
_INK, _FAINT = "#222222", "#BBBBBB"
_BUDGET_S, _ALLOWED_S = 25.0, 30.0
_UNFINISHED = ("broken off", "stopped")
_MAX_GROUPS = 24
_MAX_BARS = 30
# Stages too short to be seen are drawn together.
_SMALL_S = 0.15


def plot_levels(table: pl.DataFrame, *, ax: Axes | None = None) -> Figure:
    """Draw how often each highest level was reached, 0 to the top; the median is marked.

    ``table`` has one row a game (columns ``level_reached``, ``max_level`` and,
    to tell groups apart, ``overrides``, ``competition`` and ``mode``).  Several
    groups are drawn one below the other, with the same levels.  ``ax`` draws a single
    group into axes that are there.

    Raises :class:`~harness.errors.BadInputError` for a table without games or
    columns, or with more groups than can be read.
    """
    groups = _groups(table, ("level_reached", "max_level"))
    top = int(max(max(_values(p, "max_level") + _values(p, "level_reached")) for _, p in groups))
    figure, axes = _axes(len(groups), ax, each=1.9)
    for one, (name, part) in zip(axes, groups, strict=True):
        levels = _values(part, "level_reached")
        counts = [levels.count(level) for level in range(top + 1)]
        bars = one.bar(range(top + 1), counts, color=_BARS, width=0.8)
        labels = [str(n) if n else "" for n in counts]
        shown = one.bar_label(bars, labels=labels, color=_INK, padding=3)
        for text in shown:  # the median's line stops at a number that stands on it
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
        middle = median(levels)
        one.axvline(middle, color=_MARK, linestyle="--", linewidth=1.5, zorder=0)
        one.set_ylim(0, max(counts) * 1.3)
        one.set_xlim(-0.6, top + 0.6)
        one.set_xticks(range(top + 1))
        one.set_yticks([])
        head = _head(name, len(levels), f", median {middle:g}{_unfinished(part)}")
        one.set_title(head, loc="left", fontsize="medium", color=_INK)
        _plain(one, "bottom")
    axes[-1].set_xlabel("highest level answered right")
    return figure


def plot_times(table: pl.DataFrame, *, ax: Axes | None = None) -> Figure:
    """Draw the mean seconds a question of each game, by stage, against budget and limit.

    With several groups, or more games than can be told apart, each bar is the
    mean over a group's games.  ``table`` has the columns ``t_…_s``.  Errors are
    those of :func:`plot_levels`.  Games without a question are left out.
    """
    columns = [f"t_{stage}_s" for stage in _STAGES]
    if "asked" in table.columns:
        table = table.filter(table["asked"] > 0)  # no question, so no time: null, not zero
    groups = _groups(table, columns)
    if len(groups) == 1 and table.height <= _MAX_BARS:
        part = groups[0][1]
        bars = [(f"game {n}", part[n - 1 : n]) for n in range(1, part.height + 1)]
        title = f"{groups[0][0] or 'Mean seconds a question'}: each game's mean over its questions"
    else:
        bars = [(_head(name, part.height), part) for name, part in groups]
        title = "Mean over games of their mean seconds a question"
    figure, (one,) = _axes(1, ax, each=1.4 + 0.32 * len(bars))
    _stack(one, bars)
    one.set_yticks(range(len(bars)), [name for name, _ in bars])
    one.invert_yaxis()
    for at_s, words in ((_BUDGET_S, "budget"), (_ALLOWED_S, "limit")):
        one.axvline(at_s, color=_INK, linestyle=":", linewidth=1)
        one.annotate(
            f"{words} {at_s:g} s",
            (at_s, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 3),
            textcoords="offset points",
            ha="right" if words == "budget" else "left",
            fontsize="small",
            color=_INK,
        )
    one.set_xlim(0, max(one.get_xlim()[1], _ALLOWED_S * 1.08))
    one.set_xlabel("seconds a question")
    one.set_title(title, loc="left", fontsize="medium", color=_INK, pad=18)
    if ax is None:
        figure.legend(loc="outside lower center", ncols=6, frameon=False, fontsize="small")
    else:
        one.legend(fontsize="small")
    _plain(one, "bottom")
    return figure


def _stack(axes: Axes, bars: Sequence[tuple[str, pl.DataFrame]]) -> None:
    means = {stage: [fmean(_values(part, f"t_{stage}_s")) for _, part in bars] for stage in _STAGES}
    large = [stage for stage in _STAGES if max(means[stage]) >= _SMALL_S]
    small = [stage for stage in _STAGES if stage not in large and max(means[stage]) > 0]
    if small:
        means["other"] = [sum(means[stage][at] for stage in small) for at in range(len(bars))]
    left = [0.0] * len(bars)
    for stage in [*large, *(["other"] if small else [])]:
        values = [float(value) for value in means[stage]]
        axes.barh(
            range(len(bars)),
            values,
            left=left,
            color=_STAGES.get(stage, _REST),
            edgecolor="white",
            linewidth=0.5,
            label=stage if stage != "other" else "all shorter ones",
            height=0.7,
        )
        left = [a + b for a, b in zip(left, values, strict=True)]
    for at, total in enumerate(left):
        axes.annotate(
            f"{total:.1f} s",
            (total, at),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=_INK,
        )


def _groups(table: pl.DataFrame, needed: Sequence[str]) -> list[tuple[str, pl.DataFrame]]:
    """Return the table's parts by name; one part has no name."""
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise BadInputError(
            f"The table lacks the column '{missing[0]}'.",
            remedy="Use one that run_experiment returned.",
        )
    if not table.height:
        raise BadInputError("The table holds no game.", remedy="Play some with run_experiment.")
    kinds = ("overrides", "competition", "mode")
    told = [name for name in kinds if name in table.columns and table[name].n_unique() > 1]
    if not told:
        return [("", table)]
    parts = table.partition_by(told, maintain_order=True, as_dict=True)
    if len(parts) > _MAX_GROUPS:
        raise BadInputError(
            f"The table holds {len(parts)} groups of games, and a figure at most {_MAX_GROUPS}.",
            remedy="Draw a part of it: table.filter(…).",
        )
    return [(_name(told, key), part) for key, part in parts.items()]


def _values(part: pl.DataFrame, column: str) -> list[float]:
    """Return a column's numbers; a stage that never ran took no time."""
    return [float(value or 0.0) for value in part[column].to_list()]


def _name(kinds: Sequence[str], key: Any) -> str:
    values = key if isinstance(key, tuple) else (key,)
    words = []
    for kind, value in zip(kinds, values, strict=True):
        words.append(_settings(value) if kind == "overrides" else str(value))
    return ", ".join(words)


def _settings(overrides: str) -> str:
    """Return changed settings in words: ``retrieval.keep = 60``."""
    try:
        changes = json.loads(overrides)
        return ", ".join(f"{name} = {value}" for name, value in changes.items()) or "defaults"
    except (ValueError, AttributeError):
        return str(overrides)


def _head(name: str, count: int, more: str = "") -> str:
    counted = f"{count} game{'s' * (count != 1)}{more}"
    return f"{name}  ({counted})" if name else counted


def _unfinished(part: pl.DataFrame) -> str:
    """Return words for games that did not end by an answer: they might have come further."""
    count = sum(end in _UNFINISHED for end in part["end"]) if "end" in part.columns else 0
    return f", {count} not played to the end" if count else ""


def _axes(count: int, ax: Axes | None, *, each: float) -> tuple[Figure, list[Axes]]:
    if ax is not None:
        if count != 1:
            raise BadInputError(
                f"The table holds {count} groups of games, and there is one pair of axes.",
                remedy="Leave 'ax' out, or filter the table.",
            )
        figure = ax.get_figure()
        assert figure is not None
        return figure, [ax]  # type: ignore[return-value]
    figure = _figure_class()(figsize=(7.2, 0.6 + each * count), layout="constrained")
    found = figure.subplots(count, 1, sharex=True, squeeze=False)
    return figure, list(found[:, 0])


def _plain(axes: Axes, *sides: str) -> None:
    for side, spine in axes.spines.items():
        spine.set_visible(side in sides)
        spine.set_color(_FAINT)
    axes.tick_params(length=0, colors=_INK)


def _figure_class() -> type[Figure]:
    """Return the kind of figure that we draw: no global state, and it shows itself."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingError(
            "Figures need matplotlib, which is not installed.",
            remedy="pip install 'hotseat[plots]'",
        ) from None

    class GamesFigure(Figure):
        """Saves text as text, and the same bytes each time."""

        def __init__(self, *values: Any, **named: Any) -> None:
            super().__init__(*values, **named)
            FigureCanvasAgg(self)

        def savefig(self, fname: Any, **named: Any) -> None:
            svg = named.get("format") == "svg" or str(fname).lower().endswith(".svg")
            if svg:
                named.setdefault("metadata", {"Date": None})
            named.setdefault("dpi", 150)
            with rc_context({"svg.fonttype": "none", "svg.hashsalt": "hotseat"}):
                super().savefig(fname, **named)

        def _repr_png_(self) -> bytes:
            target = io.BytesIO()
            self.savefig(target, format="png", dpi=110)
            return target.getvalue()

    return GamesFigure
