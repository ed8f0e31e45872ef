"""Question files from elsewhere, turned into Hotseat's own JSON Lines."""

from harness.importers._collect import Problem
from harness.importers._formats import FORMATS, ImportedQuestions, guess_format, read_questions
from harness.importers._items import Reason
from harness.importers._store import ImportReport, import_questions

__all__ = [
    "FORMATS",
    "ImportReport",
    "ImportedQuestions",
    "Problem",
    "Reason",
    "guess_format",
    "import_questions",
    "read_questions",
]
