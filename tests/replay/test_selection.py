from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError
from harness.quiz import Category, Option, Question
from harness.replay.selection import choose, shuffled


def make(categories: list[Category]) -> list[Question]:
    options = (Option(0, "a"), Option(1, "b"))
    return [
        Question(f"q{place}", category, f"{place}?", options)
        for place, category in enumerate(categories)
    ]


lists = st.lists(st.sampled_from(Category), min_size=1, max_size=40).map(make)


@given(lists, st.integers(1, 50))
def test_a_limit_is_spread_evenly_and_keeps_file_order(questions, limit):
    chosen = choose(questions, limit=limit)
    assert len(chosen) == min(limit, len(questions))
    places = [questions.index(question) for question in chosen]
    assert places == sorted(places)
    there = Counter(question.category for question in questions)
    took = Counter(question.category for question in chosen)
    most = max(took.values())
    for category, count in there.items():
        # Nobody is more than one question behind, unless it has no more.
        assert took[category] >= min(count, most - 1)
        first = [q for q in questions if q.category is category][: took[category]]
        assert [q for q in chosen if q.category is category] == first


def test_ties_go_to_the_category_that_comes_first():
    news, maths = Category.NEWS, Category.MATHS
    questions = make([maths, news, news, maths, maths])
    assert [q.id for q in choose(questions, limit=3)] == ["q0", "q1", "q3"]


def test_categories():
    news, maths = Category.NEWS, Category.MATHS
    questions = make([maths, news, news, maths])
    assert [q.id for q in choose(questions, categories=[news])] == ["q1", "q2"]
    with pytest.raises(BadInputError, match="no question of category history"):
        choose(questions, categories=[Category.HISTORY])


@given(lists, st.integers(0, 2**32))
def test_shuffling_keeps_the_questions(questions, seed):
    order = shuffled(questions, seed)
    assert sorted(q.id for q in order) == sorted(q.id for q in questions)
    assert order == shuffled(questions, seed)


def test_seeds_give_other_orders():
    questions = make(list(Category) * 3)
    assert len({shuffled(questions, seed) for seed in range(5)}) == 5
