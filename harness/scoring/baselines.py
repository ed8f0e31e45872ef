"""What guessing would score on the same questions, so that a score can be read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.quiz import Option, longest_options
from harness.scoring._rows import ResultRow, Rows, is_known, read_rows
from harness.scoring.intervals import wilson

__all__ = ["Baseline", "Baselines", "baselines"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline's accuracy over the ``n`` questions of known gold.

    ``lower`` to ``upper`` is a 95 % Wilson interval, ``None`` where the
    estimate is an expectation and not a sampled proportion.
    """

    n: int
    estimate: float | None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class Baselines:
    """The two baselines that stand beside every accuracy."""

    random: Baseline
    longest_option: Baseline


def baselines(rows: Rows) -> Baselines:
    """Return what *random* and *longest option* would score on ``rows``.

    *Random* is an expectation: the mean share of options that carry the right
    text.  *Longest option* takes the option of most characters; on a tie the
    credit is shared.
    """
    known = [row for row in read_rows(rows) if is_known(row)]
    n = len(known)
    if n == 0:
        return Baselines(Baseline(0, None), Baseline(0, None))
    chance = math.fsum(map(_random_credit, known)) / n
    longest = min(math.fsum(map(_longest_credit, known)), float(n))
    interval = wilson(longest, n)
    return Baselines(Baseline(n, chance), Baseline(n, longest / n, interval.lower, interval.upper))


def _random_credit(row: ResultRow) -> float:
    options: list[str] = row["options"]
    return options.count(row["gold_text"]) / len(options)


def _longest_credit(row: ResultRow) -> float:
    options = [Option(place, text) for place, text in enumerate(row["options"])]
    longest = longest_options(options)
    return [option.text for option in longest].count(row["gold_text"]) / len(longest)
