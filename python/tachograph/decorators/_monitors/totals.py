"""The memory of all calls of a name together."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable
from typing import Any, overload

from ..._data.memory import MemoryStats
from .._ledger import spelled

__all__ = ["clear_memory_stats", "count", "get_memory_stats"]

# Names are for code, not for data: a program that makes one up for every
# request must not grow for ever.
MOST_NAMES = 65_536
MORE_NAMES = "<more names>"

MOST_ROWS = 256


class _Total:
    """Sums and extremes of the calls of one name.

    A call adds a row; rows are summed up some hundreds at a time.
    """

    __slots__ = (
        "calls",
        "diff",
        "grown",
        "lock",
        "max_diff",
        "max_peak",
        "min_diff",
        "min_peak",
        "peak",
        "rows",
    )

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.rows: list[tuple[int, int]] = []
        self.calls = self.peak = self.diff = self.grown = 0
        self.max_peak = self.min_peak = self.max_diff = self.min_diff = 0

    def add(self, peak: int, diff: int) -> None:
        rows = self.rows
        rows.append((peak, diff))
        if len(rows) >= MOST_ROWS:
            with self.lock:
                self._sum_up()

    def _sum_up(self) -> None:
        """Take what is there; rows that others add meanwhile stay."""
        rows = self.rows
        many = len(rows)
        taken = rows[:many]
        del rows[:many]
        if not taken:
            return
        peaks, diffs = [row[0] for row in taken], [row[1] for row in taken]
        if self.calls == 0:
            self.max_peak = self.min_peak = peaks[0]
            self.max_diff = self.min_diff = diffs[0]
        self.calls += many
        self.peak += sum(peaks)
        self.diff += sum(diffs)
        self.grown += sum(diff for diff in diffs if diff > 0)
        self.max_peak = max(self.max_peak, *peaks)
        self.min_peak = min(self.min_peak, *peaks)
        self.max_diff = max(self.max_diff, *diffs)
        self.min_diff = min(self.min_diff, *diffs)

    def stats(self, name: str) -> MemoryStats:
        with self.lock:
            self._sum_up()
            calls = max(self.calls, 1)
            return MemoryStats(
                function_name=name,
                call_count=self.calls,
                avg_peak_memory=self.peak / calls,
                max_peak_memory=self.max_peak,
                min_peak_memory=self.min_peak,
                avg_memory_diff=self.diff / calls,
                max_memory_diff=self.max_diff,
                min_memory_diff=self.min_diff,
                total_memory_leaked=self.grown,
            )


_totals: dict[str, _Total] = {}


def count(name: str, peak: int, diff: int) -> None:
    """Add one call."""
    total = _totals.get(name)
    if total is None:
        known = name if len(_totals) < MOST_NAMES else MORE_NAMES
        total = _totals.setdefault(known, _Total())
    total.add(peak, diff)


def _name(function_name: str | Callable[..., Any]) -> str:
    return function_name if isinstance(function_name, str) else spelled(function_name)[0]


@overload
def get_memory_stats(function_name: None = None) -> dict[str, MemoryStats]: ...


@overload
def get_memory_stats(function_name: str | Callable[..., Any]) -> MemoryStats | None: ...


def get_memory_stats(
    function_name: str | Callable[..., Any] | None = None,
) -> MemoryStats | dict[str, MemoryStats] | None:
    """Return what the memory monitors saw of one name, or of all of them.

    Args:
        function_name: The bare name of a function or block, or the function.

    Returns:
        The statistics, or ``None`` when nothing was watched under that name.
        Without a name: a dictionary of all names.
    """
    if function_name is None:
        return {name: total.stats(name) for name, total in _totals.copy().items()}
    name = _name(function_name)
    total = _totals.get(name)
    return None if total is None else total.stats(name)


def clear_memory_stats(function_name: str | Callable[..., Any] | None = None) -> None:
    """Forget what was seen of one name, or of all; an unknown name is no error."""
    if function_name is None:
        _totals.clear()
    else:
        _totals.pop(_name(function_name), None)
