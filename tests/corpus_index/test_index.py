from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.corpus import Corpus
from harness.corpus_index import CorpusIndex, _postings
from harness.errors import CorpusError, MissingError

HTML = """<html lang="en"><head><title>{title}</title></head><body><nav>Home About</nav>
<main><article><h1>{title}</h1><p>{text}</p><p>{text}</p></article></main></body></html>"""


def urls(index: CorpusIndex, query: str, **more: Any) -> list[str]:
    return [hit.url for hit in index.search(query, **more)]


def index_file(corpus: Corpus) -> Path:
    return corpus.derived / "search" / "index.sqlite3"


def test_pages_are_found_by_words_and_by_vectors(record, towns, encoder):
    with Corpus.open(record(towns)) as corpus, CorpusIndex.open(corpus, encoder) as index:
        updated = index.update()
        assert (updated.pages, updated.added, updated.encoded, updated.unreadable) == (4, 4, 4, 0)
        best = index.search("Who built the lighthouse of Anvera?")[0]
        assert best.url == "http://a.example/anvera"
        assert best.lexical_rank == best.vector_rank == 1
        assert best.score == round(2 / 61, 6)
        assert "Orla" in best.snippet
        assert best.accept_language == "en-us"
        assert urls(index, "nothing fits such gibberish xyzzy") == []
        assert urls(index, "") == urls(index, "?!") == []


def test_by_words_alone(record, towns):
    with Corpus.open(record(towns)) as corpus, CorpusIndex.open(corpus) as index:
        index.update()
        hits = index.search("lighthouse")
        assert {hit.url[-4:] for hit in hits} == {"vera", "voss", "/low"}
        assert all(hit.vector_rank is None for hit in hits)
        assert index.describe() == {"format": "hotseat-search/1", "encoder": None}


def test_sites_limits_and_pages_of_results(record, towns, encoder):
    with Corpus.open(record(towns)) as corpus, CorpusIndex.open(corpus, encoder) as index:
        index.update()
        everything = urls(index, "lighthouse town market")
        assert urls(index, "lighthouse town market", limit=2) == everything[:2]
        assert urls(index, "lighthouse town market", limit=2, offset=2) == everything[2:4]
        assert urls(index, "lighthouse town market", limit=2, offset=99) == []
        within = urls(index, "lighthouse (site:b.example OR site:c.example)")
        assert set(within) == {"http://b.example/voss", "http://b.example/low"}
        assert urls(index, "lighthouse site:example") == urls(index, "lighthouse")
        assert urls(index, "lighthouse site:ample") == []


def test_only_pages_that_arrived_are_found(record, encoder):
    text = "The lighthouse of the northern coast was built of stone and wood."
    folder = record(
        {
            "http://a.example/good": text,
            "http://a.example/gone": 404,
            "http://a.example/late": 503,
            "http://a.example/pdf": ("application/pdf", b"%PDF-1.4 lighthouse"),
            "http://a.example/short": "lighthouse",
            "http://a.example/html": ("text/html", HTML.format(title="Lighthouse", text=text)),
        }
    )
    record({"http://s.example/search?q=lighthouse": text}, provider="searxng")
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus, encoder) as index:
        updated = index.update()
        assert (updated.pages, updated.unreadable) == (2, 2)
        hits = index.search("lighthouse")
        assert [hit.url for hit in hits] == ["http://a.example/html", "http://a.example/good"]
        assert hits[0].title == "Lighthouse"
        assert "Home About" not in hits[0].snippet


def test_an_update_reads_only_what_is_new(record, towns, encoder):
    folder = record(dict(list(towns.items())[:2]))
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus, encoder) as index:
        assert index.update().added == 2
        before, asked = index_file(corpus).stat().st_mtime_ns, encoder.asked
        again = index.update()
        assert (again.added, again.removed, again.encoded) == (0, 0, 0)
        assert index_file(corpus).stat().st_mtime_ns == before
        assert encoder.asked == asked
        record(towns)
        third = index.update()
        assert (third.added, third.encoded, third.pages, len(index)) == (2, 2, 4, 4)


