"""What a collector knows, as files and on the screen."""

from __future__ import annotations

import csv
import json
import os
import re
import sys

from .._doors.paths import writable_path
from .compare import report_json
from .report import MetricsReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from .compare import _Run

__all__ = ["Reporter"]

_COLUMNS = (
    *("kind", "name", "unit", "count", "mean", "std", "min", "max"),
    *("p50", "p95", "p99", "total", "self", "last", "inside"),
)

# The course of a phase: pairs of numbers that nobody reads line by line.
_BLOCKS = re.compile(r'"blocks": \[[\s\d.,eE+\-\[\]]*\]')


class Reporter:
    """Writes what a collector knows, at the moment of each call.

    Args:
        collector: A ``MetricsCollector``; whatever ``compare_runs`` takes will
            do. One without values gives valid files too.

    Raises:
        TypeError: It is nothing a report can be made of.
    """

    def __init__(self, collector: _Run) -> None:
        self._source = collector
        self._report()

    def _report(self) -> MetricsReport:
        return MetricsReport(json.loads(report_json(self._source)))

    def save_json(self, path: str | PathLike[str]) -> None:
        """Write the report as JSON; ``compare_runs`` reads it back.

        ``timing`` is in milliseconds, ``memory`` in bytes; see
        ``MetricsReport`` for the rest.

        Raises:
            OSError: The file cannot be written.
        """
        text = json.dumps(self._report(), indent=2, allow_nan=False)
        _write(path, _BLOCKS.sub(_on_one_line, text) + "\n")

    def save_csv(self, path: str | PathLike[str]) -> None:
        """Write one table for spreadsheets and data frames.

        The first line names the columns: ``kind`` (``timing``, ``metric``,
        ``throughput`` or ``memory``), ``name``, ``unit`` (``ms``, ``1/s``,
        ``bytes``, or empty), ``count``, ``mean``, ``std``, ``min``, ``max``,
        ``p50``, ``p95``, ``p99``, ``total``, ``self``, ``last``, ``inside``.
        What a row does not have is empty. A rate stands under ``mean``, a peak
        under ``max``.

        Raises:
            OSError: The file cannot be written.
        """
        report = self._report()
        with open(writable_path(path), "w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, _COLUMNS, extrasaction="ignore", lineterminator="\n")
            table.writeheader()
            table.writerows(_rows(report))

    def print_summary(self) -> None:
        """Print the report as a table, in colour on a terminal."""
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(self._report().table(color=color))


def _rows(report: MetricsReport) -> list[dict[str, Any]]:
    timing = [
        {"kind": "timing", "name": name, "unit": "ms", **phase}
        for name, phase in report["timing"].items()
    ]
    metrics = [
        {"kind": "metric", "name": name, **values} for name, values in report["metrics"].items()
    ]
    throughput = [
        {"kind": "throughput", "name": name, "unit": "1/s", "mean": rate}
        for name, rate in report["throughput"].items()
    ]
    memory = [
        {"kind": "memory", "name": name, "unit": "bytes", "max": peak}
        for name, peak in report["memory"].items()
    ]
    return [*timing, *metrics, *throughput, *memory]


def _on_one_line(blocks: re.Match[str]) -> str:
    return re.sub(r"\s+", "", blocks[0]).replace(":", ": ").replace(",", ", ")


def _write(path: str | PathLike[str], text: str) -> None:
    with open(writable_path(path), "w", encoding="utf-8") as file:
        file.write(text)
