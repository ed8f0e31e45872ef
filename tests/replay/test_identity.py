"""What two runs must share to be one."""

from harness.replay.identity import differences, identity_digest


def manifest(chosen: str, reranker: str = "maxsim") -> dict[str, object]:
    contestant = {"reranker": {"name": reranker, "chosen": chosen}}
    return {"contestant": contestant, "settings": {"retrieval.keep": 40}}


def test_why_a_reranker_was_chosen_does_not_matter():
    one, other = manifest("auto: m is missing"), manifest("auto: m is partial")
    assert differences(one, other) == []
    assert identity_digest(one) == identity_digest(other)


def test_which_reranker_it_is_does():
    assert differences(manifest("auto", "m"), manifest("auto"))
