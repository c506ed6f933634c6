"""Figures of signals and spans: by key, by module, by tag.

Percentiles are the value below the exact rank, as smonitor has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from .keys import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._native import Summary

Figures: TypeAlias = dict[str, Any]

_NS_PER_MS = 1e6


class Timings(dict[str, Figures]):
    """Figures by key, ``module.qualname``, and by smonitor's ``module.function``.

    The shorter name answers look-ups only: it is not among the keys. Where
    functions share it, it answers for all of them together.
    """

    def __init__(self, summaries: dict[str, Summary]) -> None:
        super().__init__((key, figures(summary)) for key, summary in summaries.items())
        self._bare: dict[str, list[Summary]] = {}
        for key, summary in summaries.items():
            place = place_of(key)
            if place is not None and place.bare_key not in summaries:
                self._bare.setdefault(place.bare_key, []).append(summary)

    def __missing__(self, key: str) -> Figures:
        if key not in self._bare:
            raise KeyError(key)
        return figures(merged(self._bare[key]))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._bare

    def get(self, key: str, default: Any = None, /) -> Any:
        """Return the figures of `key`, or `default`."""
        try:
            return self[key]
        except KeyError:
            return default


def figures(summary: Summary) -> Figures:
    """Return the four figures of a report's row, times in milliseconds."""
    return {
        "count": summary.count,
        "p50_ms": summary.percentile(0.5, "lower") / _NS_PER_MS,
        "p95_ms": summary.percentile(0.95, "lower") / _NS_PER_MS,
        "max_ms": summary.max / _NS_PER_MS,
    }


def by_module(timings: Timings) -> dict[str, Figures]:
    """Return calls by module: counts added up, and the largest figures of its members."""
    modules: dict[str, Figures] = {}
    for key, row in timings.items():
        place = place_of(key)
        module = key.rpartition(".")[0] or key if place is None else place.module
        whole = modules.setdefault(module, dict.fromkeys(row, 0))
        whole["count"] += row["count"]
        for name in ("p50_ms", "p95_ms", "max_ms"):
            whole[name] = max(whole[name], row[name])
    return modules


def by_tag(summaries: dict[str, Summary]) -> dict[str, Figures]:
    """Return the calls of all signals that carry a tag, for every tag."""
    tagged: dict[str, list[Summary]] = {}
    for key, summary in summaries.items():
        place = place_of(key)
        for tag in sorted(place.tags) if place is not None else ():
            tagged.setdefault(tag, []).append(summary)
    return {tag: figures(merged(members)) for tag, members in tagged.items()}


def most_expensive(rows: dict[str, Figures], most: int) -> list[Figures]:
    """Return the rows with the largest ``p95_ms``, each with its key."""
    ordered = sorted(rows.items(), key=lambda row: (-row[1]["p95_ms"], row[0]))
    return [{"key": key, **row} for key, row in ordered[:most]]


def merged(summaries: Iterable[Summary]) -> Summary:
    """Return one summary of all their values."""
    first, *others = summaries
    for other in others:
        first = first.merged(other)
    return first
