from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.corpus import Corpus, RequestPolicy
from harness.corpus._secrets import scrub_text, scrub_url, secrets_of

POLICY = RequestPolicy(secret_params=("pass-code",), secret_headers=("X-Mine",))


@pytest.mark.parametrize(
    ("url", "scrubbed"),
    [
        ("/page?token=a&b=2", "/page?b=2"),
        ("/page?token=a", "/page"),
        ("https://u:p@ss@host/x?a=1#access_token=2", "https://host/x?a=1"),
        ("//u@host/x", "//host/x"),
        ("/p?b=%C3%A9+x&a=1&Pass_Code=3", "/p?b=%C3%A9+x&a=1"),
        ("/p?mail=a@b", "/p?mail=a@b"),
    ],
)
def test_a_redirect_target_keeps_all_but_its_secrets(url: str, scrubbed: str) -> None:
    assert scrub_url(url, POLICY) == scrubbed


def test_texts_lose_secrets_however_they_are_spelt() -> None:
    url = "https://bob:hunter22@e.org/?pass-code=a%20b%2Fc&key=rome"
    headers = {"Authorization": "Bearer abc.def", "x-mine": "my very own", "accept": "text/html"}
    texts, bodies = secrets_of(url, headers, POLICY)
    message = (
        "a b/c a%20b%2Fc abc.def my very own hunter22 at https://bob:hunter22@e.org/?key=1&q=2"
    )
    scrubbed = scrub_text(message, texts, POLICY)
    assert scrubbed == ("REMOVED REMOVED REMOVED REMOVED REMOVED at https://e.org/?key=REMOVED&q=2")
    assert "text/html" not in texts
    # "rome" is an ordinary word that merely stands in a parameter called "key".
    assert "rome" not in bodies
    assert "Bearer abc.def" in bodies


def test_no_secret_reaches_the_disk(
    tmp_path: Path, server: Any, live: Callable[..., list[Any]]
) -> None:
    secrets = [
        "s3cr3t-param",
        "s3cr3t-common",
        "s3cr3t-header",
        "s3cr3t-auth",
        "s3cr3t-cookie",
        "s3cr3t-user",
    ]
    policy = RequestPolicy(secret_params=("mine",), secret_headers=("x-mine",))
    host = server.url.removeprefix("http://")
    url = (
        f"http://s3cr3t-user:s3cr3t-user@{host}/secret?mine=s3cr3t-param&api_key=s3cr3t-common&q=1"
    )
    headers = {
        "x-mine": "s3cr3t-header",
        "x-subscription-token": "s3cr3t-header",
        "authorization": "Bearer s3cr3t-auth",
        "cookie": "session=s3cr3t-cookie",
    }
    folder = tmp_path / "corpus"
    settings = {"search.url": f"http://s3cr3t-user@{host}/?token=s3cr3t-common"}
    with Corpus.create(folder, name="t", settings=settings) as corpus:
        dead = url.replace(host, "127.0.0.1:1")
        answer, failure = live(
            corpus,
            {"url": url, "headers": headers},
            {"url": dead, "headers": headers},
            policy=policy,
        )
        assert answer.status_code == 200
        assert "q=1" in answer.text
        assert isinstance(failure, httpx.ConnectError)
        assert corpus.export(tmp_path / "exported.warc.gz").problems == ()
        assert corpus.export(tmp_path / "exported").problems == ()
        stored = [entry.canonical() for entry in corpus.entries()]
        bodies = [
            corpus._store.body(entry.body_sha256) for entry in corpus.entries() if entry.body_sha256
        ]
    with sqlite3.connect(folder / "store" / "cache.db") as database:
        stored.append(repr(list(database.iterdump())).encode())
    database.close()
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    for kept in [*stored, *bodies, *files]:
        for secret in secrets:
            assert secret.encode() not in kept


def test_a_redirect_works_although_its_secret_is_gone(
    tmp_path: Path, corpus: Corpus, server: Any, live: Any, play: Any
) -> None:
    url = f"{server.url}/redirect"
    (answer,) = live(corpus, url, follow_redirects=True)
    assert "token=t0ken-of-mine" in str(answer.url)
    (replayed,) = play(corpus.tape("replay"), url, follow_redirects=True)
    assert str(replayed.url) == f"{server.url}/page?b=2&a=1"
    assert replayed.text == answer.text
    assert [hop.status_code for hop in replayed.history] == [302]
