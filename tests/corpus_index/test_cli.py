from __future__ import annotations

import json

import pytest

from harness.cli import main


@pytest.fixture
def hotseat(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str):
        code = main(["corpus", "search", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_hits_are_shown_with_title_address_and_snippet(hotseat, record, towns):
    folder = str(record(towns))
    code, out, _ = hotseat(folder, "Orla lighthouse", "--lexical-only")
    assert code == 0
    assert "http://a.example/anvera" in out
    assert "built in 1612 by Orla" in out
    assert (code, out) == hotseat("Orla lighthouse", "--corpus", folder, "--lexical-only")[:2]


def test_the_json_document(hotseat, record, towns):
    code, out, _ = hotseat(str(record(towns)), "lighthouse", "-n", "2", "--lexical-only", "--json")
    document = json.loads(out)
    assert (code, document["pages"], document["encoder"]) == (0, 4, None)
    assert len(document["hits"]) == 2
    assert {"url", "title", "snippet", "score", "lexical_rank"} <= set(document["hits"][0])


def test_without_weights_it_searches_by_words_and_says_so(hotseat, record, towns, monkeypatch):
    from harness import retrieval
    from harness.errors import ModelMissingError

    def missing(*args, **named):
        raise ModelMissingError("The encoder can't be had.")

    monkeypatch.setattr(retrieval, "load_encoder", missing)
    code, out, err = hotseat(str(record(towns)), "Orla")
    assert code == 0
    assert "anvera" in out
    assert "by words alone: The encoder can't be had." in err


def test_the_shipped_sample_is_the_default(hotseat):
    code, out, err = hotseat("siege of Castel Drusco", "--lexical-only", "-n", "1")
    assert code == 0
    assert "Siege_of_Castel_Drusco" in out
    assert "search index" in err


def test_nothing_found_and_nothing_there_are_one_sentence_each(hotseat, record, towns):
    code, out, _ = hotseat(str(record(towns)), "xyzzy", "--lexical-only")
    assert (code, out) == (0, "None of 4 recorded pages fits the query.\n")
    code, out, _ = hotseat(str(record({}, name="empty")), "faro", "--lexical-only")
    assert code == 0
    assert out.endswith("holds no recorded page with text to search in.\n")


def test_wrong_usage(hotseat, record, towns):
    folder = str(record(towns))
    assert hotseat(folder)[0] == 2
    assert "quotation marks" in hotseat(folder, "two", "words")[2]
    assert hotseat(folder, "x", "--corpus", folder)[0] == 2
    assert hotseat("nowhere", "x")[0] == 3
    assert hotseat("--help")[0] == 0


def test_recorded_text_can_not_steer_a_terminal(hotseat, record):
    evil = "lighthouse \x1b[2J\x1b]0;evil\x07 and more text to be long enough for a page"
    _, out, _ = hotseat(str(record({"http://e.example/": evil})), "lighthouse", "--lexical-only")
    assert "lighthouse" in out
    assert "\x1b" not in out


def test_a_replay_with_the_policy_corpus(
    capsys, tmp_path, monkeypatch, fakes, encoder, other_encoder
):
    from harness import retrieval
    from harness.cli import replay as command
    from harness.replay import read_manifest

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "_load_contestant", lambda settings: fakes.FakeContestant())
    monkeypatch.setattr(retrieval, "load_encoder", lambda *args, **named: encoder)
    assert main(["demo", "-n", "2", "--on-miss", "corpus", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert "pages encoded" in err
    on_miss = read_manifest(tmp_path / document["run"])["on_miss"]
    assert on_miss["policy"] == "corpus"
    assert on_miss["encoder"].startswith("sha256:")
    asked = encoder.asked
    sample = read_manifest(tmp_path / document["run"])["source"]["corpus"]
    assert main(["replay", sample, "-n", "2", "--on-miss", "corpus", "-o", "again"]) == 0
    assert encoder.asked == asked  # the index is there
    assert read_manifest(tmp_path / "again")["on_miss"] == on_miss
    assert main(["replay", "--resume", "again", "--on-miss", "corpus"]) == 2


@pytest.mark.parametrize("query", ["", "  ", "?! --"])
def test_a_query_without_words_is_refused(hotseat, record, towns, query):
    code, _, err = hotseat(str(record(towns)), query, "--lexical-only")
    assert code == 2
    assert "no word to look for" in err
