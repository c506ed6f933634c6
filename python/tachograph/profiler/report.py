"""Answers that are data and print as a table at once."""

from __future__ import annotations

import json

from .._data.table import Table
from .._native import bottleneck_table, find_bottlenecks, run_table

__all__ = ["BottleneckAnalysis", "MetricsReport", "Table"]


class MetricsReport(Table):
    """What a ``MetricsCollector`` knows: ``print`` it, or read it as a dict.

    ============== ==========================================================
    ``timing``     per phase, in milliseconds: ``mean std min max count total
                   p50 p95 p99``; ``self`` is the part of ``total`` that no
                   phase inside it took; ``inside`` names the phase it mostly
                   happens in; ``blocks`` is its course, pairs of a number of
                   consecutive calls and their mean
    ``memory``     ``peak_allocated`` and ``peak_reserved`` of torch's allocator
                   on the device, in bytes; 0 where torch uses none
    ``throughput`` ``samples_per_sec`` and ``iterations_per_sec``; 0.0 when no
                   phase ``iteration`` (and no metric ``batch_size``) was met
    ``metrics``    per recorded name: ``mean std min max count last p50 p95
                   blocks``; ``not_finite`` counts NaN and infinities, which
                   are in none of the others
    ============== ==========================================================
    """

    def _drawn(self, *, color: bool, width: int, unicode: bool) -> str:
        return run_table(as_json(self), color=color, width=width, unicode=unicode)


class BottleneckAnalysis(Table):
    """Which phase holds a run up, and why.

    ============== ==========================================================
    ``bottleneck`` the phase with most time of its own; ``None`` when nothing
                   was measured
    ``share``      its part of the time of all phases, 0 to 1
    ``why``        a sentence
    ``reasons``    the facts behind it: ``kind`` (``share``, ``trend``,
                   ``variance``), ``value``, ``notable``, ``text``
    ``phases``     every phase: ``share self_ms total_ms mean_ms count inside
                   trend variance``. ``trend`` is the change from the first
                   quarter of the calls to the last, 0.0 unless it is beyond
                   chance; ``variance`` the standard deviation over the mean;
                   ``None`` where there are too few calls
    ============== ==========================================================
    """

    _report: str = "{}"

    @classmethod
    def _of(cls, report: str) -> BottleneckAnalysis:
        analysis = cls(json.loads(find_bottlenecks(report)))
        analysis._report = report
        return analysis

    def _drawn(self, *, color: bool, width: int, unicode: bool) -> str:
        return bottleneck_table(self._report, color=color, width=width, unicode=unicode)


def as_json(report: object) -> str:
    """Return a report as JSON; numbers of other libraries are plain numbers in it."""
    return json.dumps(report, default=float, allow_nan=False)
