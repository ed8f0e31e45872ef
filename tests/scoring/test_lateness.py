from __future__ import annotations

import math

from harness.scoring.intervals import wilson
from harness.scoring.lateness import late_rate


def test_late_answers():
    found = late_rate([29.9, 30.0, 30.1, math.inf, None, math.nan], 30.0)
    assert (found.timed, found.late, found.untimed, found.estimate) == (4, 2, 2, 0.5)
    assert (found.lower, found.upper) == (wilson(2, 4).lower, wilson(2, 4).upper)


def test_none():
    found = late_rate([], 30.0)
    assert (found.timed, found.estimate, found.lower, found.upper) == (0, None, 0.0, 1.0)
