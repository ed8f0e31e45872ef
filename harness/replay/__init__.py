"""The pipeline rerun from a recording."""

from harness.replay.digest import results_digest
from harness.replay.recorded_web import MissPolicy, RecordedWeb, SearchFallback
from harness.replay.run_folder import RunDamagedError, RunFolder, read_manifest, read_rows
from harness.replay.runner import Progress
from harness.replay.sample import sample_path
from harness.replay.session import Listener, Outcome, Request, replay, runs_folder
from harness.replay.traces import read_traces

__all__ = [
    "Listener",
    "MissPolicy",
    "Outcome",
    "Progress",
    "RecordedWeb",
    "Request",
    "RunDamagedError",
    "RunFolder",
    "SearchFallback",
    "read_manifest",
    "read_rows",
    "read_traces",
    "replay",
    "results_digest",
    "runs_folder",
    "sample_path",
]
