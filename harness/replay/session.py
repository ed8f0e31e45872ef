"""One replay from beginning to end: corpus, questions, contestant, run folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.clock import Clock, SystemClock
from harness.contestant.checks import check_settings
from harness.contestant.protocol import Contestant
from harness.errors import BadInputError, MissingError, QuestionFileError
from harness.home import home
from harness.question_file import LineProblem, load_questions, questions_digest
from harness.quiz import Category, Question
from harness.replay.identity import differences, identity_digest
from harness.replay.machine import machine, versions
from harness.replay.recorded_web import MissPolicy, RecordedWeb, SearchFallback
from harness.replay.rows import Row
from harness.replay.run_folder import RunFolder, new_run_path, read_manifest
from harness.replay.runner import Progress, play_all
from harness.replay.selection import choose, shuffled
from harness.settings import Resolved, Settings, resolve, without_login

if TYPE_CHECKING:
    import httpx

__all__ = ["Listener", "Outcome", "Request", "replay", "runs_folder"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be replayed, and how.

    ``assignments`` are settings by dotted name; ``search=False`` plays the
    model alone.  ``on_miss`` says what a search becomes that was not recorded.
    Without ``out`` a new folder is made inside ``runs``.  With ``resume`` the
    run in ``out`` has to be there and unfinished.
    """

    corpus: Path
    questions: Path | None = None
    preset: str = "cpu"
    assignments: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    categories: tuple[Category, ...] = ()
    shuffle: int | None = None
    search: bool = True
    on_miss: MissPolicy = "fail"
    out: Path | None = None
    runs: Path | None = None
    resume: bool = False

    @classmethod
    def of_run(
        cls, path: Path, *, corpus: Path | None = None, questions: Path | None = None
    ) -> Request:
        """Return the request that an unfinished run was started with.

        ``corpus`` and ``questions`` say where they are now, if they moved.
        Raises as :func:`~harness.replay.run_folder.read_manifest` does, and
        :class:`~harness.errors.BadInputError` for a finished run.
        """
        manifest = read_manifest(path)
        if manifest["status"] == "finished":
            raise BadInputError(
                f"The run in {path} is already finished.", remedy="Nothing is left to play."
            )
        try:
            source = manifest["source"]
            named = source["questions"]
            return cls(
                corpus=corpus or Path(source["corpus"]),
                questions=questions or (Path(named) if named else None),
                preset=source["preset"],
                assignments=dict(manifest["settings"]),
                limit=manifest["limit"],
                categories=tuple(Category.parse(name) for name in manifest["categories"]),
                shuffle=manifest["seed"],
                on_miss="fail" if manifest.get("on_miss") is None else "corpus",
                out=path,
                resume=True,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadInputError(
                f"The manifest of {path} does not say how it was started: {error}.",
                remedy="Start it anew.",
            ) from None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run: where it is, its manifest, its rows in question-id order.

    ``problems`` are those of the question file, then of the corpus;
    ``resumed`` counts the questions that an earlier attempt had answered;
    ``seconds`` is how long this process played.
    """

    path: Path
    manifest: Mapping[str, Any]
    rows: tuple[Row, ...]
    problems: tuple[str, ...]
    resumed: int
    seconds: float

    @property
    def digest(self) -> str:
        """The results digest."""
        return str(self.manifest["digest"])


class Listener:
    """Told what happens during a replay; this one does nothing with it."""

    def line_problems(self, problems: tuple[LineProblem, ...]) -> None:
        """Hear what is wrong with lines of the question file."""

    def corpus_problems(self, problems: tuple[str, ...]) -> None:
        """Hear what is damaged in the corpus."""

    def loading(self, total: int) -> None:
        """Hear that ``total`` questions were chosen and the models are being loaded."""

    def started(self, folder: RunFolder, total: int) -> None:
        """Hear that play begins; ``folder.rows`` holds what was answered before."""

    def progress(self, progress: Progress) -> None:
        """Hear that one more question is committed."""


def runs_folder() -> Path:
    """Return ``./runs``, or ``runs`` in the per-user folder where that can't be written."""
    here = Path("runs")
    writable = os.access(here if here.exists() else Path.cwd(), os.W_OK)
    return here if writable else home() / "runs"


def replay(
    request: Request,
    *,
    open_corpus: Callable[[Path], RecordedWeb],
    load_contestant: Callable[[Settings], Contestant],
    open_fallback: Callable[[RecordedWeb, Settings], SearchFallback] | None = None,
    listener: Listener | None = None,
    clock: Clock | None = None,
) -> Outcome:
    """Replay a corpus and return what came of it.

    ``open_fallback`` gives what the miss policy ``corpus`` answers from.
    Raises a :class:`~harness.errors.HotseatError` when the run can't start;
    a question that fails is a row, not an error.  :class:`KeyboardInterrupt`
    passes through after everything answered is on the disk.
    """
    listener = listener or Listener()
    clock = clock or SystemClock()
    with ExitStack() as stack:
        corpus = stack.enter_context(closing(open_corpus(request.corpus)))
        resolved = _settings(request, corpus)
        loaded = load_questions(_question_file(request, corpus))
        _check_recorded(request, corpus, resolved.settings)
        listener.line_problems(loaded.problems)
        chosen = choose(loaded.questions, limit=request.limit, categories=request.categories)
        listener.loading(len(chosen))
        contestant = stack.enter_context(closing(load_contestant(resolved.settings)))
        fallback = None
        if request.on_miss == "corpus" and resolved.settings.search.enabled:
            if open_fallback is None:
                raise ValueError("the miss policy 'corpus' needs something to answer from")
            fallback = stack.enter_context(closing(open_fallback(corpus, resolved.settings)))
        manifest = _manifest(request, corpus, resolved, contestant, fallback, chosen, clock)
        folder = stack.enter_context(_open_folder(request, manifest, clock))
        resumed = len(folder.rows)
        order = chosen if request.shuffle is None else shuffled(chosen, request.shuffle)
        listener.started(folder, len(order))
        started_s = clock.monotonic()
        play_all(
            folder,
            order,
            contestant,
            _tapes(corpus, fallback, searching=resolved.settings.search.enabled),
            clock=clock,
            on_progress=listener.progress,
        )
        seconds = clock.monotonic() - started_s
        damage = tuple(str(problem) for problem in corpus.problems)
        listener.corpus_problems(damage)
        problems = tuple(str(problem) for problem in loaded.problems) + damage
        folder.finish(finished=_stamp(clock), problems=list(problems))
        rows = sorted(folder.rows.values(), key=lambda row: str(row["question_id"]))
        return Outcome(folder.path, folder.manifest, tuple(rows), problems, resumed, seconds)


def _tapes(
    corpus: RecordedWeb, fallback: SearchFallback | None, *, searching: bool
) -> Callable[[], httpx.AsyncBaseTransport | None]:
    """Return what gives each question a transport of its own."""
    if not searching:
        return lambda: None
    if fallback is None:
        return lambda: corpus.tape("replay")
    return lambda: fallback.over(corpus.tape("replay"))


def _settings(request: Request, corpus: RecordedWeb) -> Resolved:
    # A resumed run brings all its values along; the surroundings have no say.
    env: Mapping[str, str] | None = {} if request.resume else None
    resolved = resolve(
        preset=request.preset,
        corpus=corpus.manifest.settings,
        env=env,
        assignments=request.assignments,
    )
    if request.search:
        return resolved
    values = resolved.settings
    alone = values.model_copy(
        update={"search": values.search.model_copy(update={"enabled": False})}
    )
    return replace(
        resolved, settings=alone, origins={**resolved.origins, "search.enabled": "--no-search"}
    )


def _check_recorded(request: Request, corpus: RecordedWeb, settings: Settings) -> None:
    """Refuse what would let every single question fail."""
    check_settings(settings)
    if settings.search.enabled and next(iter(corpus.entries()), None) is None:
        raise MissingError(
            f"The corpus {request.corpus} holds no recorded search or page that can be read.",
            remedy="Record it with 'hotseat record', or play the model alone with --no-search.",
        )


def _question_file(request: Request, corpus: RecordedWeb) -> Path:
    path: Path | None = request.questions or corpus.questions_path
    if path is None:
        raise QuestionFileError(
            f"The corpus {request.corpus} names no question file.",
            remedy="Name one with --questions.",
        )
    return path


def _manifest(
    request: Request,
    corpus: RecordedWeb,
    resolved: Resolved,
    contestant: Contestant,
    fallback: SearchFallback | None,
    chosen: tuple[Question, ...],
    clock: Clock,
) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "name": corpus.manifest.name,
        "started": _stamp(clock),
        "finished": None,
        "digest": None,
        "settings": {n: without_login(v) for n, v in resolved.settings.flat().items()},
        "origins": dict(resolved.origins),
        "contestant": contestant.describe(),
        "corpus": {"name": corpus.manifest.name, "digest": corpus.digest()},
        "questions": {"digest": questions_digest(chosen), "n": len(chosen)},
        # None for the policy "fail", as in runs from before there was another.
        "on_miss": {"policy": "corpus", **fallback.describe()} if fallback else None,
        "limit": request.limit,
        "categories": sorted(category.value for category in request.categories),
        "seed": request.shuffle,
        "versions": versions(),
        "machine": machine(),
        "source": {
            "corpus": str(request.corpus.absolute()),
            "questions": str(request.questions.absolute()) if request.questions else None,
            "preset": request.preset,
        },
    }
    # As it will be read back, so that a comparison with a stored one is fair.
    manifest = json.loads(json.dumps(manifest))
    return {**manifest, "identity": identity_digest(manifest)}


def _open_folder(request: Request, manifest: dict[str, Any], clock: Clock) -> RunFolder:
    path = request.out
    if path is None:
        path = new_run_path(request.runs or runs_folder(), manifest["name"], clock.now())
    if not request.resume and not (path / "manifest.json").is_file():
        return RunFolder.create(path, manifest)
    differing = differences(manifest, read_manifest(path))
    if differing:
        more = f", and {len(differing) - 3} more" if len(differing) > 3 else ""
        raise BadInputError(
            f"{path} holds another run, which differs in {', '.join(differing[:3])}{more}.",
            remedy="Choose another folder with --out.",
        )
    folder = RunFolder.resume(path)
    again = {
        "at": _stamp(clock),
        "answered": len(folder.rows),
        "dropped_lines": folder.dropped_lines,
        "versions": manifest["versions"],
        "machine": manifest["machine"],
    }
    folder.update(resumed=[*folder.manifest.get("resumed", []), again])
    return folder


def _stamp(clock: Clock) -> str:
    return clock.now().isoformat(timespec="seconds")
