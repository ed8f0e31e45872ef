from __future__ import annotations

from harness.scoring.manifest_differences import Difference, manifest_differences

BASE = {
    "settings": {"retrieval.keep": 40, "engine.name": "x"},
    "contestant": {"engine": {"model": "small"}, "encoder": None},
    "corpus": {"name": "sample", "digest": "sha256:1"},
    "started": "2026-01-01",
    "digest": "sha256:a",
    "machine": {"cores": 2},
}


def test_what_a_person_wants_to_know_first():
    other = {
        **BASE,
        "settings": {"retrieval.keep": 60, "engine.name": "x", "new.one": True},
        "contestant": {"engine": {"model": "large"}, "encoder": None},
        "corpus": None,
        "started": "2026-02-02",
        "digest": "sha256:b",
        "machine": {"cores": 4},
    }
    assert manifest_differences([BASE, other]) == [
        Difference("setting", "new.one", (None, True)),
        Difference("setting", "retrieval.keep", (40, 60)),
        Difference("model", "engine.model", ("small", "large")),
        Difference("corpus", "digest", ("sha256:1", None)),
        Difference("corpus", "name", ("sample", None)),
        Difference("machine", "cores", (2, 4)),
    ]


def test_runs_alike_differ_in_nothing():
    assert manifest_differences([BASE, BASE, dict(BASE)]) == []
    assert manifest_differences([{}, {}]) == []
    assert manifest_differences([{"limit": 3}, {}]) == [Difference("selection", "limit", (3, None))]
