"""What a comparison says, in sentences that claim no more than its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from harness.scoring.compare import Comparison
from harness.scoring.paired import PairedResult

__all__ = ["caveats", "points", "verdict"]


def points(share: float, *, signed: bool = True) -> str:
    """Return a difference of shares in points: ``+2.3``; never ``-0.0``."""
    rounded = round(100 * share, 1) + 0.0
    return f"{rounded:+.1f}" if signed and rounded else f"{rounded:.1f}"


def verdict(comparison: Comparison) -> str:
    """Return what can be said, in one to three plain sentences."""
    return " ".join(_sentences(comparison))


def caveats(comparison: Comparison) -> list[str]:
    """Return what a reader has to know beside the verdict, one sentence each."""
    return [*_left_out(comparison), *_conditions(comparison)]


def _sentences(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.names
    result = comparison.overall
    if not comparison.questions:
        yield f"Nothing can be said: {a} and {b} have no question in common."
        return
    if comparison.same_results:
        yield f"{a} and {b} are the same: their results digests agree, so every answer does."
        return
    if not result.n:
        yield (
            "Nothing can be said about right and wrong: the right answer is known for none of "
            f"the {_questions(comparison.questions)} that {a} and {b} share."
        )
        return
    level = 1 - comparison.design.confidence
    if not comparison.answers_differ:
        yield f"{a} and {b} gave the same answer to every question that they share."
    elif result.shown(level):
        yield _shown(comparison)
    else:
        yield f"No difference was shown: {_counts(comparison)}."
    if not result.shown(level):
        yield _unseen(result)
    elif result.lower > 0:
        return  # that no loss is likely goes without saying
    yield _margin(comparison)


def _shown(comparison: Comparison) -> str:
    a, b = comparison.names
    result = comparison.overall
    more = "more" if (result.difference or 0) > 0 else "fewer"
    return f"{b} answers {more} of such questions right than {a}: {_counts(comparison)}."


def _counts(comparison: Comparison) -> str:
    a, b = comparison.names
    result = comparison.overall
    confidence = f"{100 * comparison.design.confidence:g} %"
    return (
        f"{b} got {result.right_b:,} and {a} {result.right_a:,} of the same "
        f"{_questions(result.n)}, "
        f"{points(result.difference or 0.0)} points ({confidence} interval "
        f"{points(result.lower)} to {points(result.upper)}; {_p(result)})"
    )


def _p(result: PairedResult) -> str:
    p, after = (result.p, "") if result.p_adjusted is None else (result.p_adjusted, " after Holm")
    return f"p < 0.001{after}" if p < 0.001 else f"p = {p:.3f}{after}"


def _unseen(result: PairedResult) -> str:
    if result.detectable is None:
        return f"{_questions(result.n).capitalize()} can't show any difference, however large."
    return (
        f"With {_these(result.n)} a true change smaller than "
        f"{points(result.detectable, signed=False)} points would go unnoticed "
        "in at least one comparison of five."
    )


def _margin(comparison: Comparison) -> str:
    margin = f"{100 * comparison.design.margin:g} points"
    match comparison.overall.noninferior:
        case "shown":
            return f"A loss of more than {margin} is excluded."
        case "refuted":
            return f"The loss is more than the {margin} that would be put up with."
        case "open":
            return f"A loss of more than {margin} is not excluded."


def _left_out(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.names
    if comparison.two_truths:
        yield (
            f"{_questions(comparison.two_truths)} left out of the test: "
            "the two runs hold different truths for the same question."
        )
    if comparison.open_truth or comparison.two_truths:
        unknown = comparison.open_truth + comparison.two_truths
        yield (
            f"Over all {_questions(comparison.questions)} the difference {_bounds(comparison)} "
            f"points, whatever the truth of the {unknown:,} that "
            f"{'is' if unknown == 1 else 'are'} not in the test."
        )
    for name, alone in ((a, comparison.pairing.only_a), (b, comparison.pairing.only_b)):
        if alone.height:
            yield f"{_questions(alone.height)} of {name} without a partner, in no number here."
    for name, run in ((a, comparison.a), (b, comparison.b)):
        missing = run.expected - run.frame.height
        if missing > 0:
            yield f"{_questions(missing)} that {name} was to play have no row."


def _bounds(comparison: Comparison) -> str:
    low, high = points(comparison.bound_low), points(comparison.bound_high)
    return f"is {low}" if low == high else f"lies between {low} and {high}"


def _conditions(comparison: Comparison) -> Iterator[str]:
    first, second = comparison.a.manifest, comparison.b.manifest
    result = comparison.overall
    if result.clusters is not None:
        kind = "games" if comparison.pairing.clustered == "game" else "different questions"
        yield (
            f"The {_questions(result.n)} come from {result.clusters} {kind}: "
            "those of one are counted as belonging together."
        )
    if first.get("corpus") != second.get("corpus"):
        yield "The recordings differ, so a difference may be theirs and not the agent's."
    if first.get("machine") != second.get("machine"):
        yield "The machines differ, so a ratio of seconds may be theirs and not the agent's."


def _questions(number: int) -> str:
    return f"{number:,} question{'' if number == 1 else 's'}"


def _these(number: int) -> str:
    return "this one question" if number == 1 else f"these {_questions(number)}"
