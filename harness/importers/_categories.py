"""Which of the six categories a foreign topic belongs to.  One table a source."""

from __future__ import annotations

from harness.errors import BadInputError
from harness.quiz import Category, normalise_text

__all__ = ["MMLU", "OPEN_TRIVIA_DB", "OPEN_TRIVIA_QA", "own_category", "topic_category"]

_ENTERTAINMENT, _HISTORY, _SCIENCE = Category.ENTERTAINMENT, Category.HISTORY, Category.SCIENCE
_MATHS, _PHILOSOPHY = Category.MATHS, Category.PHILOSOPHY

# Left out, because they fit none of the six: General Knowledge, Geography,
# Sports, Vehicles, Art.
OPEN_TRIVIA_DB: dict[str, Category] = {
    "entertainment: books": _ENTERTAINMENT,
    "entertainment: film": _ENTERTAINMENT,
    "entertainment: music": _ENTERTAINMENT,
    "entertainment: musicals & theatres": _ENTERTAINMENT,
    "entertainment: television": _ENTERTAINMENT,
    "entertainment: video games": _ENTERTAINMENT,
    "entertainment: board games": _ENTERTAINMENT,
    "entertainment: japanese anime & manga": _ENTERTAINMENT,
    "entertainment: cartoon & animations": _ENTERTAINMENT,
    "entertainment: comics": _ENTERTAINMENT,
    "celebrities": _ENTERTAINMENT,
    "history": _HISTORY,
    "politics": _HISTORY,
    "mythology": _HISTORY,
    "science & nature": _SCIENCE,
    "science: computers": _SCIENCE,
    "science: gadgets": _SCIENCE,
    "animals": _SCIENCE,
    "science: mathematics": _MATHS,
}

# By the name of the file.  Left out: brain-teasers, for-kids, general,
# geography, hobbies, humanities, newest, people, rated, religion-faith, sports, world.
OPEN_TRIVIA_QA: dict[str, Category] = {
    "animals": _SCIENCE,
    "science-technology": _SCIENCE,
    "history": _HISTORY,
    "celebrities": _ENTERTAINMENT,
    "entertainment": _ENTERTAINMENT,
    "literature": _ENTERTAINMENT,
    "movies": _ENTERTAINMENT,
    "music": _ENTERTAINMENT,
    "television": _ENTERTAINMENT,
    "video-games": _ENTERTAINMENT,
}

# By the name of the file, without _dev, _val, _test.  Left out: business, law,
# health administration, geography, religions, sexuality, sociology, economics.
MMLU: dict[str, Category] = {
    **dict.fromkeys(
        (
            "abstract_algebra",
            "college_mathematics",
            "elementary_mathematics",
            "high_school_mathematics",
            "high_school_statistics",
        ),
        _MATHS,
    ),
    **dict.fromkeys(
        (
            "anatomy",
            "astronomy",
            "clinical_knowledge",
            "college_biology",
            "college_chemistry",
            "college_computer_science",
            "college_medicine",
            "college_physics",
            "computer_security",
            "conceptual_physics",
            "electrical_engineering",
            "high_school_biology",
            "high_school_chemistry",
            "high_school_computer_science",
            "high_school_physics",
            "human_aging",
            "machine_learning",
            "medical_genetics",
            "nutrition",
            "virology",
        ),
        _SCIENCE,
    ),
    **dict.fromkeys(
        (
            "high_school_european_history",
            "high_school_government_and_politics",
            "high_school_us_history",
            "high_school_world_history",
            "prehistory",
            "us_foreign_policy",
        ),
        _HISTORY,
    ),
    **dict.fromkeys(
        (
            "formal_logic",
            "high_school_psychology",
            "logical_fallacies",
            "moral_disputes",
            "moral_scenarios",
            "philosophy",
            "professional_psychology",
        ),
        _PHILOSOPHY,
    ),
}


def topic_category(table: dict[str, Category], topic: str) -> Category | None:
    """Return the category of a topic: by ``table``, else by our own names."""
    return table.get(normalise_text(topic)) or own_category(topic)


def own_category(topic: str) -> Category | None:
    """Return the category that carries this name itself, aliases included."""
    try:
        return Category.parse(topic)
    except BadInputError:
        return None
