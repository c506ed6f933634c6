"""Decorators that watch the functions they stand on: how long, how often, how evenly.

The calls of refunc's ``refunc.decorators``, on tachograph's engine.
"""

from __future__ import annotations

from .timing import (
    TimingMode,
    TimingProfiler,
    TimingResult,
    TimingStats,
    clear_timing_stats,
    get_timing_stats,
    measure_time,
    measure_time_async,
    profiler,
    quick_time,
    quick_time_async,
    time_block,
    time_it,
    time_it_async,
    timer,
)

__all__ = [
    "TimingMode",
    "TimingProfiler",
    "TimingResult",
    "TimingStats",
    "clear_timing_stats",
    "get_timing_stats",
    "measure_time",
    "measure_time_async",
    "profiler",
    "quick_time",
    "quick_time_async",
    "time_block",
    "time_it",
    "time_it_async",
    "timer",
]