def test_a_page_that_was_fetched_again_is_replaced(record, towns, encoder):
    folder = record(towns)
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus, encoder) as index:
        index.update()
        url = "http://a.example/anvera"
        record(
            {url: "Anvera burnt down and is a field of poppies and thistles now."}, refresh="all"
        )
        updated = index.update()
        assert (updated.added, updated.removed, updated.encoded) == (1, 1, 1)
        assert urls(index, "poppies")[0] == url
        assert all(hit.lexical_rank is None for hit in index.search("1612 Orla"))
        record({url: 404}, refresh="all")
        assert index.update().removed == 1
        assert url not in urls(index, "poppies thistles")
        # Fetched again with the same answer: nothing to do.
        record({"http://a.example/calder": towns["http://a.example/calder"]}, refresh="all")
        updated = index.update()
        assert (updated.added, updated.removed, updated.encoded) == (0, 0, 0)


def test_another_encoder_gets_vectors_of_its_own_and_the_texts_stay(
    record, towns, encoder, other_encoder
):
    with Corpus.open(record(towns)) as corpus:
        with CorpusIndex.open(corpus, encoder) as index:
            index.update()
            first = index.search("lighthouse")
        with CorpusIndex.open(corpus, other_encoder) as index:
            updated = index.update()
            assert (updated.added, updated.encoded) == (0, 4)
            assert index.notes == []
        with CorpusIndex.open(corpus, encoder) as index:  # both are kept
            assert index.update().encoded == 0
            assert index.search("lighthouse") == first


def test_a_page_in_several_languages_counts_once(record):
    text = "The lighthouse of Anvera was built in 1612 by the pilots of the town."
    folder = record({"http://a.example/x": text})
    record({"http://a.example/x": "Il faro di Anvera fu costruito dai piloti."}, language="it-IT")
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus) as index:
        assert index.update().pages == 2
        (hit,) = index.search("Anvera")
        assert hit.url == "http://a.example/x"
        assert [hit.accept_language for hit in index.search("piloti faro")] == ["it-it"]


@pytest.mark.parametrize(
    "text",
    [
        "\x00lighthouse\x01\x02\x1b[31m" + "\ufffe\u202e" * 50,
        "lighthouse " + "a" * 3_000_000,
        "lighthouse\n" * 100_000,
        'lighthouse " OR title:* NEAR(a b) -- ; DROP TABLE pages; {}' * 5,
        "𝔩𝔦𝔤𝔥𝔱𝔥𝔬𝔲𝔰𝔢 " * 50,
    ],
)
def test_hostile_text_does_no_harm(record, towns, encoder, text):
    folder = record({**towns, "http://evil.example/": text})
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus, encoder) as index:
        index.update()
        hits = index.search("lighthouse", limit=9)
        assert "http://evil.example/" in [hit.url for hit in hits]
        assert all(len(hit.snippet) <= 300 and "\x00" not in hit.snippet for hit in hits)


@pytest.mark.parametrize(
    "query",
    ['" OR 1', "title:anvera", "NEAR(a, b)", "*", "a\x00b", "{title}: x", "-", "x" * 10_240],
)
def test_a_query_is_never_syntax(record, towns, encoder, query):
    with Corpus.open(record(towns)) as corpus, CorpusIndex.open(corpus, encoder) as index:
        index.update()
        index.search(query)
        index.search(f"lighthouse {query} {query}")


def test_an_empty_corpus_has_nothing_to_find(record, encoder):
    with Corpus.open(record({})) as corpus, CorpusIndex.open(corpus, encoder) as index:
        assert index.update().pages == 0
        assert index.search("anything") == []


