"""Games played live with real models over a real web, recorded, and replayed: the same answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.games.journal import read_games
from harness.games.login import Credentials
from harness.games.playing import PlayRequest, play_games
from harness.games.practice import PracticeServer, ServerOptions
from harness.question_file import load_questions
from harness.replay import sample_path
from harness.replay.run_folder import read_rows

pytestmark = pytest.mark.models

SMOL = "smollm2-135m-instruct-q4_1"
SITE = Path(__file__).parent.parent / "datasets" / "sample"
# Short answers: what is compared is which option they come to, not whether it is right.
SETTINGS: dict[str, Any] = {
    "engine.model": SMOL,
    "engine.max_tokens": 12,
    "retrieval.context_tokens": 100,
    "search.url": "http://searx.example",
    "play.pause_s": 0,
}


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the sample web; yields the address of the proxy that leads to it."""
    monkeypatch.syspath_prepend(str(SITE))
    from site_server import serving

    with serving() as server:
        yield server.proxy_url
    for name in ("site_server", "site_pages", "site_search", "site_templates"):
        sys.modules.pop(name, None)


def test_a_replay_of_recorded_games_gives_every_answer_again(
    real_models: Any,
    web: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real_models(SMOL, "minilm-l6-v2-int8")
    monkeypatch.chdir(tmp_path)
    corpus = tmp_path / "recorded games"
    pool = load_questions(sample_path() / "questions.jsonl").questions
    with PracticeServer(
        [one for one in pool if one.category == "news"][:3],
        database=tmp_path / "games.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=5),
        synthesiser=None,
    ) as server:
        request = PlayRequest(
            server.url,
            (("news", "text"),),
            games=5,
            record=corpus,
            proxy=web,
            assignments=SETTINGS,
        )
        outcome = play_games(request, credentials=Credentials("ada", "password"))
    assert outcome.problems == ()
    asked = [question for game in read_games(corpus / "games") for question in game.questions]
    assert len(asked) >= 5
    assert any(question.basis == "retrieved passages" for question in asked)
    # Some were asked again in another order of options, or nothing is proved.
    orders: dict[str, set[tuple[str, ...]]] = {}
    for question in asked:
        orders.setdefault(question.question_id, set()).add(question.options)
    assert any(len(found) > 1 for found in orders.values())

    run = tmp_path / "run"
    options = [f"--set={name}={value}" for name, value in SETTINGS.items() if name != "search.url"]
    assert main(["replay", str(corpus), "--out", str(run), "--json", *options]) == 0
    capsys.readouterr()
    replayed = {row["question_id"]: row for row in read_rows(run)}
    assert {question.question_id for question in asked} == set(replayed)
    for question in asked:
        row = replayed[question.question_id]
        assert row["answer_text"] == question.chosen
        assert row["basis"] == question.basis
        assert "not_recorded" not in row["degradations"]
        if question.correct is not None:
            assert row["correct"] is question.correct
