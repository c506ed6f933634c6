"""Two runs beside each other."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping

from .._data.recording import Recording
from .._data.recording import open as open_recording
from .._native import Collector, comparison_table, run_comparison, run_report_of
from .report import Table, as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, TypeAlias

    from .cuda import CUDATimer
    from .profiler import Profiler
    from .reporter import Reporter

    _Run: TypeAlias = (
        Collector
        | Recording
        | Mapping[str, Any]
        | str
        | PathLike[str]
        | CUDATimer
        | Profiler
        | Reporter
    )

__all__ = ["Comparison", "compare_runs"]

_WANTED = "a MetricsCollector, a report of one, a Recording, or the path of a saved one"


class Comparison(Table):
    """What came of comparing run ``b`` with run ``a``; prints as a table.

    ============== ==========================================================
    ``speedup``    time of ``a`` over time of ``b``: 2.0 is twice as fast. Of
                   the outermost phases both runs have, each as often as
                   ``a`` called it. NaN when they have none in common
    ``interval``   where the speedup lies, low and high; ``None`` when there
                   are too few calls
    ``verdict``    ``faster``, ``slower``, ``same`` (less than 5 % apart),
                   ``unclear`` or ``not_enough_data``
    ``confidence`` chance that all intervals hold together, 0.95
    ``phases``     per common phase ``speedup``, ``interval``, ``verdict`` and
                   the ``mean`` (ms) and ``count`` of ``a`` and ``b``
    ``over``       the phases that ``speedup`` is made of
    ``only_a``     phases that only one run has; ``only_b`` likewise
    ``needs``      calls that a phase needs in each run for an interval
    ============== ==========================================================
    """

    _reports: tuple[str, str] = ("{}", "{}")

    def _drawn(self, *, color: bool, width: int, unicode: bool) -> str:
        a, b = self._reports
        return comparison_table(a, b, color=color, width=width, unicode=unicode)


def compare_runs(a: _Run, b: _Run) -> Comparison:
    """Return how run ``b`` compares with run ``a``, overall and phase by phase.

    Iterations depend on each other, so the intervals are made from means of
    blocks of them, and they get wider with the number of phases: a program
    compared with itself is called faster or slower in at most one of twenty
    comparisons. They say nothing about what differs from one start of a
    program to the next; compare several runs for that.

    Args:
        a: The run to compare with: a ``MetricsCollector``, its report (also as
            a plain dict), a ``Recording``, or the path of a saved report
            (``.json``) or recording (``.tacho``).
        b: The other run.

    Raises:
        TypeError: One is none of these.
        ValueError: A dict or a file is no report.
        OSError: A file cannot be read.
        RecordingError: A file is no recording, or is damaged.

    Example:
        >>> comparison = compare_runs(baseline, optimized)
        >>> print(f"{comparison['speedup']:.2f}x", comparison["verdict"])
    """
    reports = report_json(a), report_json(b)
    comparison = Comparison(json.loads(run_comparison(*reports)))
    if comparison["speedup"] is None:
        comparison["speedup"] = math.nan
    comparison._reports = reports
    return comparison


def report_json(run: object) -> str:
    """Return the report of a run, whatever it is given as, as JSON."""
    run = getattr(run, "_source", run)
    if isinstance(run, Collector):
        return run._report()
    if isinstance(run, Recording):
        return run_report_of(run._native)
    if isinstance(run, Mapping):
        return _checked(run, "the dict")
    if isinstance(run, str | os.PathLike):
        return _from_file(run)
    raise TypeError(f"a run must be {_WANTED}, not {run!r}")


def _from_file(path: str | PathLike[str]) -> str:
    with open(path, "rb") as file:
        content = file.read(64)
        if not content.lstrip().startswith(b"{"):
            return run_report_of(open_recording(path)._native)
        content += file.read()
    try:
        report = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)!r} is not valid JSON: {error}") from None
    return _checked(report, repr(os.fspath(path)))


def _checked(report: Mapping[str, object], what: str) -> str:
    timing = report.get("timing")
    if not isinstance(timing, Mapping):
        raise ValueError(f"{what} is not a metrics report: it has no 'timing'; give {_WANTED}")
    for name, phase in timing.items():
        mean = phase.get("mean") if isinstance(phase, Mapping) else None
        if not isinstance(mean, int | float) or not math.isfinite(mean):
            raise ValueError(
                f"{what} is not a metrics report: phase {name!r} needs a number of milliseconds "
                f"as its 'mean', and is {phase!r}"
            )
    return as_json(dict(report))
