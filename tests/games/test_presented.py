"""Options in one order, whatever the serving."""

from hypothesis import given
from hypothesis import strategies as st

from harness.games.presented import present
from harness.quiz import Answer, Basis, Category, Option, ParseStep

texts = st.lists(st.text(max_size=8), min_size=1, max_size=8)


@given(texts, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_serving_and_ids_lead_back(options, shuffle):
    served = list(enumerate(options))
    other = list(options)
    shuffle.shuffle(other)
    first = present(Category.NEWS, "Which?", tuple(served), level=1)
    second = present(Category.NEWS, "Which?", tuple(enumerate(other)), level=2)
    assert first.question.options == second.question.options
    assert first.question.id == second.question.id
    assert sorted(first.served_ids) == list(range(len(options)))
    for option in first.question.options:
        assert options[first.served_id(option)] == option.text
        assert other[second.served_id(option)] == option.text
        assert first.check(Answer(option, Basis.MODEL, ParseStep.TEXT)) == option


def test_the_fallback_is_the_longest_option():
    served = ((0, "no"), (1, "the longest of all"), (2, "yes"), (3, "perhaps"))
    presented = present(Category.NEWS, "Which?", served, level=1)
    assert presented.fallback().text == "the longest of all"
    assert presented.served_id(presented.fallback()) == 1


def test_an_answer_that_is_not_offered_is_refused():
    import pytest

    presented = present(Category.NEWS, "Which?", ((0, "a"), (1, "b")), level=1)
    with pytest.raises(ValueError, match="not among the options"):
        presented.check(Answer(Option(0, "c"), Basis.MODEL, ParseStep.TEXT))
