import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.evidence import Document
from harness.retrieval import Encoding, Selection, select_passages, source_block
from harness.retrieval.rerank import MAXSIM, MAXSIM_OPTIONS, CosineReranker, MaxSimReranker
from harness.settings import RetrievalSettings
from harness.trace import Code, Trace

LIGHT = "The lighthouse of Anvera was lit by Ruth Calder in 1821."
FERRY = "A ferry crosses the strait twice a day in summer."
BAKER = "The baker of the harbour sells rye bread on Mondays."
ASK = "Who lit the lighthouse of Anvera?"
# The fake's vectors have a noise of their own.
PLAIN = RetrievalSettings(
    floor={"cosine": 0.0, MAXSIM.name: 0.0, MAXSIM_OPTIONS.name: 0.0}, threshold=0.0
)


@pytest.fixture
def choose(hashing_encoder, count_words):
    def call(query=ASK, documents=(), trace=None, **rest) -> Selection:
        return select_passages(
            query,
            documents,
            settings=rest.pop("settings", PLAIN),
            encoder=rest.pop("encoder", hashing_encoder),
            reranker=rest.pop("reranker", MaxSimReranker()),
            count_tokens=count_words,
            trace=trace or Trace(),
            **rest,
        )

    return call


def codes(trace: Trace) -> list[Code]:
    return [item.code for item in trace.degradations]


def test_the_passage_that_answers_comes_first_with_its_source(choose, document):
    documents = [
        document(FERRY, "https://a.example/ferry"),
        document(LIGHT, "https://b.example/l", title="Light", date="2024-05-01", trusted=True),
    ]
    first = choose(documents=documents).passages[0]
    assert (first.id, first.text, first.url) == ((1, 0), LIGHT, "https://b.example/l")
    assert (first.title, first.date, first.trusted, first.origin) == (
        "Light",
        "2024-05-01",
        True,
        "page",
    )
    assert first.score > first.similarity > 0


@pytest.mark.parametrize("texts", [[], [""], [" \n", "\t"]])
def test_no_text_is_no_documents(choose, document, texts):
    trace = Trace()
    selection = choose(documents=[document(t) for t in texts], trace=trace)
    assert selection == Selection((), 0, 0, None, None, "maxsim+0.5*cosine")
    assert codes(trace) == [Code.NO_DOCUMENTS]
    assert trace.spans == []
    assert trace.facts["passages"] == []


def test_stages_are_timed_and_facts_are_json(choose, document):
    trace = Trace()
    selection = choose(documents=[document(LIGHT), document(FERRY)], trace=trace, options=["Ruth"])
    assert [span.stage for span in trace.spans] == ["chunk", "encode", "rerank", "rerank"]
    facts = json.loads(json.dumps(trace.facts))
    assert facts["reranker"] == "maxsim"
    assert facts["scale"] == selection.scale == "maxsim+0.5*cosine+0.5*option"
    assert facts["candidates"] == selection.candidates == 2
    assert facts["threshold"] == selection.threshold
    assert facts["passages"][0] == {
        "id": [0, 0],
        "url": "https://a.example/1",
        "similarity": selection.passages[0].similarity,
        "score": selection.best_score,
        "chars": len(LIGHT),
    }


def test_a_passage_that_names_an_option_rises(choose, document):
    documents = [
        document("Who was it that saw the lighthouse?"),
        document("Ruth Calder was of Anvera."),
    ]
    assert choose(documents=documents).passages[0].id == (0, 0)
    told = choose(documents=documents, options=["Tom Brown", "Ruth Calder"])
    assert told.passages[0].id == (1, 0)
    assert told == choose(documents=documents, options=["Ruth Calder", "Tom Brown"])


@pytest.mark.parametrize("options", [(), ("",), (" ", "\n")])
def test_blank_options_are_no_options(choose, document, options):
    assert choose(documents=[document(LIGHT)], options=options).scale == "maxsim+0.5*cosine"


