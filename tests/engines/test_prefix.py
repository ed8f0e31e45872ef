"""The prompt-cache rule against a llama.cpp made of strings: no order of questions matters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.engines._prefix import PrefixSlots
from harness.errors import EngineError


class Llama:
    """A server whose tokens are letters.

    It reuses the longest common beginning, but never the whole prompt.
    ``history`` tells of each prompt in which pieces it was evaluated: those
    are what the digits of a result depend on.
    """

    def __init__(self, slots: int) -> None:
        self.slots: list[list[str]] = [[] for _ in range(slots)]
        self.broken = False
        self.failing = 0

    def __call__(self, request):
        if self.failing:
            self.failing -= 1
            raise EngineError("The server broke off.")
        slot, prompt = request["id_slot"], request["prompt"]
        pieces = self.slots[slot]
        kept = common("".join(pieces), prompt) if request["cache_prompt"] else 0
        kept = min(kept, len(prompt) - 1)
        if self.broken:
            kept = max(0, kept - 1)
        self.slots[slot] = [*shorten(pieces, kept), prompt[kept:]]
        usage = {"prompt_tokens": len(prompt), "prompt_tokens_details": {"cached_tokens": kept}}
        return {"usage": usage, "pieces": tuple(self.slots[slot])}


def common(one: str, two: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b),
        min(len(one), len(two)),
    )


def shorten(pieces: list[str], size: int) -> list[str]:
    kept = []
    for piece in pieces:
        if size <= 0:
            break
        kept.append(piece[:size])
        size -= len(piece)
    return kept


FIXED = ["alpha|", "alps|", "beta|", "", "gamma|"]


def ask(slots: PrefixSlots, fixed: str, question: str):
    return slots.send(fixed, {"prompt": fixed + question})["pieces"]


@given(
    count=st.integers(1, 4),
    order=st.lists(
        st.tuples(st.sampled_from(FIXED), st.sampled_from(["a?", "ab?", "x"])), max_size=12
    ),
    noise=st.lists(
        st.tuples(st.integers(0, 3), st.text("alph|?", min_size=1, max_size=8)), max_size=12
    ),
)
def test_every_prompt_is_evaluated_in_the_same_pieces_whatever_came_before(count, order, noise):
    llama = Llama(count)
    slots = PrefixSlots(llama, slots=count)
    for step, (fixed, question) in enumerate(order):
        expected = (fixed[:-1], fixed[-1], question) if fixed else (question,)
        assert ask(slots, fixed, question) == expected
        if step < len(noise):  # somebody else uses the server in between
            slot, prompt = noise[step]
            llama({"id_slot": slot % count, "prompt": prompt, "cache_prompt": True})


def test_a_fixed_part_is_evaluated_once():
    llama = Llama(3)
    seen = []
    slots = PrefixSlots(lambda r: seen.append(r["cache_prompt"]) or llama(r), slots=3)
    for _ in range(5):
        ask(slots, "alpha|", "x")
    assert seen.count(False) == 1


def test_the_loose_slot_is_never_one_of_a_fixed_part():
    llama = Llama(2)
    slots = PrefixSlots(llama, slots=2)
    ask(slots, "alpha|", "x")
    ask(slots, "", "loose")
    assert "".join(llama.slots[1]) == "loose"
    assert "".join(llama.slots[0]) == "alpha|x"


def test_a_server_that_does_not_keep_the_part_is_an_error_and_no_other_answer():
    llama = Llama(2)
    llama.broken = True
    with pytest.raises(EngineError, match=r"not be reproducible.*engine\.prefix=none"):
        ask(PrefixSlots(llama, slots=2), "alpha|", "x")


def test_a_reply_through_another_slot_is_an_error():
    llama = Llama(2)
    slots = PrefixSlots(llama, slots=2)
    with pytest.raises(EngineError, match="reused 0 prompt tokens where the rule is 6"):
        slots.send("alpha|", {"prompt": "alpha|x"}, lambda r: llama({**r, "cache_prompt": False}))


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_a_failure_half_way_leaves_nothing_wrong_behind(failing):
    llama = Llama(2)
    slots = PrefixSlots(llama, slots=2)
    llama.failing = failing
    for _ in range(failing):
        with pytest.raises(EngineError, match="broke off"):
            ask(slots, "alpha|", "x")
    assert ask(slots, "alpha|", "x") == ("alpha", "|", "x")
    assert ask(slots, "beta|", "x") == ("beta", "|", "x")


def test_a_reply_without_counts_is_an_error():
    with pytest.raises(EngineError, match="how many tokens"):
        PrefixSlots(lambda _: {"usage": {}}, slots=2).send("alpha|", {"prompt": "alpha|x"})
