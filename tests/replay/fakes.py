"""A contestant and a corpus of the tests' own; run as a script, the command line with both.

The contestant answers by a hash of the question, so its results depend on
nothing else.  ``stunts`` maps question ids to what happens while they are
played: ``kill``, ``int`` and ``term`` send the process a signal, ``torn`` dies after
half a line was written, ``error`` and ``bug`` raise.  A log file gets one line
for every question that was played to the end.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.clock import VirtualClock
from harness.errors import EngineError
from harness.quiz import Answer, Basis, ParseStep, Question
from harness.trace import Code, Trace


@dataclass
class FakeManifest:
    name: str = "fake"
    settings: dict[str, Any] = field(default_factory=dict)
    questions: str | None = "questions.jsonl"


@dataclass
class FakeCorpus:
    path: Path
    manifest: FakeManifest = field(default_factory=FakeManifest)
    problems: tuple[str, ...] = ()
    value: str = "sha256:corpus"
    tapes: int = 0
    closed: bool = False
    recorded: int = 1

    @property
    def questions_path(self) -> Path | None:
        return self.path / self.manifest.questions if self.manifest.questions else None

    def entries(self) -> list[object]:
        return [object()] * self.recorded

    def digest(self) -> str:
        return self.value

    def tape(self, mode: str) -> object:
        assert mode == "replay"
        self.tapes += 1
        return object()

    def close(self) -> None:
        self.closed = True


class FakeContestant:
    def __init__(
        self,
        *,
        name: str = "fake",
        stunts: dict[str, str] | None = None,
        log: Path | None = None,
        run: Path | None = None,
        clock: VirtualClock | None = None,
    ) -> None:
        self.name = name
        self.stunts = stunts or {}
        self.log = log
        self.run = run
        self.clock = clock
        self.history: list[str] = []
        self.transports: list[object] = []
        self.closed = False

    def describe(self) -> dict[str, Any]:
        return {"engine": self.name, "sizes": (1, 2), "prompts": {"sha256": "0" * 64}}

    def play(self, question: Question, transport: Any, trace: Trace) -> Answer:
        assert not self.closed
        self.history.append(question.id)
        self.transports.append(transport)
        self._stunt(question)
        if transport is not None:
            trace.network("search", 0.25, recorded=True)
            trace.network("fetch", 1.5, recorded=True)
        with trace.stage("generate"):
            if self.clock:
                self.clock.advance(2.0)
        number = int(hashlib.sha256(question.text.encode()).hexdigest(), 16)
        option = question.options[number % len(question.options)]
        if number % 3 == 0:
            trace.degrade("search", Code.NOT_RECORDED, "GET http://x/ is not recorded")
        trace.note(hits=[1, 2, 3], documents=2, output=f"ANSWER: {option.id} {option.text}")
        if self.log:
            with self.log.open("a") as file:
                file.write(question.id + "\n")
        return Answer(option, Basis.PASSAGES if transport else Basis.MODEL, ParseStep.TEXT)

    def _stunt(self, question: Question) -> None:
        match self.stunts.get(question.id):
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "int":
                os.kill(os.getpid(), signal.SIGINT)
            case "term":
                os.kill(os.getpid(), signal.SIGTERM)
            case "torn":
                assert self.run
                with (self.run / "traces.jsonl").open("ab") as file:
                    file.write(b'{"question":"half a li')
                    file.flush()
                    os.fsync(file.fileno())
                os.kill(os.getpid(), signal.SIGKILL)
            case "error":
                raise EngineError("The engine fell silent.", remedy="Wake it.")
            case "bug":
                raise ZeroDivisionError("a bug")

    def close(self) -> None:
        self.closed = True


def question_lines(per_category: int = 4) -> list[str]:
    """Return questions of all categories, one after the other, some with little gold."""
    lines = []
    for number in range(per_category):
        for place, category in enumerate(
            ["news", "history", "science", "maths", "philosophy", "entertainment"]
        ):
            record: dict[str, Any] = {
                "id": f"{category}-{number}",
                "category": category,
                "question": f"Question {number} of {category}: què, 何?",
                "options": [f"{category} {number} {letter}" for letter in "abcd"],
                "tags": ["invented"] if number % 2 else [],
            }
            if place < 4:
                record["answer"] = record["options"][number % 4]
            elif place == 4:
                record["refused"] = record["options"][:2]
            lines.append(json.dumps(record))
    return lines


def make_corpus(folder: Path, per_category: int = 4) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "questions.jsonl").write_text("\n".join(question_lines(per_category)) + "\n")
    return folder


def main(config: dict[str, Any], arguments: list[str]) -> int:
    """Run the command line over the fakes."""
    from harness.cli import main as hotseat
    from harness.cli import replay as command

    contestant = FakeContestant(
        stunts=config.get("stunts"),
        log=Path(config["log"]) if "log" in config else None,
        run=Path(config["run"]) if "run" in config else None,
    )
    command._open_corpus = FakeCorpus  # type: ignore[assignment]
    command._load_contestant = lambda settings: contestant  # type: ignore[assignment]
    return hotseat(arguments)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