def test_everything_is_encoded_in_one_call_and_equal_texts_once(choose, document, hashing_encoder):
    choose(documents=[document(LIGHT), document(LIGHT.upper(), "https://m.example")], options=["X"])
    assert hashing_encoder.history == [[ASK, "X", f"A title\n{LIGHT}"]]


def test_the_title_says_what_a_passage_is_about(choose, document):
    documents = [document("It was lit in 1821.", title="Low Ferry", url="https://f.example")]
    documents.append(document("It was lit in 1821 .", title="Lighthouse of Anvera"))
    best = choose(documents=documents).passages[0]
    assert (best.id, best.text) == ((1, 0), "It was lit in 1821 .")
    assert choose(documents=[document(FERRY, title="")]).passages[0].text == FERRY


def test_without_titles_neither_vectors_nor_words_know_them(choose, document, hashing_encoder):
    documents = [document(FERRY, title="Anvera lighthouse lit"), document(LIGHT, title="")]
    plain = replace_settings(titles=False)
    untitled = [document(FERRY, title=""), document(LIGHT, title="")]
    found = [p.score for p in choose(documents=documents, settings=plain).passages]
    assert found == [p.score for p in choose(documents=untitled).passages]
    assert found != [p.score for p in choose(documents=documents).passages]
    assert hashing_encoder.history[0] == [ASK, FERRY, LIGHT]


@pytest.mark.parametrize("prefilter", [1, 5, 20])
def test_the_needed_passage_is_encoded_though_many_are_not(
    choose, document, hashing_encoder, prefilter
):
    page = f"{FERRY} " + " ".join(f"Bread number {n} was baked." for n in range(60)) + f" {LIGHT}"
    trace = Trace()
    wanted = replace_settings(prefilter=prefilter, chunk_chars=60, chunk_overlap=0)
    selection = choose(documents=[document(page)], settings=wanted, trace=trace)
    assert "Ruth" in selection.passages[0].text
    assert selection.candidates > 30
    assert trace.facts["candidates"] == selection.candidates
    assert prefilter <= trace.facts["encoded"] <= prefilter + 1  # and the page's first
    assert len(hashing_encoder.history[0]) == trace.facts["encoded"] + 1  # and the question


def test_options_have_a_say_in_what_is_encoded(choose, document):
    page = " ".join(f"Bread number {n} was baked." for n in range(60)) + " Calder ate none."
    wanted = replace_settings(prefilter=1, chunk_chars=60, chunk_overlap=0)
    texts = [
        [p.text for p in choose("Who?", [document(page)], settings=wanted, options=o).passages]
        for o in ([], ["Tom", "Calder"])
    ]
    assert not any("Calder" in text for text in texts[0])
    assert "Calder" in texts[1][0]


def test_words_move_a_passage_up_but_not_its_score(choose, document):
    # To the fake, "anveras" is as far from "anvera" as any word; BM25 knows the plural.
    documents = [document(f"ferry {word}", title="") for word in ("to bakers", "to anveras now")]
    found = {
        weight: choose("anvera ferry", documents, settings=replace_settings(lexical_weight=weight))
        for weight in (0.0, 10.0)
    }
    assert found[10.0].passages[0].text == "ferry to anveras now"
    assert set(found[10.0].passages) == set(found[0.0].passages)
    assert found[10.0].best_score == max(p.score for p in found[0.0].passages)


def test_one_page_may_be_kept_from_giving_all(choose, document):
    page = document(f"{LIGHT} {LIGHT.replace('Ruth', 'Anna')}", "https://a.example")
    other = document("The lighthouse of Anvera, seen from the sea.", "https://b.example")
    wanted = {"chunk_chars": 60, "chunk_overlap": 0, "repeated": 1.0}
    free = choose(documents=[page, other], settings=replace_settings(**wanted))
    assert [p.url for p in free.passages].count("https://a.example") == 2
    capped = choose(documents=[page, other], settings=replace_settings(**wanted, per_source=1))
    assert sorted(p.url for p in capped.passages) == ["https://a.example", "https://b.example"]


