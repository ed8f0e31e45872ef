"""WARC out and in: identical, standard, and unharmed by what is broken or hostile."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from harness.corpus import (
    Corpus,
    CorpusManifest,
    Failure,
    RequestKey,
    RequestPolicy,
    _warc_split,
    request_key,
)
from harness.corpus._body import body_sha256
from harness.corpus._entry import Entry
from harness.corpus._manifest import FORMAT
from harness.corpus._warc_read import Damage, Recorded, WarcReader
from harness.corpus._warc_write import entry_member, info_member
from harness.errors import CorpusDamagedError, CorpusError, CorpusMissError

MANIFEST = CorpusManifest(FORMAT, "tést", "2026-01-01T00:00:00.000000Z", {"fetch.pages": 3})


def entry(number: int, body: bytes = b"body", **changes: Any) -> tuple[Entry, bytes]:
    values: dict[str, Any] = {
        "request": request_key("GET", f"https://e.org/{number}", {}, None),
        "ordinal": 0,
        "fetched_at": "2026-01-02T03:04:05.678901Z",
        "elapsed_s": 0.25,
        "status": 200,
        "headers": (("content-type", "text/html"),),
        "body_sha256": body_sha256(body),
        "body_bytes": len(body),
    }
    return Entry(**{**values, **changes}), body


def read(path: Path) -> tuple[list[Recorded], list[Damage]]:
    found = list(WarcReader(path))
    return (
        [one for one in found if isinstance(one, Recorded)],
        [one for one in found if isinstance(one, Damage)],
    )


def members(*made: tuple[Entry, bytes]) -> list[bytes]:
    return [info_member(MANIFEST), *(entry_member(*one) for one in made)]


ascii_text = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20).map(str.strip)
requests = st.builds(
    request_key,
    st.sampled_from(["GET", "POST"]),
    st.builds(lambda path, query: f"https://é.org/{path}?{query}", ascii_text, ascii_text).filter(
        lambda url: "#" not in url
    ),
    st.fixed_dictionaries({}, optional={"accept-language": ascii_text}),
    st.one_of(st.none(), st.binary(max_size=5)),
    st.builds(RequestPolicy, provider=st.sampled_from(["page", "searxng", "my-own"])),
)
bodies = st.one_of(st.binary(max_size=200), st.sampled_from([b"\r\n\r\n", b"WARC/1.1\r\n", b""]))


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[Entry, bytes]:
    told: dict[str, Any] = {
        "request": draw(requests),
        "ordinal": draw(st.integers(0, 12)),
        "fetched_at": draw(st.datetimes()).strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27),
        "elapsed_s": draw(st.floats(0, 100)),
    }
    if draw(st.booleans()):
        message = " ".join(draw(st.text(st.characters(categories=["L", "N", "P"]))).split())
        return Entry(**told, failure=Failure("ReadTimeout", message)), b""
    body = draw(bodies)
    names = st.sampled_from(["content-type", "location", "x-robots-tag"])
    return Entry(
        **told,
        status=draw(st.integers(100, 999)),
        headers=tuple(draw(st.lists(st.tuples(names, ascii_text), max_size=3))),
        truncated=draw(st.booleans()),
        body_sha256=body_sha256(body),
        body_bytes=len(body),
    ), body


@settings(max_examples=150, deadline=None)
@given(exchanges())
def test_every_exchange_comes_back_from_warc(made: tuple[Entry, bytes]) -> None:
    packed = entry_member(*made)
    assert entry_member(*made) == packed
    path = (
        Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp") / f"hotseat-{os.getpid()}.warc.gz"
    )
    try:
        path.write_bytes(packed)
        recorded, damaged = read(path)
        assert damaged == []
        assert [(one.entry, one.body) for one in recorded] == [made]
        path.write_bytes(gzip.decompress(packed))  # the uncompressed form
        recorded, damaged = read(path.rename(path.with_suffix("")))
        assert damaged == []
        assert [(one.entry, one.body) for one in recorded] == [made]
    finally:
        path.unlink(missing_ok=True)
        path.with_suffix("").unlink(missing_ok=True)


@settings(max_examples=8, deadline=None)
@given(st.lists(exchanges(), max_size=6, unique_by=lambda one: (one[0].request, one[0].ordinal)))
def test_corpora_round_trip_to_the_same_digest_and_bytes(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[Entry, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("round")
    with Corpus.create(folder / "a", name="t") as corpus:
        for one in made:
            corpus._store.put(*one, replace=False)
        assert corpus.export(folder / "a.out").problems == ()
        assert corpus.export(folder / "a.warc.gz").problems == ()
        digest = corpus.digest()
    for source in ("a.out", "a.warc.gz"):
        with Corpus.import_from(folder / source, folder / f"{source}.in") as again:
            assert again.problems == []
            assert again.digest() == digest
            assert again.manifest == corpus.manifest
            assert again.verify() == []
            again.export(folder / f"{source}.out")
        for path in (folder / "a.out").iterdir():
            assert (folder / f"{source}.out" / path.name).read_bytes() == path.read_bytes()


def test_other_tools_can_read_what_is_exported(tmp_path: Path) -> None:
    late, _ = entry(
        2,
        failure=Failure("ReadTimeout", "late"),
        status=None,
        headers=(),
        body_sha256=None,
        body_bytes=0,
    )
    policy = RequestPolicy(provider="searxng")
    search = request_key("GET", "http://h:8080/search?q=a", {"accept-language": "it"}, None, policy)
    made = [entry(1), (late, b""), entry(3, request=search, truncated=True)]
    data = b"".join(members(*made))
    found = []
    for record in ArchiveIterator(io.BytesIO(data), check_digests="raise"):
        body = record.content_stream().read()
        headers = dict(record.rec_headers.headers)
        found.append((record.rec_type, headers.get("WARC-Target-URI"), body))
        assert record.rec_headers.protocol == "WARC/1.1"
        if record.rec_type == "response":
            assert record.http_headers.get_header("content-type") == "text/html"
            assert headers["WARC-Date"] == "2026-01-02T03:04:05.678901Z"
    assert [one[0] for one in found] == ["warcinfo", "response", "metadata", "response"]
    assert found[1][1:] == ("https://e.org/1", b"body")
    assert found[2][2] == b"failure: ReadTimeout\r\nmessage: late\r\n"
    assert found[3][1] == "http://searxng.invalid/search?q=a"
    assert headers["WARC-Truncated"] == "length"
    # Nothing depends on when or where: gzip headers carry no time and no system.
    assert data[4:10] == b"\x00\x00\x00\x00\x00\xff"


def foreign(*records: tuple[str, str, bytes, dict[str, str]], gz: bool = True) -> bytes:
    """Return a WARC file as another tool writes it: (type, address, body, HTTP headers)."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=gz)
    for kind, address, body, headers in records:
        status = StatusAndHeaders("200 OK", list(headers.items()), protocol="HTTP/1.1")
        writer.write_record(
            writer.create_warc_record(
                address,
                kind,
                payload=io.BytesIO(body),
                length=len(body),
                http_headers=status,
                warc_headers_dict={"WARC-Date": "2020-02-03T04:05:06Z"},
            )
        )
    return out.getvalue()


