"""Lines of functions with their exact hits and times."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from .._native import line_listing
from .plain import dataclass
from .recording import _is_unicode, _terminal_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .._native import _FunctionLines

__all__ = ["LineTable", "LineTime"]


@dataclass(frozen=True, slots=True)
class LineTime:
    """How often one line began, and how long it ran.

    Attributes:
        function: Qualified name of its function.
        file: Source file.
        line_number: The line.
        hits: How often it began.
        time: Seconds until the next line of the same call began, what it called
            included; without what counting took.
        time_percent: Its share of its function's time, 0 to 100.
    """

    function: str
    file: str
    line_number: int
    hits: int
    time: float
    time_percent: float


class LineTable:
    """What was counted of some functions: ``print`` it, or read its ``rows``.

    While lines are being counted it is a live view; afterwards it stands still.
    """

    def __init__(self, counted: Callable[[], list[_FunctionLines]], source: str) -> None:
        self._counted = counted
        self._source = source

    @property
    def source(self) -> str:
        """By which means: ``"sys.monitoring"``, ``"inserted calls"`` or ``"trace hook"``."""
        return self._source

    @property
    def rows(self) -> list[LineTime]:
        """The lines that ran, function by function, in the order of the source."""
        rows = []
        for name, file, _, _, lines in self._counted():
            whole = sum(time for _, _, time in lines)
            for number, hits, time in lines:
                percent = 100 * time / whole if whole else 0.0
                rows.append(LineTime(name, file, number, hits, time / 1e9, percent))
        return rows

    def __iter__(self) -> Iterator[LineTime]:
        return iter(self.rows)

    def table(self, *, color: bool = False, width: int | None = None) -> str:
        """Return the source with hits, time, time per hit and share of each line.

        Args:
            color: Use terminal colours.
            width: Columns to fill; by default those of the terminal. Fewer than
                60 are not used, nor more than 160.

        Raises:
            ValueError: ``width`` is less than 1.
        """
        if width is not None and width < 1:
            raise ValueError(f"width must be >= 1, not {width}")
        return line_listing(
            [(lines, _source_of(lines)) for lines in self._counted()],
            self._source,
            color=color,
            width=_terminal_width() if width is None else width,
            unicode=_is_unicode(),
        )

    def print(self) -> None:
        """Print the listing, in colour on a terminal unless ``NO_COLOR`` is set."""
        print(self.table(color=sys.stdout.isatty() and not os.environ.get("NO_COLOR")))

    def __str__(self) -> str:
        return self.table()


def _source_of(lines: _FunctionLines) -> list[str]:
    """Return the source lines of a function; none if they cannot be read."""
    import linecache

    _, file, first, last, counted = lines
    if not counted:
        return []
    text = linecache.getlines(file)
    return [line.rstrip("\n").expandtabs() for line in text[first - 1 : last]]
