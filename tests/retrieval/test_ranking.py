"""What is encoded, what is reranked, and the order at the end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evidence import Passage
from harness.retrieval.ranking import final_order, first_stage, worth_encoding
from harness.settings import RetrievalSettings


def passage(document: int, place: int, score: float = 0.0) -> Passage:
    url = f"https://{document}.example"
    return Passage((document, place), f"{document}-{place}", "", url, "page", score=score)


PAGES = [passage(document, place) for document in range(3) for place in range(4)]


def chosen(**values) -> RetrievalSettings:
    return RetrievalSettings(**values)


class TestWhatIsEncoded:
    def test_the_best_by_words_and_each_pages_first(self):
        lexical = [0.0] * 12
        lexical[6] = lexical[11] = 1.0
        assert worth_encoding(PAGES, lexical, 2) == [0, 4, 6, 8, 11]

    @pytest.mark.parametrize("prefilter", [0, 12, 500])
    def test_few_or_unlimited_are_all_encoded(self, prefilter: int):
        assert worth_encoding(PAGES, [0.0] * 12, prefilter) == list(range(12))

    def test_the_first_left_of_a_page_stands_for_its_first(self):
        # Its own first passage was an equal text of another page's.
        rest = [p for p in PAGES if p.id != (1, 0)]
        assert worth_encoding(rest, [0.0] * 11, 1) == [0, 4, 7]

    def test_without_shared_words_the_earlier_are_encoded(self):
        assert worth_encoding(PAGES, [0.0] * 12, 3) == [0, 1, 2, 4, 8]

    @given(st.lists(st.integers(0, 4), min_size=12, max_size=12), st.integers(1, 11))
    def test_nothing_left_out_beats_what_was_taken(self, scores: list[int], prefilter: int):
        taken = worth_encoding(PAGES, [float(s) for s in scores], prefilter)
        assert taken == sorted(set(taken))
        assert len(taken) <= prefilter + 3
        inside = sorted((scores[row] for row in taken), reverse=True)[:prefilter]
        outside = [scores[row] for row in range(12) if row not in taken]
        assert not outside or max(outside) <= min(inside)


def vectors(*angles: float) -> np.ndarray:
    return np.array([[np.cos(a), np.sin(a)] for a in angles], np.float32)


class TestTheFirstStage:
    question = vectors(0.0)[0]

    def test_vectors_alone_go_by_cosine(self):
        rows = vectors(0.3, 0.1, 0.2)
        kept = first_stage(
            self.question, rows, [9.0, 0.0, 0.0], chosen(first_stage="vectors", keep=2)
        )
        assert [row for row, _ in kept] == [1, 2]
        assert kept[0][1] == pytest.approx(np.cos(0.1), abs=1e-6)

    def test_fused_keeps_what_only_words_find(self):
        rows = vectors(0.1, 0.2, 0.3, 0.4, 1.5)
        lexical = [0.0, 0.0, 0.0, 0.0, 5.0]
        fused = first_stage(self.question, rows, lexical, chosen(keep=2))
        assert [row for row, _ in fused] == [4, 0]
        assert dict(fused)[4] == pytest.approx(np.cos(1.5), abs=1e-6)
        plain = first_stage(self.question, rows, lexical, chosen(keep=2, first_stage="vectors"))
        assert [row for row, _ in plain] == [0, 1]

    def test_what_lies_beyond_the_depth_of_the_vectors_still_has_its_cosine(self):
        rows = vectors(*(0.01 * n for n in range(30)))
        kept = first_stage(self.question, rows, [0.0] * 29 + [1.0], chosen(keep=2))
        assert kept == [(0, 1.0), (29, pytest.approx(np.cos(0.29), abs=1e-6))]

    def test_without_any_shared_word_it_is_the_cosine(self):
        rows = vectors(0.3, 0.1, 0.2)
        fused = first_stage(self.question, rows, [0.0] * 3, chosen())
        assert fused == first_stage(self.question, rows, [0.0] * 3, chosen(first_stage="vectors"))

    @given(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=25),
        st.integers(1, 8),
    )
    def test_no_row_twice_and_as_many_as_asked_for(self, items, keep: int):
        rows = vectors(*(angle / 5 for angle, _ in items))
        lexical = [float(words) for _, words in items]
        kept = first_stage(self.question, rows, lexical, chosen(keep=keep))
        assert len({row for row, _ in kept}) == len(kept) == min(keep, len(items))
        for row, cosine in kept:
            assert cosine == pytest.approx(np.cos(items[row][0] / 5), abs=1e-6)


class TestTheFinalOrder:
    def test_without_weights_it_is_the_rerankers(self):
        some = [passage(0, 1, 0.2), passage(0, 2, 0.9), passage(0, 3, 0.5)]
        plain = chosen(lexical_weight=0.0)
        assert [p.id[1] for p in final_order(some, [9.0, 0.0, 0.0], plain)] == [2, 3, 1]

    def test_words_move_a_passage_up(self):
        some = [passage(0, n, 1 - n / 10) for n in range(1, 5)]
        lexical = [0.0, 0.0, 2.0, 1.0]
        assert [p.id[1] for p in final_order(some, lexical, chosen())] == [3, 4, 1, 2]

    def test_a_pages_first_passage_moves_up_with_its_weight(self):
        some = [passage(0, 1, 0.9), passage(1, 0, 0.8), passage(0, 0, 0.7)]
        assert [p.id for p in final_order(some, [0.0] * 3, chosen())] == [(0, 1), (1, 0), (0, 0)]
        with_leads = final_order(some, [0.0] * 3, chosen(lead_weight=1.0))
        assert [p.id for p in with_leads] == [(0, 0), (1, 0), (0, 1)]

    def test_equal_ranks_go_by_place(self):
        some = [passage(1, 0, 0.5), passage(0, 3, 0.5), passage(0, 1, 0.5)]
        assert [p.id for p in final_order(some, [0.0] * 3, chosen())] == [(0, 1), (0, 3), (1, 0)]