@pytest.mark.parametrize("gz", [True, False])
def test_archives_of_other_tools_become_pages(tmp_path: Path, play: Any, gz: bool) -> None:
    html = {"Content-Type": "text/html", "Set-Cookie": "a=b"}
    packed = gzip.compress(b"packed page")
    chunked = b"4\r\nchun\r\n3\r\nked\r\n0\r\n\r\n"
    path = tmp_path / ("other.warc.gz" if gz else "other.warc")
    path.write_bytes(
        foreign(
            ("response", "HTTP://e.org:80/a?b=2&a=1&token=x", b"first", html),
            ("request", "http://e.org/a", b"", {}),
            ("response", "http://e.org/a?a=1&b=2", b"second", html),
            ("response", "http://e.org/gz", packed, {**html, "Content-Encoding": "gzip"}),
            ("response", "http://e.org/lie", b"plain", {**html, "Content-Encoding": "gzip"}),
            ("response", "http://e.org/ch", chunked, {**html, "Transfer-Encoding": "chunked"}),
            ("response", "http://e.org/br", b"\x0b", {**html, "Content-Encoding": "br"}),
            ("response", "dns:e.org", b"1.2.3.4", {}),
            gz=gz,
        )
    )
    with Corpus.import_from(path, tmp_path / "mine") as corpus:
        assert [problem.what for problem in corpus.problems] == [
            "the server sent the encoding 'br'"
        ]
        assert corpus.skipped == {"request": 1, "response": 1}
        assert corpus.manifest.name == "other"
        urls = [f"http://e.org/{name}" for name in ("a?a=1&b=2", "a?a=1&b=2", "gz", "lie", "ch")]
        italian = {"headers": {"accept-language": "it"}}
        found = play(corpus.tape("replay"), *({"url": url, **italian} for url in urls))
        assert [one.text for one in found] == ["first", "second", "packed page", "plain", "chunked"]
        told = found[0].request.extensions["hotseat_outcome"]
        assert told.fetched_at == "2020-02-03T04:05:06.000000Z"
        assert "set-cookie" not in found[0].headers
        digest = corpus.digest()
        corpus.export(tmp_path / "again.warc.gz")
        lost = play(corpus.tape("replay"), {"url": "http://e.org/br", **italian})
        assert isinstance(lost[0], CorpusDamagedError)
        # What was recorded in one language does not answer another.
        corpus._store.put(*entry(9), replace=False)
        (miss,) = play(corpus.tape("replay"), {"url": "https://e.org/9", **italian})
        assert isinstance(miss, CorpusMissError)
    with Corpus.open(tmp_path / "again.warc.gz") as corpus:
        assert corpus.digest() == digest


