"""The recorded web: store, request keys, record and replay, interchange.

A :class:`Corpus` is a folder of recorded exchanges; its :meth:`Corpus.tape` is
the ``httpx`` transport behind which the rest of the program can't tell a
recording from the web.
"""

from harness.corpus._check import Checked, check
from harness.corpus._clean import Leftover, clean
from harness.corpus._compact import Compacted
from harness.corpus._corpus import Corpus
from harness.corpus._entry import Entry
from harness.corpus._export import Exported
from harness.corpus._first import first_recordings, read_recording
from harness.corpus._info import CorpusInfo
from harness.corpus._key import RequestKey, normalise_url, request_key
from harness.corpus._manifest import CorpusManifest
from harness.corpus._merge import Conflict, Merged
from harness.corpus._tape import Refresh, Tape, live_tape
from harness.corpus._target import open_or_create
from harness.corpus._values import Failure, Outcome, Problem, RequestPolicy

__all__ = [
    "Checked",
    "Compacted",
    "Conflict",
    "Corpus",
    "CorpusInfo",
    "CorpusManifest",
    "Entry",
    "Exported",
    "Failure",
    "Leftover",
    "Merged",
    "Outcome",
    "Problem",
    "Refresh",
    "RequestKey",
    "RequestPolicy",
    "Tape",
    "check",
    "clean",
    "first_recordings",
    "live_tape",
    "normalise_url",
    "open_or_create",
    "read_recording",
    "request_key",
]