def test_a_pages_first_passage_may_be_preferred(choose, document):
    page = document(f"{FERRY} {LIGHT}")
    wanted = {"chunk_chars": 60, "chunk_overlap": 0}
    assert choose(documents=[page], settings=replace_settings(**wanted)).passages[0].text == LIGHT
    first = replace_settings(**wanted, lead_weight=10.0)
    assert choose(documents=[page], settings=first).passages[0].text == FERRY


def test_the_first_of_equal_texts_stands_for_all(choose, document):
    documents = [
        document(LIGHT, "https://first.example"),
        document(LIGHT, "https://mirror.example"),
    ]
    selection = choose(documents=documents)
    assert [p.url for p in selection.passages] == ["https://first.example"]
    assert selection.candidates == 1


def test_a_near_copy_is_dropped_without_a_degradation(choose, document):
    trace = Trace()
    copy = LIGHT.removesuffix(".") + "!"
    selection = choose(documents=[document(LIGHT), document(copy), document(FERRY)], trace=trace)
    assert [p.text for p in selection.passages] == [LIGHT, FERRY]
    assert codes(trace) == []


def test_ties_go_to_the_earlier_document(choose, document):
    # The same bag of words in another order: the fake can't tell them apart.
    texts = ["alpha beta gamma delta epsilon", "epsilon delta gamma beta alpha"]
    for order in (texts, texts[::-1]):
        selection = choose("alpha", [document(t) for t in order])
        assert [p.text for p in selection.passages] == order
        assert len({p.score for p in selection.passages}) == 1


def test_nothing_over_the_floor(choose, document):
    trace = Trace()
    strict = replace_settings(floor={MAXSIM.name: 5.0})
    selection = choose(documents=[document(LIGHT)], trace=trace, settings=strict)
    assert selection.passages == ()
    assert selection.threshold is None
    assert selection.best_score == trace.facts["best_score"] > 0
    assert codes(trace) == [Code.NOTHING_OVER_THRESHOLD]


def test_what_is_under_the_threshold_is_left_out_without_a_degradation(choose, document):
    trace = Trace()
    documents = [document(LIGHT), document(FERRY), document(BAKER)]
    assert len(choose(documents=documents).passages) == 3
    strict = replace_settings(threshold=0.9)
    selection = choose(documents=documents, settings=strict, trace=trace)
    assert [p.text for p in selection.passages] == [LIGHT]
    assert codes(trace) == []


def test_the_number_of_passages_is_no_degradation_but_the_budget_is(choose, document):
    documents = [document(LIGHT), document(FERRY), document(BAKER)]
    trace = Trace()
    two = choose(documents=documents, settings=replace_settings(max_passages=2), trace=trace)
    assert len(two.passages) == 2
    assert codes(trace) == []
    trace = Trace()
    tight = choose(documents=documents, settings=replace_settings(context_tokens=15), trace=trace)
    assert [p.text for p in tight.passages] == [LIGHT]
    assert codes(trace) == [Code.CONTEXT_CUT]
    assert trace.degradations[0].detail == ("of 3 passages 2 left out and 0 cut to fit 15 tokens")


def test_the_best_passes_the_highest_threshold(choose, document):
    documents = [document(LIGHT), document(FERRY)]
    selection = choose(documents=documents, settings=replace_settings(threshold=1.0))
    assert [p.text for p in selection.passages] == [LIGHT]
    assert selection.threshold == selection.best_score


def test_a_passage_cut_short_is_a_degradation(choose, document):
    trace = Trace()
    selection = choose(
        documents=[document(f"{LIGHT} {FERRY}")],
        settings=replace_settings(context_tokens=15),
        trace=trace,
    )
    assert [p.text for p in selection.passages] == [LIGHT]
    assert trace.degradations[0].detail == "of 1 passages 0 left out and 1 cut to fit 15 tokens"


