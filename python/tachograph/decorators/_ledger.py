"""The statistics of every timed function and block, found by name.

Each name has one meter, a live aggregate of fixed size. A function is known by
its module and qualified name, so equal bare names do not mix; a look-up takes
any of the three spellings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any, NamedTuple, overload

from .._data.timing import TimingStats
from .._native import Meter, Summary

# As many names as the engine tells apart. Names are for code, not for data: a
# program that makes one up for every request must not grow for ever.
_MOST_NAMES = 65_536
_MORE_NAMES = "<more names>"

_NS = 1e9


class Entry(NamedTuple):
    """A timed name in its three spellings, and its meter."""

    bare: str
    qualname: str
    full: str
    meter: Meter


# Only ever added to, with `setdefault`: no lock that a fork could leave taken.
_entries: dict[str, Entry] = {}


def spelled(function: Callable[..., Any]) -> tuple[str, str, str]:
    """Return the bare name, the qualified name and ``module.qualname`` of a callable."""
    while isinstance(function, partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    qualname: str = named.__qualname__
    bare: str = getattr(named, "__name__", qualname)
    return bare, qualname, f"{named.__module__}.{qualname}"


def entry_of_function(function: Callable[..., Any]) -> Entry:
    """Return the entry of a function; the same for every function of its module and name."""
    return _entry(*spelled(function))


def entry_of_block(name: str) -> Entry:
    """Return the entry of a named block, which has one spelling."""
    return _entry(name, name, name)


def _entry(bare: str, qualname: str, full: str) -> Entry:
    found = _entries.get(full)
    if found is not None:
        return found
    if len(_entries) >= _MOST_NAMES:
        bare = qualname = full = _MORE_NAMES
    return _entries.setdefault(full, Entry(bare, qualname, full, Meter()))


@overload
def get_timing_stats(function_name: None = None) -> dict[str, TimingStats]: ...


@overload
def get_timing_stats(function_name: str | Callable[..., Any]) -> TimingStats | None: ...


def get_timing_stats(
    function_name: str | Callable[..., Any] | None = None,
) -> TimingStats | dict[str, TimingStats] | None:
    """Return the statistics of one name, or of all of them.

    The most exact match counts: ``module.qualname``, then the qualified name,
    then the bare name. Several functions that match equally well are told
    together: with timed methods ``Train.step`` and ``Test.step``, ``"step"``
    stands for both.

    Args:
        function_name: The name of a function or block, or the function itself.
            Without it, everything that was measured is returned.

    Returns:
        The statistics of that name, or ``None`` when nothing was measured under
        it. Without a name: a dictionary whose keys are bare names, longer only
        where a bare name would mean several functions.

    Example:
        >>> stats = get_timing_stats("preprocess_batch")
        >>> print(f"{stats.mean_time:.4f} s, 95 % within {stats.p95_time:.4f} s")
    """
    if function_name is None:
        return {key: _stats(key, summary) for key, summary in _everything()}
    asked = _asked(function_name)
    for tier in _tiers(asked):
        measured = [s for s in (entry.meter.summary() for entry in tier) if s.count]
        if measured:
            return _stats(asked, reduce(Summary.merged, measured))
    return None


def clear_timing_stats(function_name: str | Callable[..., Any] | None = None) -> None:
    """Forget the measurements of one name, or all of them.

    Args:
        function_name: As for `get_timing_stats`. A name that is not known is no error.
    """
    if function_name is None:
        cleared: Iterable[Entry] = _entries.copy().values()
    else:
        asked = _asked(function_name)
        tiers = (tier for tier in _tiers(asked) if any(e.meter.summary().count for e in tier))
        cleared = next(tiers, [])
    for entry in cleared:
        entry.meter.clear()


def _asked(function_name: Any) -> str:
    if isinstance(function_name, str):
        return function_name
    if callable(function_name):
        name: str = spelled(function_name)[2]
        return name
    raise TypeError(f"a function or its name is needed, not {function_name!r}")


def _tiers(name: str) -> Iterable[list[Entry]]:
    """Give the entries `name` can mean, the most exact spelling first."""
    entries = _entries.copy()
    if name in entries:
        yield [entries[name]]
    yield [entry for entry in entries.values() if entry.qualname == name]
    yield [entry for entry in entries.values() if entry.bare == name]


def _everything() -> Iterable[tuple[str, Summary]]:
    """Give each entry that was measured, under its shortest unmistakable spelling."""
    summaries = ((entry, entry.meter.summary()) for entry in _entries.copy().values())
    measured = [(entry, summary) for entry, summary in summaries if summary.count]
    full = {entry.full for entry, _ in measured}
    by_qualname: dict[str, int] = {}
    by_bare: dict[str, int] = {}
    for entry, _ in measured:
        by_qualname[entry.qualname] = by_qualname.get(entry.qualname, 0) + 1
        by_bare[entry.bare] = by_bare.get(entry.bare, 0) + 1

    for entry, summary in measured:
        key = entry.full
        if entry.qualname not in full and by_qualname[entry.qualname] == 1:
            key = entry.qualname
            if entry.bare not in by_qualname and entry.bare not in full:
                key = entry.bare if by_bare[entry.bare] == 1 else key
        yield key, summary


def _stats(name: str, summary: Summary) -> TimingStats:
    def seconds(quantile: float) -> float:
        return summary.percentile(quantile, "linear") / _NS

    return TimingStats(
        function_name=name,
        call_count=summary.count,
        total_time=summary.total / _NS,
        mean_time=summary.mean / _NS,
        min_time=summary.min / _NS,
        max_time=summary.max / _NS,
        std_dev=summary.std / _NS,
        median_time=seconds(0.5),
        p95_time=seconds(0.95),
        p99_time=seconds(0.99),
    )
