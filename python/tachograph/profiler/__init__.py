"""Timers, metrics and reports of a training loop, by kitsune's names.

``tachograph.profiler`` is this module. ``tachograph.profile`` is a decorator
and ``tachograph.Profiler`` the CPU profiler: other things with similar names.
"""

from __future__ import annotations

from .compare import Comparison, compare_runs
from .cuda import CUDATimer, TimingResult, synchronize_and_time
from .logs import get_logger
from .metrics import (
    AggregatedMetrics,
    Metrics,
    MetricsCollector,
    calculate_speedup,
    calculate_speedup_percent,
)
from .profiler import Profiler, ProfileResult
from .report import BottleneckAnalysis, MetricsReport
from .reporter import Reporter

__all__ = [
    "AggregatedMetrics",
    "BottleneckAnalysis",
    "CUDATimer",
    "Comparison",
    "Metrics",
    "MetricsCollector",
    "MetricsReport",
    "ProfileResult",
    "Profiler",
    "Reporter",
    "TimingResult",
    "calculate_speedup",
    "calculate_speedup_percent",
    "compare_runs",
    "get_logger",
    "synchronize_and_time",
]
