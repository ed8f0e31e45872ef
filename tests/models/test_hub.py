"""Models from a hub: a short probe, byte ranges, hashes, and who gets the login."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ModelMissingError
from harness.home import home
from harness.models import FolderSource, HubSource, ModelSpec, ensure, status, verify
from harness.models import _hub as hub_module

AddModel = Callable[..., ModelSpec]
CONTENT = bytes(range(256)) * 40
SOURCE = HubSource("maker/tiny", "r" * 40)


@pytest.fixture
def tiny(hub: Any, add_model: AddModel) -> ModelSpec:
    hub.files["maker/tiny/m.gguf"] = CONTENT
    return add_model("tiny", {"m.gguf": CONTENT}, (SOURCE,))


def installed() -> bytes:
    return (home() / "models" / "tiny" / "m.gguf").read_bytes()


def test_a_file_is_pulled_once_at_its_pinned_revision(
    hub: Any, tiny: ModelSpec, listener: Any
) -> None:
    ensure("tiny", progress=listener)
    assert installed() == CONTENT
    assert [(method, path) for method, path, _ in hub.log] == [
        ("HEAD", f"/maker/tiny/resolve/{'r' * 40}/m.gguf"),
        ("GET", f"/maker/tiny/resolve/{'r' * 40}/m.gguf"),
    ]
    assert listener.notes == []
    ensure("tiny")
    assert len(hub.log) == 2


def test_the_hub_is_asked_for_the_file_and_nothing_else(
    hub: Any, tiny: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_DISABLE_TELEMETRY")
    code = f"from harness.models import *\nREGISTRY['tiny'] = {tiny!r}\nensure('tiny')\n"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [method for method, _, _ in hub.log] == ["HEAD", "GET"]


def test_files_in_folders_and_a_total_the_hub_tells(hub: Any, add_model: AddModel) -> None:
    contents = {"m.gguf": CONTENT, "1_Pooling/config.json": b"{}"}
    hub.files.update({f"maker/tiny/{name}": data for name, data in contents.items()})
    add_model("tiny", contents, (SOURCE,), pinned=False)
    totals = []
    place = ensure("tiny", progress=lambda event: totals.append(event.total_bytes))
    assert {name: (place / name).read_bytes() for name in contents} == contents
    assert totals[-1] == len(CONTENT) + 2


def test_a_broken_connection_is_continued_by_range(hub: Any, tiny: ModelSpec) -> None:
    hub.cut_after, hub.cuts = 4_000, 2
    ensure("tiny")
    assert installed() == CONTENT
    assert hub.ranges() == ["", "bytes=4000-", "bytes=8000-"]


def test_a_pull_that_was_cut_short_is_continued_by_the_next(
    hub: Any, tiny: ModelSpec, monkeypatch: pytest.MonkeyPatch, listener: Any
) -> None:
    monkeypatch.setattr(hub_module, "_ATTEMPTS", 1)
    hub.cut_after, hub.cuts = 4_000, 1
    with pytest.raises(KeyboardInterrupt):
        ensure("tiny", progress=_interrupt_at(4_000))
    assert status("tiny").state == "partial"
    hub.log.clear()
    ensure("tiny", progress=listener)
    assert installed() == CONTENT
    assert hub.ranges() == ["bytes=4000-"]
    assert listener.text == "Resuming m.gguf at 4,000 bytes."


def _interrupt_at(done: int) -> Callable[[Any], None]:
    def interrupt(event: Any) -> None:
        if event.done_bytes >= done:
            raise KeyboardInterrupt

    return interrupt


def test_a_hub_that_keeps_breaking_off_is_given_up(
    hub: Any, tiny: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "_ATTEMPTS", 2)
    hub.cut_after, hub.cuts = 0, 99
    with pytest.raises(ModelMissingError, match=r"m.gguf kept breaking off"):
        ensure("tiny")


def test_wrong_bytes_under_the_right_name_are_deleted(
    hub: Any, tiny: ModelSpec, tmp_path: Path, listener: Any
) -> None:
    wrong = bytes(len(CONTENT))
    hub.files["maker/tiny/m.gguf"] = wrong
    hub.told["maker/tiny/m.gguf"] = tiny.files[0].sha256
    (tmp_path / "m.gguf").write_bytes(CONTENT)
    ensure("tiny", progress=listener, sources=[SOURCE, FolderSource(tmp_path)])
    assert installed() == CONTENT
    (note,) = listener.notes
    assert note.startswith("Hub maker/tiny: m.gguf has sha256 ")
    assert f"expected {tiny.files[0].sha256}" in note


def test_after_wrong_bytes_the_next_pull_starts_afresh(hub: Any, tiny: ModelSpec) -> None:
    hub.files["maker/tiny/m.gguf"] = bytes(len(CONTENT))
    hub.told["maker/tiny/m.gguf"] = tiny.files[0].sha256
    with pytest.raises(ModelMissingError):
        ensure("tiny")
    assert status("tiny").state == "missing"
    hub.files["maker/tiny/m.gguf"] = CONTENT
    ensure("tiny")
    assert installed() == CONTENT


def test_another_file_is_refused_before_it_is_fetched(hub: Any, tiny: ModelSpec) -> None:
    hub.files["maker/tiny/m.gguf"] = bytes(len(CONTENT))
    with pytest.raises(ModelMissingError, match=r"m.gguf has sha256 \w+ at http.*, expected"):
        ensure("tiny")
    hub.files["maker/tiny/m.gguf"] = CONTENT + b"!"
    with pytest.raises(ModelMissingError, match=r"m.gguf has 10,241 bytes at .* instead of 10,240"):
        ensure("tiny")
    assert hub.ranges() == []


def test_the_hubs_own_hash_checks_an_unpinned_file(
    hub: Any, add_model: AddModel, listener: Any
) -> None:
    hub.files["maker/tiny/m.gguf"] = CONTENT
    add_model("tiny", {"m.gguf": CONTENT}, (SOURCE,), pinned=False)
    hub.told["maker/tiny/m.gguf"] = "0" * 64
    with pytest.raises(ModelMissingError, match=f"expected {'0' * 64}"):
        ensure("tiny")
    hub.told.clear()
    ensure("tiny", progress=listener)
    assert listener.notes == []
    assert verify("tiny") == []


def test_without_any_hash_the_first_pull_is_trusted_aloud(
    hub: Any, add_model: AddModel, listener: Any
) -> None:
    hub.files["maker/tiny/m.gguf"] = CONTENT
    hub.told["maker/tiny/m.gguf"] = "d41d8cd98f00b204"  # a git blob's ETag is no SHA-256
    add_model("tiny", {"m.gguf": CONTENT}, (SOURCE,), pinned=False)
    ensure("tiny", progress=listener)
    assert "No hash is known for m.gguf; trusting what http://127.0.0.1" in listener.text


@pytest.mark.parametrize(
    ("code", "error_code", "reason"),
    [
        (404, "EntryNotFound", "answered 404 for m.gguf"),
        (404, "RepoNotFound", "has no repository maker/tiny"),
        (403, "GatedRepo", "maker/tiny needs a login"),
        (503, "", "answered 503 for m.gguf"),
    ],
)
def test_a_refusal_is_told_in_plain_words(
    hub: Any, tiny: ModelSpec, code: int, error_code: str, reason: str
) -> None:
    hub.status, hub.error_code = code, error_code
    with pytest.raises(ModelMissingError, match=reason):
        ensure("tiny")
    hub.status = 0  # it is there, so it is asked again
    ensure("tiny")
    assert installed() == CONTENT


def test_something_that_is_no_hub(hub: Any, tiny: ModelSpec) -> None:
    hub.is_hub = False
    with pytest.raises(ModelMissingError, match="answers, but not like a model hub"):
        ensure("tiny")


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_means_not_even_asking(
    hub: Any, tiny: ModelSpec, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ModelMissingError, match=f"skipped, because {variable} is set"):
        ensure("tiny")
    assert hub.log == []


def test_an_address_that_is_none(tiny: ModelSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "huggingface.co")
    with pytest.raises(ModelMissingError, match="HF_ENDPOINT is no http"):
        ensure("tiny")


def test_the_login_stays_with_the_hub(
    hub: Any, tiny: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    ensure("tiny")
    assert {headers.get("authorization") for _, _, headers in hub.log} == {"Bearer hf_secret"}
    (home() / "models" / "tiny" / "m.gguf").unlink()
    hub.log.clear()
    hub.storage = hub.url.replace("127.0.0.1", "localhost")
    ensure("tiny")
    (get,) = [headers for method, _, headers in hub.log if method == "GET"]
    assert "authorization" not in get
    for path in home().rglob("*"):
        assert path.is_dir() or b"hf_secret" not in path.read_bytes()


def test_a_hub_sending_more_than_announced_is_cut(
    hub: Any, add_model: AddModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.files["maker/tiny/m.gguf"] = CONTENT
    add_model("tiny", {"m.gguf": CONTENT}, (SOURCE,))
    real = hub_module._ask

    def shorter(endpoint: str, source: HubSource, file: Any) -> Any:
        from dataclasses import replace

        return replace(real(endpoint, source, file), size_bytes=100)

    monkeypatch.setattr(hub_module, "_ask", shorter)
    with pytest.raises(ModelMissingError, match="longer than the 100 bytes announced"):
        ensure("tiny")
    assert status("tiny").state == "missing"


def test_a_download_that_all_but_stops_is_given_up(
    hub: Any, tiny: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "_WINDOW_S", -1.0)
    with pytest.raises(ModelMissingError, match="all but stopped"):
        ensure("tiny")


@contextmanager
def silent_server(drip: bytes = b"") -> Iterator[str]:
    """Accept connections and never finish an answer; ``drip`` sends a byte now and then."""
    over = threading.Event()
    accepted: list[socket.socket] = []
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.02)

    def serve() -> None:
        while not over.is_set():
            with suppress(TimeoutError):
                accepted.append(listening.accept()[0])
            for connection in accepted:
                with suppress(OSError):
                    connection.sendall(drip)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        over.set()
        thread.join()
        for connection in accepted:
            connection.close()
        listening.close()


@pytest.mark.parametrize("drip", [b"", b"H"], ids=["says nothing", "drips"])
def test_a_silent_hub_costs_seconds_once(
    add_model: AddModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listener: Any, drip: bytes
) -> None:
    (tmp_path / "m.gguf").write_bytes(CONTENT)
    add_model("tiny", {"m.gguf": CONTENT}, (SOURCE, FolderSource(tmp_path)))
    with silent_server(drip) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        begun = time.monotonic()
        ensure("tiny", progress=listener)
        first_s = time.monotonic() - begun
        (home() / "models" / "tiny" / "m.gguf").unlink()
        begun = time.monotonic()
        ensure("tiny", progress=listener)
        second_s = time.monotonic() - begun
    assert first_s < 5
    assert second_s < 0.4
    assert f"{url} can't be reached (no answer within" in listener.notes[0]
    assert f"skipped, {url} could not be reached before" in listener.notes[1]


def test_a_closed_port_is_told_at_once(add_model: AddModel, tmp_path: Path, listener: Any) -> None:
    (tmp_path / "m.gguf").write_bytes(CONTENT)
    add_model("tiny", {"m.gguf": CONTENT}, (SOURCE, FolderSource(tmp_path)))
    begun = time.monotonic()
    ensure("tiny", progress=listener)
    assert time.monotonic() - begun < 5
    assert listener.notes == [
        "Hub maker/tiny: http://127.0.0.1:9 can't be reached (Connection refused)."
    ]


def test_a_password_in_the_address_is_not_shown(
    add_model: AddModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://joe:secret@127.0.0.1:9")
    add_model("tiny", {"m.gguf": CONTENT}, (SOURCE,))
    with pytest.raises(ModelMissingError, match=r"http://127.0.0.1:9 can't") as info:
        ensure("tiny")
    assert "secret" not in str(info.value)
