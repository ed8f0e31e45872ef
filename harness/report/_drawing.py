"""Drawing with characters: bars, whiskers and columns, in Unicode or plain ASCII."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Pen"]

_MIN_WIDTH = 72
_MAX_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Pen:
    """How to draw on one console.

    ``width`` is in character cells; ``fine`` allows drawing characters,
    ``encodable`` any Unicode at all.
    """

    width: int
    fine: bool
    encodable: bool = True

    @classmethod
    def of(cls, console: Console) -> Pen:
        """Return a pen for ``console``: plain ASCII wherever it is no terminal."""
        encodable = console.encoding.lower().replace("-", "").startswith("utf")
        fine = encodable and console.is_terminal and not console.legacy_windows
        return cls(max(_MIN_WIDTH, min(console.width, _MAX_WIDTH)), fine, encodable)

    def text(self, text: str) -> str:
        """Return recorded text made harmless: no control characters, only what can be shown."""
        text = "".join(char if char.isprintable() else "?" for char in text)
        return text if self.encodable else text.encode("ascii", "replace").decode()

    def cell(self, text: str, width: int) -> str:
        """Return text cut or padded to ``width`` cells; wide characters take two."""
        from rich.cells import cell_len, set_cell_size

        text = self.text(text)
        if cell_len(text) > width:
            text = set_cell_size(text, width - 1) + ("…" if self.fine else "~")
        return set_cell_size(text, width)

    def span(self, lower: float, upper: float) -> str:
        """Return an interval of shares in per cent: ``61.5 – 92.7``."""
        dash = "–" if self.fine else "-"
        return f"{100 * lower:4.1f} {dash} {100 * upper:5.1f}"

    def whisker(self, estimate: float, lower: float, upper: float, width: int) -> str:
        """Return an interval of shares with its estimate on a line from 0 to 1."""
        edge, left, line, right, point = tuple("│╶─╴●" if self.fine else "|[-]o")
        last = width - 3  # place of the share 1 inside the frame
        start, end, middle = (round(share * last) for share in (lower, upper, estimate))
        cells = [" "] * (last + 1)
        cells[start : end + 1] = [line] * (end - start + 1)
        cells[start], cells[end], cells[middle] = left, right, point
        return edge + "".join(cells) + edge

    def scale(self, width: int) -> str:
        """Return the labels above whiskers of that width."""
        half = (width - 1) // 2
        return f"0{'50':>{half}}{'100 %':>{width - 1 - half}}"

    def bar(self, median: float, p90: float, largest: float, full: float, width: int) -> str:
        """Return seconds as a bar from 0 to ``full``; what goes beyond ends in ``>``."""
        edge, first, second, third = tuple("│█▒·" if self.fine else "|#=.")
        inner = width - 2
        ends = [min(inner, round(inner * seconds / full)) for seconds in (median, p90, largest)]
        drawn = first * ends[0] + second * (ends[1] - ends[0]) + third * (ends[2] - ends[1])
        if largest > full:
            drawn = drawn[: inner - 1] + ">"
        return edge + drawn.ljust(inner) + edge

    def legend(self) -> str:
        """Return what the parts of a bar of seconds mean."""
        return "█ median, ▒ p90, · max" if self.fine else "# median, = p90, . max"
