from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from harness import settings
from harness.errors import SettingError
from harness.settings import (
    Settings,
    current,
    describe,
    known_names,
    override,
    parse_assignment,
    resolve,
)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_defaults_and_their_origin():
    resolved = resolve()
    assert resolved.settings == Settings()
    assert set(resolved.origins) == set(known_names())
    assert set(resolved.origins.values()) == {"default"}


def test_every_setting_has_a_description_and_a_json_value():
    for name in known_names():
        assert describe(name).rstrip(")").strip(), name
    assert set(json.loads(json.dumps(Settings().flat()))) == set(known_names())


def test_describe_lists_choices():
    assert describe("retrieval.chunker").endswith("(sentences, characters)")


def test_layers_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(settings.PRESETS, "tiny", {"retrieval.keep": 1, "search.results": 1})
    corpus = {"search.results": 2, "search.language": "it-IT", "fetch.pages": 2}
    file = tmp_path / "hotseat.toml"
    file.write_text("[search]\nlanguage = 'de-DE'\n[fetch]\npages = 3\nkeep_chars = 300\n")
    env = {"HOTSEAT_FETCH_PAGES": "4", "HOTSEAT_FETCH_KEEP_CHARS": "400", "PATH": "/bin"}
    resolved = resolve(preset="tiny", corpus=corpus, env=env, assignments={"fetch.keep_chars": 500})
    found = {
        name: (resolved.settings.get(name), resolved.origins[name])
        for name in (
            "retrieval.keep",
            "search.results",
            "search.language",
            "fetch.pages",
            "fetch.keep_chars",
            "engine.model",
        )
    }
    assert found == {
        "retrieval.keep": (1, "preset tiny"),
        "search.results": (2, "corpus"),
        "search.language": ("de-DE", "hotseat.toml"),
        "fetch.pages": (4, "environment"),
        "fetch.keep_chars": (500, "--set"),
        "engine.model": (Settings().engine.model, "default"),
    }


def test_a_corpus_may_say_how_it_was_recorded_and_nothing_else():
    resolved = resolve(corpus={"engine.model": "/tmp/evil.gguf", "search.results": 3})
    assert resolved.settings.engine == Settings().engine
    assert resolved.settings.search.results == 3


def test_a_corpus_setting_of_a_wrong_name_is_an_error():
    with pytest.raises(SettingError, match=r"'search.result' \(corpus\).*'search.results'"):
        resolve(corpus={"search.result": 3})


def test_the_process_environment_is_read_by_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOTSEAT_SEARCH_ENABLED", "false")
    monkeypatch.setenv("HOTSEAT_DEBUG", "1")
    assert resolve().settings.search.enabled is False


@pytest.mark.parametrize(
    ("layer", "near"),
    [
        ({"assignments": {"retrieval.kep": 3}}, "retrieval.keep"),
        ({"assignments": {"keep": 3}}, ""),
        ({"env": {"HOTSEAT_RETRIEVAL_KEP": "3"}}, "HOTSEAT_RETRIEVAL_KEEP"),
        ({"env": {"HOTSEAT_HOM": "/x"}}, "'HOTSEAT_HOME'"),
        ({"env": {"HOTSEAT_DEBG": "1"}}, "'HOTSEAT_DEBUG'"),
        ({"env": {"HOTSEAT_REQUIRE_MODEL": "1"}}, "'HOTSEAT_REQUIRE_MODELS'"),
        ({"preset": "cpi"}, "cpu"),
    ],
)
def test_an_unknown_name_offers_the_nearest(layer, near):
    with pytest.raises(SettingError) as caught:
        resolve(**layer)
    assert "Unknown" in str(caught.value)
    assert near in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retrieval.keep", 0),
        ("retrieval.keep", "many"),
        ("retrieval.chunker", "words"),
        ("time.budget_s", -1),
        ("time.budget_s", float("inf")),
        ("retrieval.floor", {"cosine": float("nan")}),
        ("retrieval.floor", {"cosine": float("-inf")}),
        ("engine.threads", 257),
        ("engine.context_window", 131_073),
        ("engine.max_tokens", 8_193),
        ("retrieval.context_tokens", 32_769),
        ("retrieval.chunk_overlap", 4_001),
        ("retrieval.keep", 10_001),
        ("retrieval.max_passages", 101),
        ("search.timeout_s", 601),
        ("fetch.timeout_s", 601),
        ("fetch.extract_timeout_s", 601),
        ("fetch.max_bytes", 64 * 2**20 + 1),
        ("fetch.keep_chars", 1_000_001),
    ],
)
def test_a_value_that_does_not_fit_names_setting_and_origin(name, value):
    with pytest.raises(SettingError, match=rf"'{name}' \(--set\) can't be"):
        resolve(assignments={name: value})


