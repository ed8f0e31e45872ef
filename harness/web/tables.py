"""Tables in extracted text: each row made to stand alone.

Extraction writes a table as lines of cells between bars, its head once at the
top.  Cut into passages, a row loses the head that says what its numbers are,
and a small model can't follow columns anyway.  So each row is written out as
``head: cell; head: cell.``, which search, retrieval and model read as a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["spell_out_tables"]

_RULE_CELL = re.compile(r"^:?-{2,}:?$")
_MAX_COLUMNS = 30


def spell_out_tables(text: str) -> str:
    """Return ``text`` with every row of its tables as a line that stands alone.

    A table is a run of lines that begin and end with a bar and whose second
    line is a rule (``|---|---|``); its first line is the head.  All other
    lines, rows without a head among them, are left as they are.
    """
    lines = text.split("\n")
    written: list[str] = []
    place = 0
    while place < len(lines):
        head = _cells(lines[place])
        if head and place + 1 < len(lines) and _is_rule(_cells(lines[place + 1])):
            place += 2
            while place < len(lines) and (row := _cells(lines[place])):
                written.append(_sentence(head, row))
                place += 1
        else:
            written.append(lines[place])
            place += 1
    return "\n".join(written)


def _cells(line: str) -> list[str]:
    line = line.strip()
    if len(line) < 3 or line[0] != "|" or line[-1] != "|":
        return []
    cells = [cell.strip() for cell in line[1:-1].split("|")]
    return cells if len(cells) <= _MAX_COLUMNS else []


def _is_rule(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_RULE_CELL.match(cell) for cell in cells)


def _sentence(head: Sequence[str], row: Sequence[str]) -> str:
    named = [*head, *[""] * (len(row) - len(head))]
    pairs = zip(named, row, strict=False)
    said = [f"{name}: {cell}" if name else cell for name, cell in pairs if cell]
    return "; ".join(said) + "." if said else ""
