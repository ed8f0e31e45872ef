from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError
from harness.quiz import (
    Category,
    Gold,
    GoldKind,
    Option,
    ParseStep,
    Question,
    longest_options,
    normalise_text,
    question_key,
)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("  Who\n wrote\tit? ", "who wrote it?"),
        ("ﬁne", "fine"),
        ("STRASSE", "straße"),
        ("e\u0301", "é"),
    ],
)
def test_texts_that_read_the_same_are_equal(text, same):
    assert normalise_text(text) == normalise_text(same)


@pytest.mark.parametrize(
    ("one", "other"), [("-3", "3"), ("résumé", "resume"), ("1.0", "10"), ("who?", "who")]
)
def test_what_options_differ_in_is_kept(one, other):
    assert normalise_text(one) != normalise_text(other)


@given(st.text())
def test_normalising_twice_changes_nothing_more_about_blanks(text):
    once = normalise_text(text)
    assert once == once.strip()
    assert "  " not in once


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Gold(), Gold(), Gold()),
        (Gold("a"), Gold(), Gold("a")),
        (Gold(), Gold("a", ("b",)), Gold("a", ("b",))),
        (Gold("a"), Gold("b"), Gold("a")),
        (Gold(None, ("b", "c")), Gold(None, ("d", "b")), Gold(None, ("b", "c", "d"))),
        (Gold("a", ("c",)), Gold(None, ("b",)), Gold("a", ("c", "b"))),
    ],
)
def test_what_two_know_of_one_question_is_united(one, other, both):
    assert one.united(other) == both
    assert both.united(other) == both


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("news", Category.NEWS),
        (" Ancient History and  Politics", Category.HISTORY),
        ("Mathematics", Category.MATHS),
        ("Philosophy and Psychology", Category.PHILOSOPHY),
    ],
)
def test_categories_and_their_aliases(name, category):
    assert Category.parse(name) is category


def test_an_unknown_category_offers_the_nearest():
    with pytest.raises(BadInputError, match="Did you mean 'history'") as caught:
        Category.parse("histroy")
    assert "entertainment" in caught.value.remedy


def test_gold_kinds():
    assert Gold("a").kind is GoldKind.KNOWN
    assert Gold("a", ("b",)).kind is GoldKind.KNOWN
    assert Gold(refused=("b",)).kind is GoldKind.PARTIAL
    assert Gold().kind is GoldKind.UNKNOWN


@pytest.mark.parametrize(
    ("gold", "answered", "verdict"),
    [
        (Gold("a"), "a", True),
        (Gold("a"), "b", False),
        (Gold("a"), "A", False),
        (Gold("a"), None, False),
        (Gold(refused=("b",)), "b", False),
        (Gold(refused=("b",)), "a", None),
        (Gold(refused=("b",)), None, None),
        (Gold(), "a", None),
        (Gold(), None, None),
    ],
)
def test_only_what_is_known_is_judged(gold, answered, verdict):
    options = (Option(0, "a"), Option(1, "b"))
    question = Question("q", Category.NEWS, "?", options, gold)
    assert question.judge(answered) is verdict


def test_the_key_depends_on_category_and_stem_only():
    options = (Option(0, "a"), Option(1, "b"))
    question = Question("q", Category.NEWS, "Who  Won?", options, Gold("a"), 3)
    assert question.key == question_key(Category.NEWS, "who won?")
    assert question.key != question_key(Category.HISTORY, "who won?")
    assert question.key != question_key(Category.NEWS, "who won")
    # Pinned: recordings of different times must agree on it.
    assert question.key == "d1ee5f18d5970819"


def test_longest_options_keeps_ties():
    options = (Option(0, "ab"), Option(1, "abc"), Option(2, "xyz"))
    assert longest_options(options) == options[1:]


def test_fallback_steps():
    assert {step for step in ParseStep if step.is_fallback} == {
        ParseStep.LOGPROB,
        ParseStep.LOWEST_ID,
    }
