"""Answers that are data and print as a table at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .recording import _is_unicode, _terminal_width

__all__ = ["Table"]


class Table(dict[str, Any], ABC):
    """A dict whose ``str()`` is a table. Everything else is a dict's own."""

    def table(self, *, color: bool = False, width: int | None = None) -> str:
        """Return the table.

        Args:
            color: Use terminal colours.
            width: Columns to fill; by default those of the terminal. Fewer than
                60 are not used, nor more than 160.

        Raises:
            ValueError: ``width`` is less than 1.
        """
        if width is not None and width < 1:
            raise ValueError(f"width must be >= 1, not {width}")
        columns = _terminal_width() if width is None else width
        return self._drawn(color=color, width=columns, unicode=_is_unicode())

    @abstractmethod
    def _drawn(self, *, color: bool, width: int, unicode: bool) -> str:
        """Return the table in so many columns."""

    def __str__(self) -> str:
        return self.table()