def test_a_member_that_holds_all_records_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "whole.warc.gz"
    plain = foreign(*(("response", f"http://e.org/{n}", b"x", {}) for n in range(5)), gz=False)
    path.write_bytes(gzip.compress(plain))
    recorded, damaged = read(path)
    assert len(recorded) == 5
    assert damaged == []


def test_a_wrong_digest_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "other.warc"
    good = foreign(
        ("response", "http://e.org/a", b"right", {}),
        ("response", "http://e.org/b", b"right", {}),
        gz=False,
    )
    path.write_bytes(good.replace(b"right", b"wrong", 1))
    recorded, damaged = read(path)
    assert [one.entry.request.url for one in recorded] == ["http://e.org/b"]
    assert damaged[0].problem.what == "its content does not fit its digest"
    assert damaged[0].address is not None


def test_a_truncated_file_gives_all_before_the_cut(tmp_path: Path) -> None:
    made = [entry(number, os.urandom(500)) for number in range(4)]
    parts = members(*made)
    path = tmp_path / "cut.warc.gz"
    whole = b"".join(parts)
    path.write_bytes(whole[:-300])
    recorded, damaged = read(path)
    assert [one.entry for one in recorded] == [one for one, _ in made[:3]]
    (cut,) = damaged
    assert cut.problem.what == f"the file is cut off after {len(whole) - 300} bytes"
    # Enough of the last one is left to know which it was.
    assert cut.address == (made[3][0].request.sha256, 0)
    plain = b"".join(map(gzip.decompress, parts))
    path = tmp_path / "cut.warc"
    path.write_bytes(plain[:-300])
    recorded, damaged = read(path)
    assert len(recorded) == 3
    assert "cut off" in damaged[0].problem.what
    assert damaged[0].address == (made[3][0].request.sha256, 0)