def test_reading_only(record, towns, encoder):
    with Corpus.open(record(towns)) as corpus:
        with pytest.raises(MissingError, match="no search index yet"):
            CorpusIndex.open(corpus, encoder, read_only=True)
        with CorpusIndex.open(corpus, encoder) as index:
            index.update()
            found = index.search("lighthouse")
        with CorpusIndex.open(corpus, encoder, read_only=True) as index:
            assert index.search("lighthouse") == found
            with pytest.raises(CorpusError, match="reading only"):
                index.update()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_where_nothing_can_be_written_it_is_built_in_memory(record, towns, encoder, isolated_home):
    folder = record(towns)
    folder.chmod(0o500)
    isolated_home.chmod(0o500)
    try:
        with (
            Corpus.open(folder, read_only=True) as corpus,
            CorpusIndex.open(corpus, encoder) as index,
        ):
            assert "built in memory" in index.notes[0]
            assert index.update().pages == 4
            assert urls(index, "Orla") == ["http://a.example/anvera"]
    finally:
        folder.chmod(0o700)
        isolated_home.chmod(0o700)


def test_a_folder_that_is_a_file_is_told(record, towns):
    with Corpus.open(record(towns)) as corpus:
        corpus.derived.write_text("in the way")
        with CorpusIndex.open(corpus) as index:
            assert "built in memory" in index.notes[0]
            assert index.update().pages == 4


WORDS = st.lists(st.sampled_from(["faro", "porto", "mare", "torre", "nave", "sale"]), min_size=8)
BODIES = WORDS.map(lambda words: " ".join(words) + " and so on, and so forth, to be long enough.")
STEPS = st.lists(st.tuples(st.integers(0, 5), BODIES, st.booleans()), min_size=1, max_size=8)


def everything(index: CorpusIndex) -> list[Any]:
    """Return hits and the scores below them, for queries of several kinds."""
    queries = ["faro", "porto mare", "torre nave sale vento faro", "so forth vento"]
    found: list[Any] = [index.search(query, limit=20) for query in queries]
    pages = index._current()
    for query in queries:
        places, scores = pages.by_terms(index._database, query.split())
        found.append(sorted(zip([pages.urls[p] for p in places], scores.tolist(), strict=True)))
    return found


@given(STEPS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_how_the_index_came_about_makes_no_difference(
    tmp_path_factory, record, encoder, monkeypatch, steps
):
    monkeypatch.setattr(_postings, "_SEGMENTS", 2)
    name = tmp_path_factory.mktemp("grown").name
    final: dict[str, str] = {}
    folder = record({}, name=name)
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus, encoder) as grown:
        for number, body, look in steps:
            url = f"http://p{number}.example/"
            final[url] = body
            record({url: body}, name=name, refresh="all")
            if look:
                grown.update()
                grown.search("faro")
        grown.update()
        told = everything(grown)
    at_once = record(dict(reversed(final.items())), name=f"{name}-again")
    with Corpus.open(at_once) as corpus, CorpusIndex.open(corpus, encoder) as fresh:
        fresh.update()
        assert everything(fresh) == told


def sizes(index: CorpusIndex) -> list[int]:
    rows = index._database.connection.execute("SELECT size FROM segments ORDER BY number")
    return [row[0] for row in rows]


def test_segments_are_merged_and_what_is_gone_is_dropped(record, encoder):
    words = [f"word{number}" for number in range(1_000)]
    filler = "and nothing more than that was seen here"
    folder = record({"http://large.example/": " ".join(words)})
    with Corpus.open(folder) as corpus, CorpusIndex.open(corpus) as index:
        index.update()
        for number in range(30):
            text = f"lighthouse number{number} of the small pages of the coast"
            record({f"http://p{number}.example/": text})
            index.update()
            assert len(sizes(index)) <= 9
        assert sizes(index)[0] == 1_000  # the largest was never written again
        assert len(index.search("lighthouse", limit=50)) == 30
        for number in range(30):
            record({f"http://p{number}.example/": "a harbour " + " ".join(words)}, refresh="all")
        index.update()
        for body in (f"one lighthouse {filler}", f"a harbour {filler}"):
            record({f"http://p{number}.example/": body for number in range(30)}, refresh="all")
            index.update()
        alive = index._database.connection.execute("SELECT SUM(terms) FROM pages").fetchone()[0]
        assert sum(sizes(index)) <= 2 * alive
        assert index.search("lighthouse") == []
        assert len(index.search("harbour", limit=50)) == 30