def test_a_group_given_a_plain_value_is_an_error(tmp_path: Path):
    (tmp_path / "hotseat.toml").write_text("search = 3\n")
    with pytest.raises(SettingError, match="search"):
        resolve()


def test_toml_that_is_none(tmp_path: Path):
    (tmp_path / "hotseat.toml").write_text("[search\n")
    with pytest.raises(SettingError, match="not valid TOML"):
        resolve()
    with pytest.raises(SettingError, match="Can't read"):
        resolve(file=tmp_path / "none.toml")


def test_a_settings_file_that_is_no_file_is_told(tmp_path: Path):
    path = tmp_path / "hotseat.toml"
    for make in (path.mkdir, lambda: path.symlink_to("nowhere"), lambda: os.mkfifo(path)):
        make()
        with pytest.raises(SettingError, match=r"hotseat\.toml is there, but"):
            resolve()
        (path.rmdir if path.is_dir() else path.unlink)()
    assert resolve().settings == Settings()


def test_a_settings_file_may_be_a_link(tmp_path: Path):
    (tmp_path / "shared.toml").write_text("[retrieval]\nkeep = 7\n")
    (tmp_path / "hotseat.toml").symlink_to("shared.toml")
    assert resolve().settings.retrieval.keep == 7


@pytest.mark.parametrize("text", [f"a = {'9' * 5_000}", f"a = {'[' * 50_000}"])
def test_toml_beyond_all_bounds_is_told(tmp_path: Path, text: str):
    (tmp_path / "hotseat.toml").write_text(text)
    with pytest.raises(SettingError, match="not valid TOML"):
        resolve()


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 100_000])
def test_a_value_beyond_all_bounds_is_a_text(value: str):
    assert parse_assignment(f"engine.model={value}") == ("engine.model", value)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("retrieval.keep=60", "retrieval.keep", 60),
        (" search.enabled = false ", "search.enabled", False),
        ("engine.model=qwen=x", "engine.model", "qwen=x"),
        ('fetch.allow_hosts=["a", "b"]', "fetch.allow_hosts", ["a", "b"]),
        ("search.url=", "search.url", ""),
    ],
)
def test_assignments(text, name, value):
    assert parse_assignment(text) == (name, value)


@pytest.mark.parametrize("text", ["retrieval.keep", "=3", ""])
def test_bad_assignments(text):
    with pytest.raises(SettingError, match="is not a setting"):
        parse_assignment(text)


def test_settings_can_not_be_changed_in_place():
    with pytest.raises(ValueError, match="frozen"):
        Settings().retrieval.keep = 3


def test_override_restores_after_errors_and_nests():
    before = current()
    with suppress(ZeroDivisionError), override({"retrieval.keep": 60}):
        assert current().retrieval.keep == 60
        with override({"fetch.pages": 1}) as inner:
            assert inner is current()
            assert (inner.retrieval.keep, inner.fetch.pages) == (60, 1)
        assert current().fetch.pages == before.fetch.pages
        raise ZeroDivisionError
    assert current() == before


def test_override_refuses_unknown_names_and_bad_values():
    with pytest.raises(SettingError, match=r"retrieval.keep"), override({"retrieval.kep": 1}):
        pass
    with pytest.raises(SettingError, match="can't be"), override({"retrieval.keep": 0}):
        pass
    assert current() == Settings()


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "hotseat.toml"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(SettingError, match="larger than 1 MiB"):
        resolve(file=path)
