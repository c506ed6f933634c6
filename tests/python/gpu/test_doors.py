"""The other doors against a stand-in device: profiler of blocks, monitors, reports."""

from __future__ import annotations

from collections.abc import Callable

Program = Callable[..., str]


def test_the_performance_profiler_tells_device_memory_and_load(program: Program) -> None:
    program(
        """
from machine import nvml, wait_for_readings
from tachograph.measure import PerformanceProfiler
nvml.stand_in_busy(0, 60)
nvml.stand_in_busy(1, 60)
profiler = PerformanceProfiler(track_gpu=True, memory_interval=0.02)
with profiler.profile("train"):
    nvml.stand_in_allocate(0, 1 << 30)
    wait_for_readings(3)
metrics = profiler.get_metrics()
assert abs(metrics.compute.gpu_utilization_percent - 60) < 1e-6, metrics
assert metrics.memory.peak_gpu_mb >= 1024, metrics.memory
assert abs(profiler.get_current_gpu_memory() - 0.25) < 1e-9
"""
    )


def test_a_monitor_has_snapshots_of_the_device(program: Program) -> None:
    program(
        """
from machine import nvml, wait_for_readings
from tachograph.decorators import MonitoringConfig, get_gpu_info, performance_monitor
nvml.stand_in_busy(0, 40)
config = MonitoringConfig(monitor_gpu=True, system_sample_interval=0.02, return_results=True)

@performance_monitor(config)
def work():
    wait_for_readings(3)
    return 7

result, combined = work()
assert result == 7
snapshots = combined.monitoring_result.gpu_snapshots
assert snapshots and snapshots[0].gpu_power_draw == 150.0, snapshots
assert abs(snapshots[0].gpu_utilization - 40) < 1e-6
assert snapshots[0].gpu_memory_total == 8 << 30
assert len(get_gpu_info()) >= 1
"""
    )


def test_a_report_has_the_peaks_of_torchs_allocator(program: Program) -> None:
    program(
        """
from machine import install_torch
torch = install_torch()
from tachograph.profiler import MemoryTracker, MetricsCollector, Reporter
collector = MetricsCollector()
big = torch.randn(1 << 10, 1 << 10, device="cuda")
del big
with MemoryTracker(track_allocations=False):  # begins the allocator's peak anew
    small = torch.randn(10, 10, device="cuda")
with collector.measure_time("iteration"):
    pass
report = collector.generate_report()
assert report["memory"] == {"peak_allocated": 4 << 20, "peak_reserved": 8 << 20}, report["memory"]
"""
    )


def test_a_forked_child_can_be_timed_and_tracked(program: Program) -> None:
    program(
        """
import os
from machine import install_torch
torch = install_torch()
from tachograph.profiler import CUDATimer, MemoryTracker
timer = CUDATimer()
with timer.measure("parent"):
    pass
child = os.fork()
if child == 0:
    with timer.measure("child"), MemoryTracker(track_allocations=False) as tracker:
        pass
    tracker.summary()
    os._exit(0 if timer.get_elapsed("child") >= 0 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    )
