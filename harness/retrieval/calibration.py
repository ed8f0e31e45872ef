"""The scale of a reranker that nobody has measured: read off a few built-in pairs.

Twelve questions, each with a passage that answers it.  ``noise`` is the median
score of a question with the passages of two other questions, ``related`` the
median with its own, and::

    floor = noise + (related − noise) / 2

Half way, because that is where the floors lie that were chosen by measuring on
real pages, for the three scales that need no model of their own;
``docs/rerankers.md`` has the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

__all__ = ["PAIRS", "Calibration", "Pair", "calibrate", "join"]

_SHARE = 1 / 2
_OTHERS = (3, 7)  # how many places further the passages of other questions stand
_DECIMALS = 3  # enough for a threshold, and the same on every machine


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, the answers to choose from, and a passage that answers it."""

    question: str
    options: tuple[str, ...]
    passage: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured; ``told_apart`` of ``questions`` had their own passage first."""

    noise: float
    related: float
    floor: float
    told_apart: int
    questions: int

    @property
    def usable(self) -> bool:
        """Whether the scores say anything about passages and questions."""
        return self.related > self.noise and 3 * self.told_apart >= 2 * self.questions

    def describe(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "noise": self.noise,
            "related": self.related,
            "floor": self.floor,
            "told_apart": f"{self.told_apart}/{self.questions}",
        }


def join(question: str, options: Sequence[str]) -> str:
    """Return a question with its options as one text."""
    return " ".join([question, *options])


def calibrate(score: Callable[[str, str], float], *, joined: bool = False) -> Calibration:
    """Measure the scale of ``score(query, passage)``, with the options in the query or without."""
    related: list[float] = []
    unrelated: list[float] = []
    told_apart = 0
    for place, pair in enumerate(PAIRS):
        query = join(pair.question, pair.options) if joined else pair.question
        own = score(query, pair.passage)
        others = [score(query, PAIRS[(place + by) % len(PAIRS)].passage) for by in _OTHERS]
        related.append(own)
        unrelated.extend(others)
        told_apart += own > max(others)
    noise, near = median(unrelated), median(related)
    return Calibration(
        noise=round(noise, _DECIMALS),
        related=round(near, _DECIMALS),
        floor=round(noise + (near - noise) * _SHARE, _DECIMALS),
        told_apart=told_apart,
        questions=len(PAIRS),
    )


PAIRS: tuple[Pair, ...] = (
    Pair(
        "Which planet of the solar system has the most mass?",
        ("Saturn", "Jupiter", "Neptune", "Earth"),
        "Jupiter is by far the heaviest planet: it has more than twice the mass of all the "
        "other planets of the solar system together, and four large moons.",
    ),
    Pair(
        "Who painted the ceiling of the Sistine Chapel?",
        ("Raphael", "Titian", "Michelangelo", "Leonardo da Vinci"),
        "Pope Julius II gave the work on the chapel's ceiling to Michelangelo, who painted its "
        "frescoes between 1508 and 1512, standing on a scaffold of his own design.",
    ),
    Pair(
        "What gas do plants take in for photosynthesis?",
        ("Oxygen", "Carbon dioxide", "Nitrogen", "Hydrogen"),
        "In sunlight a leaf takes carbon dioxide from the air and water from the roots, builds "
        "sugar from the two and gives off oxygen.",
    ),
    Pair(
        "In which country is Mount Kilimanjaro?",
        ("Kenya", "Uganda", "Tanzania", "Ethiopia"),
        "Kilimanjaro, the highest mountain of Africa at 5,895 metres, rises in the north of "
        "Tanzania, not far from the border.",
    ),
    Pair(
        "How many players of one team are on the field in football?",
        ("Nine", "Ten", "Eleven", "Twelve"),
        "A football team begins a match with eleven players on the pitch, one of whom keeps the "
        "goal; with fewer than seven a match is called off.",
    ),
    Pair(
        "When did the Berlin Wall fall?",
        ("1961", "1979", "1989", "1991"),
        "On the evening of 9 November 1989 the crossings in Berlin were opened, and people from "
        "both parts of the city climbed the wall that had divided it since 1961.",
    ),
    Pair(
        "Which instrument measures the pressure of the air?",
        ("Thermometer", "Barometer", "Hygrometer", "Odometer"),
        "A barometer shows how strongly the atmosphere presses on its surroundings; a falling "
        "reading often means that rain is near.",
    ),
    Pair(
        "What is the main ingredient of hummus?",
        ("Chickpeas", "Lentils", "Aubergines", "Rice"),
        "For hummus, cooked chickpeas are mashed and stirred with sesame paste, lemon juice and "
        "garlic, and served with warm flatbread.",
    ),
    Pair(
        "Who wrote the novel Frankenstein?",
        ("Jane Austen", "Bram Stoker", "Mary Shelley", "Emily Brontë"),
        "Mary Shelley was eighteen when she began the story of Victor Frankenstein and his "
        "creature, which was printed without her name in 1818.",
    ),
    Pair(
        "Which river flows through Vienna and Budapest?",
        ("Rhine", "Elbe", "Danube", "Vistula"),
        "The Danube rises in the Black Forest and passes four capitals, among them Vienna, "
        "Bratislava and Budapest, on its way to the Black Sea.",
    ),
    Pair(
        "What is the largest organ of the human body?",
        ("Liver", "Skin", "Lungs", "Brain"),
        "The skin covers nearly two square metres in an adult and weighs several kilograms, "
        "which makes it the body's largest organ.",
    ),
    Pair(
        "Which chess piece can move only diagonally?",
        ("Rook", "Knight", "Bishop", "King"),
        "A bishop travels along the diagonals of the board for as many squares as are free, so "
        "it never leaves the colour it starts on.",
    ),
)