@pytest.mark.parametrize("packed", [True, False])
def test_one_flipped_byte_costs_one_record(tmp_path: Path, packed: bool) -> None:
    """Wherever it is."""
    made = [entry(number, f"page {number} ".encode() * 20) for number in range(3)]
    parts = members(*made)
    if not packed:
        parts = [gzip.decompress(part) for part in parts]
    path = tmp_path / ("flip.warc.gz" if packed else "flip.warc")
    start = len(parts[0]) + len(parts[1])
    for place in range(0, len(parts[2]), 1 if packed else 2):
        damaged_file = bytearray(b"".join(parts))
        damaged_file[start + place] ^= 0x10
        path.write_bytes(bytes(damaged_file))
        recorded, damaged = read(path)
        found = [one.entry for one in recorded]
        assert made[0][0] in found
        assert made[2][0] in found
        if len(found) == 3:
            # Bits that mean nothing: a packed record pads its last byte before
            # the checksums, a plain header has names that nobody reads.
            assert found == [one for one, _ in made]
            assert not packed or place == len(parts[2]) - 9
        else:
            assert damaged
        addresses = {one.address for one in damaged if one.address}
        assert addresses <= {(made[1][0].request.sha256, 0)}
        if packed and len(found) == 2 and place not in (0, 1, 2, 3, 82):
            assert addresses  # unless what frames the member's name was hit


def test_the_damaged_request_is_named_in_a_replay(tmp_path: Path, play: Any) -> None:
    made = [entry(number, os.urandom(300)) for number in range(3)]
    parts = members(*made)
    data = bytearray(b"".join(parts))
    data[len(parts[0]) + len(parts[1]) - 30] ^= 0xFF
    path = tmp_path / "c.warc.gz"
    path.write_bytes(bytes(data))
    with Corpus.open(path) as corpus:
        assert len(corpus.problems) == 1
        assert "can't be decompressed" in str(corpus.problems[0])
        assert corpus.verify() == corpus.problems
        first, second = play(corpus.tape("replay"), "https://e.org/0", "https://e.org/1")
        assert isinstance(first, CorpusDamagedError)
        assert second.content == made[1][1]
        assert corpus.info().damaged == 1


def test_garbage_between_records_is_stepped_over(tmp_path: Path) -> None:
    made = [entry(number) for number in range(2)]
    info, first, second = members(*made)
    path = tmp_path / "c.warc.gz"
    path.write_bytes(info + b"\x1f\x8b\x08rubbish" + first + b"\0" * 5000 + second + b"tail")
    recorded, damaged = read(path)
    assert [one.entry for one in recorded] == [one for one, _ in made]
    assert len(damaged) == 3


def big_record(size: int) -> bytes:
    block = bytes(size)
    return (
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: %d\r\n\r\n" % size
        + block
        + b"\r\n\r\n"
    )


def test_bombs_and_oversized_records_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = entry_member(*entry(1))
    path = tmp_path / "c.warc.gz"
    # A ratio that no page has.
    path.write_bytes(gzip.compress(big_record(20 * 2**20)) + good)
    recorded, damaged = read(path)
    assert len(recorded) == 1
    assert [one.problem.what for one in damaged] == ["it unpacks to over 200 times its size"]
    # A size that no page has.
    monkeypatch.setattr(_warc_split, "MAX_RECORD_BYTES", 5000)
    path.write_bytes(zlib.compress(big_record(20_000), 0, wbits=31) + good)
    recorded, damaged = read(path)
    assert len(recorded) == 1
    assert damaged[0].problem.what == "it is larger than 5000 bytes"
    plain = tmp_path / "c.warc"
    plain.write_bytes(big_record(20_000) + gzip.decompress(good))
    recorded, damaged = read(plain)
    assert len(recorded) == 1
    assert damaged[0].problem.what == "it is larger than 5000 bytes"
    # A claim that the file can't keep is not believed, nor allocated.
    plain.write_bytes(big_record(10).replace(b": 10", b": 999999999999") + gzip.decompress(good))
    recorded, damaged = read(plain)
    assert len(recorded) == 1
    assert "cut off" in damaged[0].problem.what


