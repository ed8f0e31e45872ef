"""Search over a corpus's own pages: an index, and the replay's way to it.

:class:`CorpusIndex` finds recorded pages by words and by meaning.
:class:`CorpusSearch` puts it behind a replay, so that a search which was never
recorded is answered from what was.
"""

from harness.corpus_index._fallback import CorpusSearch
from harness.corpus_index._index import CorpusIndex
from harness.corpus_index._values import FORMAT, CorpusHit, Updated

__all__ = ["FORMAT", "CorpusHit", "CorpusIndex", "CorpusSearch", "Updated"]
