"""``hotseat models``: list, pull and verify model weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli._console import PullDisplay, print_json, size_text

if TYPE_CHECKING:
    from harness.models import ModelSpec, Source

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command group ``models``."""
    group = typer.Typer(no_args_is_help=True, help="Model weights: list, pull and verify them.")
    group.command("list")(list_models)
    group.command("pull")(pull)
    group.command("verify")(verify_models)
    app.add_typer(group, name="models")


def _complete(incomplete: str) -> list[str]:
    from harness.models import known_names

    return [name for name in known_names() if name.startswith(incomplete)]


def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show the known models, where they come from and whether they are here.

    Example: hotseat models list --json
    """
    from harness.models import REGISTRY

    rows = [_row(spec) for spec in REGISTRY.values()]
    if as_json:
        print_json({"models": rows})
        return
    head = ("NAME", "SHORT NAMES", "KIND", "LICENCE", "SIZE", "SOURCES", "STATE")
    table = [head] + [
        (
            row["name"] + ("*" if row["default"] else ""),
            ", ".join(row["aliases"]),
            row["kind"],
            row["licence"],
            "unknown" if row["size_bytes"] is None else size_text(row["size_bytes"]),
            ", ".join(row["kinds_of_source"]),
            row["state"],
        )
        for row in rows
    ]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(head))]
    for cells in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        typer.echo(line.rstrip())
    typer.echo("\n* needed by the default settings")


def _row(spec: ModelSpec) -> dict[str, Any]:
    from harness.models import DEFAULT_MODELS, status

    now = status(spec.name)
    return {
        "name": spec.name,
        "aliases": list(spec.aliases),
        "title": spec.title,
        "kind": spec.kind,
        "licence": spec.licence,
        "upstream": spec.upstream,
        "size_bytes": spec.size_bytes,
        "sources": [str(source) for source in spec.sources],
        "kinds_of_source": list(dict.fromkeys(str(s).partition(" ")[0] for s in spec.sources)),
        "default": spec.name in DEFAULT_MODELS,
        "state": now.state,
        "detail": now.detail,
        "folder": str(now.folder),
    }


def pull(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Names or aliases; none means what the default settings need.",
            autocompletion=_complete,
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Look in this local folder first."),
    ] = None,
    all_default: Annotated[
        bool,
        typer.Option("--all-default", help="Also pull what the default settings need."),
    ] = False,
) -> None:
    """Fetch models, check every hash, and keep them in HOTSEAT_HOME.

    A pull that was cut short resumes. A model that is here already is hashed
    again, and pulled again only if it is damaged.

    Examples: hotseat models pull; hotseat models pull smollm2 minilm;
    hotseat models pull qwen-1.5b --from /media/stick
    """
    from harness.errors import BadInputError, ModelMissingError
    from harness.models import DEFAULT_MODELS, FolderSource, ensure, get_spec

    if folder is not None and not folder.is_dir():
        raise BadInputError(f"There is no folder {folder}.", remedy="Give --from an existing one.")
    chosen = list(names or [])
    if all_default or not chosen:
        chosen.extend(DEFAULT_MODELS)
    specs = {spec.name: spec for spec in map(get_spec, chosen)}
    failed: list[ModelMissingError] = []
    for spec in specs.values():
        sources: tuple[Source, ...] = spec.sources
        if folder is not None:
            sources = (FolderSource(folder), *sources)
        try:
            with PullDisplay() as display:
                place = ensure(spec.name, progress=display.hear, sources=sources, recheck=True)
        except ModelMissingError as error:
            failed.append(error)  # the others may still come
            continue
        typer.echo(f"{spec.name}: {place}")
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise ModelMissingError("\n".join(str(error) for error in failed))


def verify_models(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Names or aliases; none means every model that has been pulled.",
            autocompletion=_complete,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Hash every file of pulled models again; exit 1 if one is not what it should be.

    Examples: hotseat models verify; hotseat models verify qwen-1.5b
    """
    from harness.models import REGISTRY, get_spec, status, verify

    if names:
        chosen = list(dict.fromkeys(get_spec(name).name for name in names))
    else:
        chosen = [name for name in REGISTRY if status(name).state in ("pulled", "damaged")]
        if not chosen:
            typer.echo("No model has been pulled yet.")
    bad = False
    for name in chosen:
        problems = verify(name)
        for problem in problems:
            typer.echo(problem)
        if problems:
            bad = True
            typer.echo(f"{name}: damaged. Run 'hotseat models pull {name}' to repair it.")
        else:
            typer.echo(f"{name}: good")
    if bad:
        raise typer.Exit(1)
