"""What a block of code took: time, memory, processors, devices, energy, lines.

The calls of ml-cookbook's ``cookbook.measure``, on tachograph's engine.
"""

from __future__ import annotations

from .carbon import CarbonAwareProfiler, CarbonSession
from .flat import ProfilerMetrics
from .metrics import (
    CarbonMetrics,
    ComputeMetrics,
    MemoryGrowth,
    MemoryMetrics,
    PerformanceMetrics,
    SystemMetrics,
    TimingMetrics,
)
from .process import ProcessMemory, ProcessReadings
from .profiler import PerformanceProfiler

__all__ = [
    "CarbonAwareProfiler",
    "CarbonMetrics",
    "CarbonSession",
    "ComputeMetrics",
    "MemoryGrowth",
    "MemoryMetrics",
    "PerformanceMetrics",
    "PerformanceProfiler",
    "ProcessMemory",
    "ProcessReadings",
    "ProfilerMetrics",
    "SystemMetrics",
    "TimingMetrics",
]
