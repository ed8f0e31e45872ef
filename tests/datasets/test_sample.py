"""The shipped recording: its questions, its pages, and that a rebuild gives it again."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.question_file import load_questions
from harness.quiz import Category, GoldKind, Question
from harness.web.query import build_query, restrict_to_sites

LITTLE_WORDS = {"a", "an", "and", "in", "it", "of", "on", "s", "the"}

# Every sum of the maths questions, done again.
MATHS = {
    "mat-r01": 17 * 23 - 19,
    "mat-r02": f"{80 * Fraction(125, 100) * Fraction(80, 100)} euros",
    "mat-r03": Fraction(sum(a + b == 9 for a in range(1, 7) for b in range(1, 7)), 36),
    "mat-r04": next(x for x in range(100) if 5 * x - 7 == 2 * x + 11),
    "mat-r05": 3 * 3**2 - 4,
    "mat-r06": f"{next(n for n in (5_273, 5_274, 4_816, 7_145) if n % 9 == 0):,}",
    "mat-r07": math.isqrt(9**2 + 12**2),
    "mat-r08": math.gcd(84, 126),
    "mat-r09": len(set(itertools.permutations("LEVEL"))),
    "mat-r10": 2**3 - 0**3,
    "mat-r11": f"{sum(range(1, 61)):,}",
    "mat-r12": Fraction(4, 10) * Fraction(3, 9),
    "mat-r13": math.prod(x for x in range(-20, 20) if x * x - 7 * x + 10 == 0),
    "mat-r14": f"{180 * (8 - 2) // 8}°",
    "mat-r15": pow(7, 2026, 10),
}


@pytest.fixture(scope="module")
def pages(sample: SimpleNamespace) -> list[Any]:
    return sample.site_pages.load_pages()


@pytest.fixture(scope="module")
def questions(sample: SimpleNamespace) -> tuple[Question, ...]:
    loaded = load_questions(sample.folder / "questions.jsonl")
    assert loaded.problems == ()
    return loaded.questions


@pytest.fixture(scope="module")
def shipped(sample: SimpleNamespace) -> Path:
    return sample.root / "cache" / "sample"


class TestPages:
    def test_there_are_enough_and_no_real_site_is_imitated(self, pages) -> None:
        assert len(pages) >= 60
        assert all(page.host.endswith(".example") for page in pages)

    def test_every_kind_of_trouble_is_there(self, pages) -> None:
        behaviours = {page.behaviour for page in pages}
        assert behaviours >= {"ok", "redirect", "status", "hang", "no-charset-header", "no-charset"}
        assert any(page.argument == "404" for page in pages)
        latin = [page for page in pages if page.charset == "iso-8859-1"]
        assert any(not page.body.isascii() for page in latin)
        assert any(page.lang == "it" for page in pages)
        assert {page.template for page in pages} == {
            *("encyclopedia", "newspaper", "blog", "museum", "government", "plain")
        }
        assert sum("<table" in page.body for page in pages) >= 3

    def test_redirects_lead_to_pages(self, pages) -> None:
        addresses = {page.url for page in pages}
        targets = [page.target for page in pages if page.behaviour == "redirect"]
        assert set(targets) <= addresses

    def test_one_page_commands_the_reader_and_one_says_the_wrong_thing(self, pages) -> None:
        commands = [page for page in pages if "ignore your previous instructions" in page.text]
        assert len(commands) == 1
        wrong = next(page for page in pages if page.host == "thingsiheard.example")
        assert "171 days" in wrong.text


class TestQuestions:
    def test_fifteen_of_each_category(self, questions) -> None:
        assert Counter(q.category for q in questions) == dict.fromkeys(Category, 15)
        assert len({q.id for q in questions}) == 90

    def test_gold(self, questions) -> None:
        kinds = Counter(q.gold.kind for q in questions)
        assert kinds[GoldKind.KNOWN] >= 80
        assert 3 <= kinds[GoldKind.PARTIAL] <= 8
        assert kinds[GoldKind.UNKNOWN] == 0

    def test_enough_are_about_invented_facts(self, questions) -> None:
        invented = [q for q in questions if "invented" in q.tags]
        assert len(invented) >= 40
        assert all(("invented" in q.tags) != ("real" in q.tags) for q in questions)

    def test_the_longest_option_is_no_clue(self, questions) -> None:
        known = [q for q in questions if q.gold.answer is not None]
        right = 0.0
        for question in known:
            longest = max(len(option.text) for option in question.options)
            tied = [option.text for option in question.options if len(option.text) == longest]
            right += (question.gold.answer in tied) / len(tied)
        assert right / len(known) <= 0.4

    def test_the_place_of_the_right_option_is_no_clue(self, questions) -> None:
        places = Counter(
            [option.text for option in q.options].index(q.gold.answer)
            for q in questions
            if q.gold.answer is not None
        )
        assert all(places[place] >= 15 for place in range(4))

    def test_sums_come_out_as_the_gold_says(self, questions) -> None:
        maths = {q.id: q.gold.answer for q in questions if q.category is Category.MATHS}
        assert maths == {name: str(value) for name, value in MATHS.items()}

    def test_partial_gold_is_consistent_with_the_truth(self, questions, sample) -> None:
        text = (sample.folder / "questions" / "partial_truth.json").read_text(encoding="utf-8")
        truth = json.loads(text)
        partial = {q.id: q for q in questions if q.gold.kind is GoldKind.PARTIAL}
        assert truth.keys() == partial.keys()
        for name, question in partial.items():
            assert truth[name] in [option.text for option in question.options]
            assert truth[name] not in question.gold.refused

    def test_a_page_supports_every_answer(self, questions, pages, sample) -> None:
        words = sample.site_search.words
        served = ("ok", "no-charset-header", "no-charset")
        texts = [
            set(words(f"{page.title} {page.text}")) for page in pages if page.behaviour in served
        ]
        unsupported = [
            question.id
            for question in questions
            if question.gold.answer is not None
            and question.category is not Category.MATHS
            and not any(set(words(question.gold.answer)) - LITTLE_WORDS <= text for text in texts)
        ]
        assert unsupported == []

    def test_the_opening_part_is_a_fair_mix(self, questions) -> None:
        opening = questions[:24]
        assert Counter(q.category for q in opening) == dict.fromkeys(Category, 4)
        assert 10 <= sum("invented" in q.tags for q in opening) <= 16

    def test_merging_fills_up_with_invented_ones_and_says_when_it_cannot(
        self, sample, tmp_path: Path
    ) -> None:
        def write(name: str, count: int) -> None:
            lines = [
                json.dumps({"id": f"{name}-{category}-{n}", "category": category})
                for category in sample.build.CATEGORIES
                for n in range(count)
            ]
            (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))

        write("real", 5)
        write("invented", 12)
        merged = sample.build.merge_questions(tmp_path)
        assert [line["category"] for line in merged[:6]] == list(sample.build.CATEGORIES)
        news = [line["id"] for line in merged if line["category"] == "news"]
        assert len(news) == 15
        assert [name for name in news if "real" in name] == [f"real-news-{n}" for n in range(5)]
        assert [name for name in news if "inv" in name] == [f"invented-news-{n}" for n in range(10)]
        assert sum("real" in name for name in news[:6]) == 2
        write("invented", 9)
        with pytest.raises(ValueError, match="only 14 questions of entertainment"):
            sample.build.merge_questions(tmp_path)


class TestShipped:
    def test_the_manifest_vouches_for_the_files(self, shipped: Path) -> None:
        manifest = json.loads((shipped / "manifest.json").read_text(encoding="utf-8"))
        assert set(manifest["files"]) == {"sample.warc.gz", "questions.jsonl"}
        for name, digest in manifest["files"].items():
            assert digest == "sha256:" + hashlib.sha256((shipped / name).read_bytes()).hexdigest()
        assert manifest["created"].startswith("2026-11-01T09:00:00")

    def test_it_is_small_and_holds_the_questions(self, shipped: Path, sample) -> None:
        assert sum(file.stat().st_size for file in shipped.iterdir()) < 2_000_000
        merged = (sample.folder / "questions.jsonl").read_bytes()
        assert (shipped / "questions.jsonl").read_bytes() == merged
        lines = [json.loads(line) for line in merged.decode().splitlines()]
        assert lines == sample.build.merge_questions()

    def test_it_verifies_and_holds_the_recorded_trouble(self, shipped: Path) -> None:
        from harness.corpus import Corpus

        with Corpus.open(shipped, read_only=True) as corpus:
            assert list(corpus.verify()) == []
            entries = list(corpus.entries())
        assert {entry.status for entry in entries} >= {200, 301, 404, None}
        assert {e.failure.kind for e in entries if e.failure is not None} == {"ReadTimeout"}
        # Seconds come from what the server declares, so they repeat.
        assert all(entry.elapsed_s == round(entry.elapsed_s, 3) for entry in entries)
        slow = next(entry for entry in entries if entry.failure is not None)
        assert slow.elapsed_s == 6.0

    def test_both_searches_of_every_question_are_recorded(
        self, shipped: Path, questions, sample
    ) -> None:
        from harness.corpus import Corpus

        with Corpus.open(shipped, read_only=True) as corpus:
            asked = {
                parse_qs(urlsplit(entry.request.url).query)["q"][0]
                for entry in corpus.entries()
                if entry.request.provider == "searxng"
            }
        for question in questions:
            query = build_query(question.text)
            trusted = sample.build.TRUSTED[question.category.value]
            assert {query, restrict_to_sites(query, trusted)} <= asked, question.id

    def test_trusted_sites_exist(self, pages, sample) -> None:
        hosts = {page.host for page in pages}
        assert set(sample.build.TRUSTED) == {category.value for category in Category}
        assert {site for sites in sample.build.TRUSTED.values() for site in sites} <= hosts


class TestRebuild:
    def test_a_rebuild_gives_the_shipped_recording_again(self, sample, shipped: Path) -> None:
        done = subprocess.run(
            [sys.executable, str(sample.folder / "build.py"), "--check"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.strip().splitlines()[-1].startswith("identical")

    def test_what_differs_is_named(self, sample, shipped: Path, tmp_path: Path) -> None:
        differences = sample.build.differences
        copy = tmp_path / "copy"
        shutil.copytree(shipped, copy)
        assert differences(shipped, copy) == []

        plain = gzip.decompress((copy / "sample.warc.gz").read_bytes())
        packed = gzip.compress(plain, 1, mtime=0)
        (copy / "sample.warc.gz").write_bytes(packed)
        manifest = (copy / "manifest.json").read_text(encoding="utf-8")
        old = json.loads(manifest)["files"]["sample.warc.gz"]
        (copy / "manifest.json").write_text(
            manifest.replace(old, "sha256:" + hashlib.sha256(packed).hexdigest()), encoding="utf-8"
        )
        assert differences(shipped, copy) == []

        (copy / "sample.warc.gz").write_bytes(
            gzip.compress(plain.replace(b"117 days", b"118 days"))
        )
        assert differences(shipped, copy) == ["sample.warc.gz"]
        (copy / "sample.warc.gz").unlink()
        (copy / "questions.jsonl").write_bytes(b"{}\n")
        (copy / "extra").write_bytes(b"")
        assert differences(shipped, copy) == ["extra", "questions.jsonl", "sample.warc.gz"]
