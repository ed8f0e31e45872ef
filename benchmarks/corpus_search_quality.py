"""How well a search over the recorded pages stands in for the searches that were recorded.

python benchmarks/corpus_search_quality.py [CORPUS]
python benchmarks/corpus_search_quality.py --hotpotqa FOLDER

For each recorded search without a site restriction: does the corpus search
return one of the recorded pages that the search itself listed among its first
ten (`listed`)?  For each question with known gold: does it return a page that
has the answer's text (`answer`, maths left out, since its answers are numbers
that stand on any page)?  By words alone, and by words and
vectors; within the first 1, 3, 6 and 10 pages.

With --hotpotqa the pages are the paragraphs in FOLDER/corpus.json, recorded
into a corpus of their own, and the share of the supporting paragraphs that
FOLDER/questions.json names is what counts, within the first 2 and 10.
"""

from __future__ import annotations

import asyncio
import html
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

from harness.corpus import Corpus, read_recording
from harness.corpus_index import CorpusIndex
from harness.corpus_index._terms import terms
from harness.question_file import load_questions
from harness.quiz import Category, Question
from harness.replay import sample_path
from harness.retrieval import load_encoder
from harness.settings import Settings
from harness.web.merge import url_key
from harness.web.query import build_query

CUTS = (1, 3, 6, 10)
PAGE = (
    "<html><head><title>{0}</title></head>"
    "<body><main><article><h1>{0}</h1><p>{1}</p></article></main></body></html>"
)
Search = Callable[[str], list[str]]


def recorded_searches(corpus: Corpus) -> dict[str, list[str]]:
    """Return the unrestricted recorded queries and the addresses that each listed."""
    found = {}
    for entry in corpus.entries():
        if entry.request.provider != "searxng" or entry.status != 200:
            continue
        query = parse_qs(urlsplit(entry.request.url).query).get("q", [""])[0]
        recording = read_recording(corpus, entry.request.sha256, entry.ordinal)
        if recording is None or "site:" in query:
            continue
        results = json.loads(recording[1]).get("results", [])[:10]
        found[query] = [str(result["url"]) for result in results]
    return found


def listed(search: Search, searches: dict[str, list[str]], known: set[str]) -> list[float]:
    """Return the share of searches for which a page that they listed is found."""
    places = []
    for query, urls in searches.items():
        wanted = {url_key(url) for url in urls} & known
        if wanted:
            places.append(first([url_key(url) in wanted for url in search(query)]))
    return [sum(place < cut for place in places) / len(places) for cut in CUTS]


def answered(search: Search, questions: Sequence[Question], texts: dict[str, str]) -> list[float]:
    """Return the share of questions for which a page with the answer's words is found."""
    places = []
    for question in questions:
        gold = f" {' '.join(terms(question.gold.answer or ''))} "
        if any(gold in text for text in texts.values()):
            urls = search(build_query(question.text))
            places.append(first([gold in texts[url] for url in urls]))
    return [sum(place < cut for place in places) / len(places) for cut in CUTS]


def first(found: Sequence[bool]) -> int:
    """Return the place of the first that is found, a large number where none is."""
    return next((place for place, right in enumerate(found) if right), 1_000)


def main(path: Path) -> None:
    """Print one table."""
    with Corpus.open(path) as corpus:
        encoder = load_encoder(Settings().retrieval.encoder)
        with CorpusIndex.open(corpus, encoder) as index, CorpusIndex.open(corpus) as by_words:
            index.update()
            stored = index._database.connection.execute("SELECT url, title, text FROM pages")
            texts = {url: f" {' '.join(terms(f'{title} {text}'))} " for url, title, text in stored}
            rows = {"words": by_words, "words and vectors": index}
            searches = recorded_searches(corpus)
            known = {url_key(url) for url in texts}
            assert corpus.questions_path is not None
            questions = [
                question
                for question in load_questions(corpus.questions_path).questions
                if question.gold.answer and question.category is not Category.MATHS
            ]
            print(f"## Corpus search on '{corpus.manifest.name}'")
            print(f"{len(texts)} pages, {len(searches)} searches, {len(questions)} questions\n")
            head = [f"{kind}@{cut}" for kind in ("listed", "answer") for cut in CUTS]
            print(f"| ranking | {' | '.join(head)} |")
            print(f"|---|{'---:|' * len(head)}")
            for name, used in rows.items():

                def search(query: str, used: CorpusIndex = used) -> list[str]:
                    return [hit.url for hit in used.search(query, limit=10)]

                shares = [*listed(search, searches, known), *answered(search, questions, texts)]
                print(f"| {name} | {' | '.join(f'{share:.3f}' for share in shares)} |")


def hotpotqa(folder: Path) -> None:
    """Print one table."""
    paragraphs = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    address = {title: f"http://hotpot.example/{place}" for place, title in enumerate(paragraphs)}
    text = {
        address[title]: PAGE.format(html.escape(title), html.escape("".join(sentences)))
        for title, sentences in paragraphs.items()
    }

    def serve(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, headers={"content-type": "text/html"}, text=text[str(request.url)]
        )

    inner = httpx.MockTransport(serve)
    with tempfile.TemporaryDirectory() as made, Corpus.create(Path(made, "c"), name="c") as corpus:

        async def record() -> None:
            async with httpx.AsyncClient(transport=corpus.tape("record", inner=inner)) as client:
                for url in text:
                    await client.get(url)

        asyncio.run(record())
        encoder = load_encoder(Settings().retrieval.encoder)
        with CorpusIndex.open(corpus, encoder) as index, CorpusIndex.open(corpus) as by_words:
            found = index.update().pages
            print("## Corpus search on HotpotQA")
            print(f"{found} paragraphs, {len(questions)} questions\n")
            print("| ranking | recall@2 | recall@10 |\n|---|---:|---:|")
            for name, used in {"words": by_words, "words and vectors": index}.items():
                shares = []
                for question in questions:
                    wanted = {address[title] for title, _ in question["supporting_facts"]}
                    hits = used.search(build_query(question["question"]), limit=10)
                    urls = [hit.url for hit in hits]
                    shares.append([len(wanted & set(urls[:cut])) / len(wanted) for cut in (2, 10)])
                means = [sum(column) / len(shares) for column in zip(*shares, strict=True)]
                print(f"| {name} | {means[0]:.3f} | {means[1]:.3f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hotpotqa"]:
        hotpotqa(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else sample_path())
