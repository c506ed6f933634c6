"""Timers, metrics and reports of a training loop, by kitsune's names.

``tachograph.profiler`` is this module. ``tachograph.profile`` is a decorator
and ``tachograph.Profiler`` the CPU profiler: other things with similar names.
"""

from __future__ import annotations

from .compare import Comparison, compare_runs
from .cuda import CUDATimer, TimingResult, synchronize_and_time
from .gpu import get_gpu_info, get_gpu_memory_info
from .logs import get_logger
from .memory import MemoryDelta, MemoryPoint, MemorySnapshot, MemoryTracker
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
from .streams import StreamProfiler

__all__ = [
    "AggregatedMetrics",
    "BottleneckAnalysis",
    "CUDATimer",
    "Comparison",
    "MemoryDelta",
    "MemoryPoint",
    "MemorySnapshot",
    "MemoryTracker",
    "Metrics",
    "MetricsCollector",
    "MetricsReport",
    "ProfileResult",
    "Profiler",
    "Reporter",
    "StreamProfiler",
    "TimingResult",
    "calculate_speedup",
    "calculate_speedup_percent",
    "compare_runs",
    "get_gpu_info",
    "get_gpu_memory_info",
    "get_logger",
    "synchronize_and_time",
]
