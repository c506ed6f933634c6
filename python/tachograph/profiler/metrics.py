"""Named numbers and phases of a training loop."""

from __future__ import annotations

import json
import math

from .._data.plain import dataclass
from .._native import Collector, Meter
from ._device.peaks import PeakWatch
from .report import BottleneckAnalysis, MetricsReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from .._native import Summary

__all__ = [
    "AggregatedMetrics",
    "Metrics",
    "MetricsCollector",
    "calculate_speedup",
    "calculate_speedup_percent",
]


@dataclass
class Metrics:
    """One training iteration; times are milliseconds, memory is MB of 2**20 bytes."""

    iteration: int
    batch_size: int
    forward_time_ms: float
    backward_time_ms: float
    optimizer_time_ms: float
    total_time_ms: float
    memory_allocated_mb: float
    memory_peak_mb: float
    loss: float | None = None

    @property
    def throughput(self) -> float:
        """Samples per second; 0.0 for an iteration without time."""
        return self.batch_size / self.total_time_ms * 1000 if self.total_time_ms > 0 else 0.0

    @property
    def forward_pct(self) -> float:
        """Percent of the iteration in the forward pass."""
        return self._percent(self.forward_time_ms)

    @property
    def backward_pct(self) -> float:
        """Percent of the iteration in the backward pass."""
        return self._percent(self.backward_time_ms)

    @property
    def optimizer_pct(self) -> float:
        """Percent of the iteration in the optimizer."""
        return self._percent(self.optimizer_time_ms)

    def _percent(self, part_ms: float) -> float:
        return part_ms / self.total_time_ms * 100 if self.total_time_ms > 0 else 0.0


@dataclass
class AggregatedMetrics:
    """Many iterations; times are milliseconds, memory is MB of 2**20 bytes."""

    count: int
    mean_time_ms: float
    std_time_ms: float
    min_time_ms: float
    max_time_ms: float
    mean_throughput: float
    mean_memory_mb: float
    peak_memory_mb: float


class MetricsCollector(Collector):
    """Collects named numbers and the times of named phases.

    ``record(name, value)`` takes a number, ``with measure_time(name):`` times a
    phase. Any thread may use them; memory does not grow with the number of
    values. While ``tachograph.record()`` is open, both are in the recording
    as well: phases as spans, numbers as points.

    Args:
        warmup_iterations: Iterations given to ``add()`` that ``aggregate()``
            and its kin leave out. ``record`` and ``measure_time`` count from
            the first call.

    Raises:
        ValueError: ``warmup_iterations`` is negative.

    Example:
        >>> collector = MetricsCollector()
        >>> for _ in range(3):
        ...     collector.record("batch_size", 32)
        ...     with collector.measure_time("iteration"):
        ...         with collector.measure_time("forward"):
        ...             total = sum(range(10_000))
        >>> report = collector.generate_report()
        >>> report["timing"]["forward"]["count"]
        3
    """

    def __new__(cls, warmup_iterations: int = 10) -> Self:
        """Return a collector without values."""
        return super().__new__(cls)

    def __init__(self, warmup_iterations: int = 10) -> None:
        if warmup_iterations < 0:
            raise ValueError(f"warmup_iterations must be >= 0, not {warmup_iterations}")
        self.warmup_iterations = warmup_iterations
        self._metrics: list[Metrics] = []
        self._memory = PeakWatch(None, anew=False)

    def _report(self) -> str:
        if (held := self._memory.read()) is not None:
            self._tell_memory(held.peak_allocated, held.peak_reserved)
        return super()._report()

    def generate_report(self) -> MetricsReport:
        """Return everything so far: a dict that prints as a table."""
        return MetricsReport(json.loads(self._report()))

    def analyze_bottlenecks(self) -> BottleneckAnalysis:
        """Return which phase holds the run up, its share, and why.

        A phase that contains others is judged by the time that is its own.
        """
        return BottleneckAnalysis._of(self._report())

    def add(self, metrics: Metrics) -> None:
        """Add one iteration.

        It counts in the report too, as the phase ``iteration`` with ``forward``,
        ``backward`` and ``optimizer`` inside and the metrics ``batch_size`` and
        ``loss``; so measure these either here or with ``measure_time``. Unlike
        those, iterations are kept one by one, for ``get_metrics()``.
        """
        parts = {
            "forward": metrics.forward_time_ms,
            "backward": metrics.backward_time_ms,
            "optimizer": metrics.optimizer_time_ms,
        }
        known = {name: part for name, part in parts.items() if part > 0}
        self._keep(metrics)
        own = metrics.total_time_ms - sum(known.values())
        self._add_time("iteration", metrics.total_time_ms, own, None)
        for name, part in known.items():
            self._add_time(name, part, part, "iteration")

    def _keep(self, metrics: Metrics) -> None:
        """Add an iteration whose times are in the report already."""
        self._metrics.append(metrics)
        self.record("batch_size", metrics.batch_size)
        if metrics.loss is not None:
            self.record("loss", metrics.loss)

    def get_metrics(self, skip_warmup: bool = True) -> list[Metrics]:
        """Return the iterations that were added, those of the warm-up left out."""
        if not skip_warmup:
            return list(self._metrics)
        return [one for one in self._metrics if one.iteration >= self.warmup_iterations]

    def aggregate(self, skip_warmup: bool = True) -> AggregatedMetrics | None:
        """Return the added iterations together; ``None`` when there are none."""
        metrics = self.get_metrics(skip_warmup)
        if not metrics:
            return None
        times = _summary(one.total_time_ms for one in metrics)
        return AggregatedMetrics(
            count=times.count,
            mean_time_ms=times.mean,
            std_time_ms=times.std,
            min_time_ms=times.min,
            max_time_ms=times.max,
            mean_throughput=_summary(one.throughput for one in metrics).mean,
            mean_memory_mb=_summary(one.memory_allocated_mb for one in metrics).mean,
            peak_memory_mb=_summary(one.memory_peak_mb for one in metrics).max,
        )

    def get_phase_breakdown(self, skip_warmup: bool = True) -> dict[str, float]:
        """Return the mean milliseconds of each part of the added iterations."""
        metrics = self.get_metrics(skip_warmup)
        if not metrics:
            return {}
        return {
            "forward_ms": _summary(one.forward_time_ms for one in metrics).mean,
            "backward_ms": _summary(one.backward_time_ms for one in metrics).mean,
            "optimizer_ms": _summary(one.optimizer_time_ms for one in metrics).mean,
            "total_ms": _summary(one.total_time_ms for one in metrics).mean,
        }

    def clear(self) -> None:
        """Forget everything."""
        self._metrics.clear()
        self._forget()

    def summary(self) -> str:
        """Return the report as text."""
        report = self.generate_report()
        if not report["timing"] and not report["metrics"]:
            return "No metrics collected."
        return str(report)


def calculate_speedup(baseline_time_ms: float, optimized_time_ms: float) -> float:
    """Return how many times as fast the second is; infinite for no time at all."""
    return baseline_time_ms / optimized_time_ms if optimized_time_ms != 0 else math.inf


def calculate_speedup_percent(baseline_time_ms: float, optimized_time_ms: float) -> float:
    """Return the same in percent: 50.0 is half as fast again."""
    return (calculate_speedup(baseline_time_ms, optimized_time_ms) - 1) * 100


def _summary(values: Iterable[float]) -> Summary:
    meter = Meter()
    for value in values:
        meter.add(value)
    return meter.summary()