def test_equal_scores_go_by_place_also_where_cosines_differ(choose, document):
    # score = token match + cosine / 2: 0.6 + 0.2 / 2 = 0.5 + 0.4 / 2
    vectors = {"q": (1.0, 1.0), "first": (0.2, 0.6), "second": (0.4, 0.5)}

    class Crafted:
        def describe(self) -> dict:
            return {}

        def encode(self, texts):
            return [Encoding(row(vectors[t][0]), row(vectors[t][1])[None, :]) for t in texts]

    def row(first: float) -> np.ndarray:
        return np.array([first, (1 - first**2) ** 0.5], np.float32)

    documents = [document(text, title="") for text in ("first", "second")]
    passages = choose("q", documents, encoder=Crafted()).passages
    assert [p.score for p in passages] == [0.7, 0.7]
    assert [p.text for p in passages] == ["first", "second"]


def test_only_the_nearest_are_reranked(choose, document):
    documents = [document(t) for t in (FERRY, BAKER, LIGHT)]
    selection = choose(documents=documents, settings=replace_settings(keep=1))
    assert [p.text for p in selection.passages] == [LIGHT]
    assert selection.candidates == 3


def test_without_a_reranker_the_score_is_the_cosine(choose, document):
    selection = choose(documents=[document(LIGHT)], reranker=CosineReranker())
    assert selection.scale == "cosine"
    assert selection.passages[0].score == selection.passages[0].similarity


@pytest.mark.parametrize("chunker", ["sentences", "characters"])
def test_a_long_page_is_chunked_by_the_settings(choose, document, chunker):
    page = f"{FERRY} " * 40 + LIGHT + f" {BAKER}" * 40
    wanted = replace_settings(chunker=chunker, chunk_chars=120, max_passages=3)
    selection = choose(documents=[document(page)], settings=wanted)
    assert any("Ruth" in passage.text for passage in selection.passages)
    assert all(len(passage.text) <= 120 for passage in selection.passages)


@pytest.mark.parametrize(
    "text", ["x", "👩\u200d🚀", "مرحبا بالعالم", "。。。", "\ud800 half", "a\x00b", "字" * 3_000]
)
def test_odd_texts_are_taken(choose, document, text):
    selection = choose("x 字", [document(text), document(LIGHT)], options=["👩", "\ud800"])
    assert selection.candidates >= 2
    for passage in selection.passages:
        passage.text.encode("utf-8")


WORDS = st.sampled_from(
    [
        "lighthouse",
        "Anvera",
        "ferry",
        "bread.",
        "harbour.",
        "who",
        "lit",
        "it?",
        "1821",
        "字。",
        "x\n",
    ]
)
PAGES = st.lists(st.lists(WORDS, max_size=60).map(" ".join), max_size=4)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    PAGES,
    st.integers(0, 60),
    st.integers(1, 5),
    st.floats(0, 1),
    st.booleans(),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([0, 3]),
)
def test_rules_hold_for_any_pages(
    hashing_encoder, pages, budget, most, threshold, with_options, lexical_weight, prefilter
):
    wanted = replace_settings(
        context_tokens=budget,
        max_passages=most,
        threshold=threshold,
        chunk_chars=60,
        keep=10,
        lexical_weight=lexical_weight,
        prefilter=prefilter,
    )
    documents = [Document(f"https://{n}.example", "T", t, "page") for n, t in enumerate(pages)]

    def run() -> Selection:
        return select_passages(
            ASK,
            documents,
            settings=wanted,
            encoder=hashing_encoder,
            reranker=MaxSimReranker(),
            count_tokens=count,
            trace=Trace(),
            options=["Anvera", "bread"] if with_options else (),
        )

    selection = run()
    assert selection == run()
    chosen = selection.passages
    assert len(chosen) <= most
    blocks = [source_block(p, n) for n, p in enumerate(chosen, 1)]
    assert sum(count(block) for block in blocks) == selection.context_tokens <= budget
    if not lexical_weight:
        assert [(-p.score, p.id) for p in chosen] == sorted((-p.score, p.id) for p in chosen)
    for passage in chosen:
        assert selection.threshold is not None
        assert passage.score >= selection.threshold
        assert passage.text


def count(text: str) -> int:
    return len(text.split())


def replace_settings(**changes) -> RetrievalSettings:
    return PLAIN.model_copy(update=changes)
