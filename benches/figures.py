"""Medians, their errors, and how a row of results is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median


@dataclass(frozen=True)
class Figure:
    """A median of repeated measurements with its robust standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """Return the median of `values`; its error comes from their spread."""
        middle = median(values)
        spread = 1.4826 * median(abs(value - middle) for value in values)
        return cls(middle, 1.2533 * spread / sqrt(len(values)))

    def __str__(self) -> str:
        return f"{self.value:.3f} ±{self.error:.3f}"


@dataclass(frozen=True)
class Row:
    """One promise: what was measured, what was promised, what to make of it."""

    name: str
    measured: str
    target: str
    verdict: str


def at_most(name: str, figure: Figure, limit: float) -> Row:
    """Judge a figure that should not exceed `limit`; its error may excuse it."""
    if figure.value <= limit:
        verdict = "ok"
    elif figure.value - 2 * figure.error <= limit:
        verdict = "noise"
    else:
        verdict = "MISS"
    return Row(name, str(figure), f"<= {limit:g}", verdict)


def exactly_at_most(name: str, value: float, limit: float, text: str | None = None) -> Row:
    """Judge a counted value that should not exceed `limit`."""
    return Row(name, text or f"{value:g}", f"<= {limit:g}", "ok" if value <= limit else "MISS")


def at_least(name: str, value: float, limit: float, text: str | None = None) -> Row:
    """Judge a counted value that should not fall below `limit`."""
    return Row(name, text or f"{value:g}", f">= {limit:g}", "ok" if value >= limit else "MISS")


def table(rows: Iterable[Sequence[str]], heading: Sequence[str]) -> str:
    """Return rows of text in columns, the first one left-aligned."""
    lines = [list(heading), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def verdicts(rows: Iterable[Row]) -> str:
    """Return promises and verdicts as a table."""
    cells = [(row.name, row.measured, row.target, row.verdict) for row in rows]
    return table(cells, ("promise", "measured", "target", "verdict"))
