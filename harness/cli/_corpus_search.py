"""``hotseat corpus search``: find recorded pages by words and by meaning."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import _console
from harness.errors import BadInputError, ModelMissingError

if TYPE_CHECKING:
    from harness.corpus_index import CorpusHit
    from harness.retrieval import Encoder

__all__ = ["search"]

_WORDS_ALONE = "Searching by words alone"


def search(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[CORPUS] QUERY",
            help="What to look for, after the corpus to look in; without one, the shipped sample.",
            show_default=False,
        ),
    ],
    corpus: Annotated[
        Path | None, typer.Option("--corpus", "-c", help="The corpus, in place of the first word.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="Pages shown at most.")
    ] = 10,
    lexical_only: Annotated[
        bool, typer.Option("--lexical-only", help="By words alone; needs no model.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Find recorded pages by words and by meaning.

    The index is kept beside the corpus and brought up to date first.
    'site:example.org' in the query keeps to a site.

    For example:

      hotseat corpus search "siege of Castel Drusco"

      hotseat corpus search my-corpus "moons of Jupiter site:wikipedia.org" --limit 5

      hotseat corpus search "moons of Jupiter" --corpus my-corpus --lexical-only --json
    """
    path, query = _place_and_query(arguments, corpus)
    if not any(char.isalnum() for char in query):
        raise BadInputError(
            "There is no word to look for in the query.",
            remedy="Write some, between quotation marks.",
        )
    from harness.corpus import Corpus
    from harness.corpus_index import CorpusIndex

    with Corpus.open(path) as opened:
        encoder = None if lexical_only else _encoder()
        with CorpusIndex.open(opened, encoder) as index:
            from harness.cli._index_display import update_index

            pages = update_index(index).pages
            hits = index.search(query, limit=limit)
    if as_json:
        _console.print_json(_document(path, query, pages, encoder, hits))
    elif not pages:
        typer.echo(f"The corpus {path} holds no recorded page with text to search in.")
    elif not hits:
        typer.echo(f"None of {_console.counted(pages, 'recorded page')} fits the query.")
    else:
        _show(hits)


def _place_and_query(arguments: list[str], corpus: Path | None) -> tuple[Path, str]:
    if len(arguments) == 2 and corpus is None:
        return Path(arguments[0]), arguments[1]
    if len(arguments) != 1:
        raise BadInputError(
            "'corpus search' takes one query.", remedy="Put quotation marks around it."
        )
    if corpus is None:
        from harness.replay.sample import sample_path

        if Path(arguments[0]).is_dir():
            raise BadInputError(
                f"'{arguments[0]}' is a folder, and there is no query.",
                remedy='Write: hotseat corpus search CORPUS "what to look for".',
            )
        corpus = sample_path()
    return corpus, arguments[0]


def _encoder() -> Encoder | None:
    """Load the encoder of the settings; without its weights say so and do without."""
    from harness.retrieval import load_encoder
    from harness.settings import resolve

    wanted = resolve().settings.retrieval
    try:
        with _console.PullDisplay() as display:
            return load_encoder(
                wanted.encoder,
                threads=wanted.encoder_threads,
                device=wanted.device,
                progress=display.hear,
            )
    except ModelMissingError as error:
        _console.warn(f"{_WORDS_ALONE}: {error}")
        return None


def _document(
    path: Path, query: str, pages: int, encoder: Encoder | None, hits: list[CorpusHit]
) -> dict[str, Any]:
    return {
        "corpus": str(path),
        "query": query,
        "pages": pages,
        "encoder": encoder.describe()["name"] if encoder else None,
        "hits": [asdict(hit) for hit in hits],
    }


def _show(hits: list[CorpusHit]) -> None:
    import textwrap

    from rich.text import Text

    console = _console.stdout()
    width = max(20, console.width - 4)
    for place, hit in enumerate(hits, 1):
        title, url = _console.printable(hit.title or hit.url), _console.printable(hit.url)
        date = f"{hit.date}: " if hit.date else ""
        snippet = textwrap.wrap(_console.printable(date + hit.snippet), width)
        console.print(Text.assemble(f"{place:>3} ", (title, "bold")), soft_wrap=True)
        console.print(Text(f"    {url}", style="blue"), soft_wrap=True)
        console.print(Text("\n".join(f"    {line}" for line in snippet)), soft_wrap=True)