def test_the_number_of_records_and_of_problems_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_warc_split, "MAX_RECORDS", 3)
    path = tmp_path / "c.warc.gz"
    path.write_bytes(b"".join(members(*(entry(number) for number in range(9)))))
    recorded, damaged = read(path)
    assert len(recorded) == 2  # the third was the file's own description
    assert "too many records" in damaged[0].problem.what
    monkeypatch.setattr(_warc_split, "MAX_PROBLEMS", 4)
    path.write_bytes((entry_member(*entry(1))[:-9] + b"?") * 50)
    recorded, damaged = read(path)
    assert recorded == []
    assert "too many damaged places" in damaged[-1].problem.what
    assert len(damaged) == 5


def test_a_large_page_that_packs_well_still_comes_back(tmp_path: Path) -> None:
    """Our own export must not look like a bomb to our own import."""
    made = entry(1, bytes(9 * 2**20))
    path = tmp_path / "c.warc.gz"
    path.write_bytes(entry_member(*made))
    recorded, damaged = read(path)
    assert damaged == []
    assert recorded[0].body == made[1]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a warc",
        b"\x1f\x8b\x08",
        gzip.compress(b"hello"),
        os.urandom(5000),
        b"PK\x03\x04" + bytes(100),
    ],
)
def test_what_is_no_warc_is_said_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    for name in ("x.warc", "x.warc.gz"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(CorpusError, match="is not a WARC file"):
            Corpus.open(path)


Change = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda text: text.replace(b"0.25", b"0.75"), "checksum"),
        (lambda text: text.replace(b"text/html", b"text/htmx"), "checksum"),
        (lambda text: text.replace(b"0.25", b"quick"), "checksum"),
        (lambda text: text.replace(b"e.org/1", b"e.org/2"), "key"),
        (lambda text: text.replace(b"Provider: page", b"Provider: evil"), "provider"),
        (lambda text: text.replace(b"Ordinal: 0", b"Ordinal: x"), "ordinal"),
        (lambda text: text.replace(b"HTTP/1.1 200", b"HTTP/1.1 abc"), "HTTP"),
        (lambda text: text.replace(b"Type: response", b"Type: metadata"), "neither"),
    ],
)
def test_a_forged_record_is_refused(tmp_path: Path, change: Change, what: str) -> None:
    text = change(gzip.decompress(entry_member(*entry(1))))
    assert text != gzip.decompress(entry_member(*entry(1)))
    path = tmp_path / "c.warc.gz"
    path.write_bytes(gzip.compress(text) + entry_member(*entry(5)))
    recorded, damaged = read(path)
    assert len(recorded) == 1
    assert what in damaged[0].problem.what


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_input_does_more_than_be_reported(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Random changes to a plain file: every outcome is an entry, a problem or a refusal."""
    good = gzip.decompress(b"".join(members(entry(1), entry(2))))
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(changed)))
        end = start + data.draw(st.integers(0, 20))
        changed[start:end] = data.draw(st.binary(max_size=8))
    path = tmp_path_factory.getbasetemp() / "fuzz.warc"
    path.write_bytes(bytes(changed))
    try:
        recorded, _ = read(path)
    except CorpusError:
        return
    assert {one.entry for one in recorded} <= {entry(1)[0], entry(2)[0]}


def test_keys_of_other_forms_are_not_confused() -> None:
    any_language = RequestKey("page", "GET", "https://e.org/1", "*", None)
    assert any_language == entry(1)[0].request.in_any_language()
    assert any_language.sha256 != entry(1)[0].request.sha256
