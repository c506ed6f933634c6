"""The tracker of memory: torch's allocator, a device without torch, and this process."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from tachograph.profiler import MemoryTracker, get_gpu_info, get_gpu_memory_info

Program = Callable[..., str]

TORCH = """
from machine import install_torch, nvml
torch = install_torch()
from tachograph.profiler import MemoryTracker, get_gpu_memory_info
MB = 1 << 20
def tensor(megabytes):
    return torch.randn(megabytes, 1 << 18, device="cuda")
"""


def test_torchs_allocator_tells_start_end_and_peak(program: Program) -> None:
    told = program(
        TORCH
        + """
kept = tensor(10)
tracker = MemoryTracker(track_allocations=False)
with tracker:
    short = tensor(100)
    del short
    more = tensor(5)
stats = tracker.get_stats()
assert stats["source"] == "torch" and stats["peak_is_exact"]
assert stats["start_allocated"] == 10 * MB
assert stats["peak_allocated"] == 110 * MB and stats["peak_reserved"] == 220 * MB
assert stats["end_allocated"] == 15 * MB and stats["allocated_change"] == 5 * MB
tracker.print_summary()
"""
    )

    # CUDA's first device is the second one of the management library here.
    assert "torch's allocator · Stand-in GPU 1" in told
    assert "110.0 MB" in told or "115 MB" in told, told
    assert "no GPU" not in told


def test_trackers_that_overlap_each_keep_their_own_peak(program: Program) -> None:
    program(
        TORCH
        + """
outer = MemoryTracker(track_allocations=False)
with outer:
    first = tensor(100)
    del first
    with MemoryTracker(track_allocations=False) as inner:
        second = tensor(30)
        del second
    with outer.track("third"):
        third = tensor(20)
        del third
    outer.reset_peak_stats()
assert outer.get_stats()["peak_allocated"] == 100 * MB
assert inner.get_stats()["peak_allocated"] == 30 * MB
assert outer.get_delta("third").peak_allocated_bytes == 20 * MB
assert outer.get_delta("third").delta_bytes == 0 and outer.get_delta("fourth") is None
"""
    )


def test_the_older_names_serve_snapshots_and_comparisons(program: Program) -> None:
    program(
        TORCH
        + """
tracker = MemoryTracker(device=0, enabled=True)
tracker.snapshot("before")
kept = tensor(64)
after = tracker.snapshot("after")
delta = tracker.compare("before", "after")
assert (delta.name, delta.delta_mb) == ("before -> after", 64.0)
assert after.allocated_mb == 64.0 and after.reserved_mb == 128.0
assert tracker.get_snapshot("after") is after and tracker.compare("before", "x") is None
assert tracker.current_allocated_mb == 64.0 and tracker.peak_allocated_mb == 64.0
assert tracker.total_memory_mb == 8192.0
assert tracker.free_memory_mb == 8192 - 1024 - 64
tracker.clear()
assert tracker.get_snapshot("after") is None
info = get_gpu_memory_info(0)
assert info["cuda_available"] and info["allocated_mb"] == 64.0
assert abs(info["utilization_pct"] - 64 / 8192 * 100) < 1e-9
"""
    )


def test_a_device_without_torch_is_told_by_its_driver(program: Program) -> None:
    program(
        """
import os
from machine import cuda, nvml, wait_for_readings
from tachograph.profiler import MemoryTracker
if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
    raise SystemExit(0)            # a container's own process is not listed
cuda.stand_in_make_context(0)      # CUDA's first device is the second one here
nvml.stand_in_allocate(1, 100 << 20)
tracker = MemoryTracker(track_allocations=False, interval=20)
with tracker:
    nvml.stand_in_allocate(1, 500 << 20)
    wait_for_readings(2)
    nvml.stand_in_allocate(1, -(400 << 20))
    wait_for_readings()
stats = tracker.get_stats()
assert stats["source"] == "device" and stats["device_name"] == "Stand-in GPU 1", stats
assert stats["start_allocated"] == 100 << 20 and stats["end_allocated"] == 200 << 20
assert stats["peak_allocated"] == 600 << 20 and not stats["peak_is_exact"]
course = tracker.get_allocation_timeline()
assert len(course) >= 3 and max(point.allocated_bytes for point in course) == 600 << 20
assert [point.time_s for point in course] == sorted(point.time_s for point in course)
assert "readings every 20 ms" in tracker.summary(width=120)
"""
    )


def test_the_course_of_a_tracker_outlives_the_sampler(program: Program) -> None:
    program(
        TORCH
        + """
import tachograph
from machine import wait_for_readings
tracker = MemoryTracker(track_allocations=False, interval=20)
with tachograph.record(heap=False):
    with tracker:
        kept = tensor(10)
        wait_for_readings(3)
course = tracker.get_allocation_timeline()
assert course and course[-1].allocated_bytes in (10 * MB, 1034 * MB), course
assert "COURSE" in tracker.summary() or len(course) < 3
"""
    )


def test_a_driver_that_vanishes_inside_of_a_block_is_no_error(program: Program) -> None:
    program(
        """
from machine import cuda, nvml
from tachograph.profiler import MemoryTracker, get_gpu_memory_info
cuda.stand_in_make_context(0)
nvml.stand_in_allocate(1, 100 << 20)
tracker = MemoryTracker(track_allocations=False)
with tracker:
    nvml.stand_in_break(b"*=15")
    cuda.stand_in_break(b"cuDeviceGet=100")
assert tracker.get_stats()["source"] == "process"
tracker.summary()
assert get_gpu_memory_info()["cuda_available"] in (True, False)
"""
    )


def wait_for_points(tracker: MemoryTracker) -> None:
    """Wait until the sampler has read the process again, from beginning to end."""
    # One may be under way now, and the last is done when another begins.
    wanted = len(tracker.get_allocation_timeline("process")) + 3
    while len(tracker.get_allocation_timeline("process")) < wanted:
        time.sleep(0.01)


def test_without_a_device_the_process_is_followed_and_the_summary_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tracker = MemoryTracker(track_allocations=False, interval=10)
    with tracker:
        block = bytearray(b"x") * 60_000_000
        wait_for_points(tracker)
        del block
        wait_for_points(tracker)

    stats = tracker.get_stats()
    assert stats["source"] == "process"
    assert stats["peak_allocated"] - stats["start_allocated"] >= 55_000_000
    assert stats["peak_allocated"] - stats["end_allocated"] >= 50_000_000
    assert stats["device_name"] is None
    course = tracker.get_allocation_timeline("process")
    assert max(point.allocated_bytes for point in course) >= stats["start_allocated"] + 55_000_000
    tracker.print_summary()
    told = " ".join(capsys.readouterr().out.split())
    assert "no GPU memory was used, so this is the memory of this process" in told
    assert "COURSE" in told


def test_allocations_are_tracked_to_the_line_that_made_them() -> None:
    tracker = MemoryTracker()
    with tracker:
        kept = [bytearray(1_000_000) for _ in range(30)]

    top = tracker.get_top_allocations(3)
    assert top[0]["function"].endswith("allocations_are_tracked_to_the_line_that_made_them") or (
        "<listcomp>" in top[0]["function"]
    )
    # Blocks of a megabyte are larger than the sampling rate: each is counted exactly.
    assert top[0]["bytes"] == pytest.approx(30_000_000, rel=0.01)
    course = tracker.get_allocation_timeline()
    assert max(point.allocated_bytes for point in course) >= 30_000_000
    assert "ALLOCATIONS" in tracker.summary(width=120)
    assert len(kept) == 30


def test_a_peak_shorter_than_the_interval_is_seen() -> None:
    tracker = MemoryTracker(track_allocations=False, track_timeline=False)
    with tracker:
        block = bytearray(b"x") * 80_000_000
        del block

    stats = tracker.get_stats()
    if stats["peak_is_exact"]:
        assert stats["peak_allocated"] - stats["start_allocated"] >= 75_000_000
    assert tracker.get_allocation_timeline("device") == []


def test_figures_so_far_can_be_read_inside_of_the_block() -> None:
    tracker = MemoryTracker(track_allocations=False)
    assert tracker.get_stats()["peak_allocated"] == 0
    assert "nothing tracked yet" in tracker.summary()
    with tracker:
        assert tracker.get_stats()["peak_allocated"] > 0
        assert tracker.snapshot("inside").allocated_bytes > 0
        with pytest.raises(RuntimeError, match="already running"):
            tracker.__enter__()


def test_a_tracker_that_is_not_enabled_measures_nothing() -> None:
    tracker = MemoryTracker(enabled=False)
    with tracker, tracker.track("block"):
        pass

    assert tracker.get_stats()["peak_allocated"] == 0
    assert tracker.get_delta("block") is None
    assert tracker.current_allocated_mb == 0.0


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="interval must be >= 1"):
        MemoryTracker(interval=0)
    with (
        MemoryTracker(track_allocations=False) as tracker,
        pytest.raises(ValueError, match="kind must be one of allocations, process, device"),
    ):
        tracker.get_allocation_timeline("heap")


def test_a_machine_without_devices_has_no_info_and_a_reason() -> None:
    if get_gpu_info():
        pytest.skip("this machine has a device")

    info = get_gpu_memory_info()

    assert info["cuda_available"] is False
    assert "NVIDIA driver" in info["reason"]
    assert MemoryTracker().total_memory_mb == MemoryTracker().free_memory_mb == 0.0


def test_info_of_devices_is_in_megabytes_and_percent(program: Program) -> None:
    program(
        """
from machine import nvml
from tachograph.profiler import get_gpu_info, get_gpu_memory_info
from tachograph.profiler.gpu import memory_fraction, own_memory_bytes
nvml.stand_in_busy(1, 55)
nvml.stand_in_allocate(1, 1 << 30)
row = get_gpu_info()[1]
assert row["name"] == "Stand-in GPU 1" and row["memory_total_mb"] == 8192
assert row["memory_used_mb"] == 2048 and abs(row["utilization"] - 55) < 1e-9
assert row["power_draw"] == 150.0 and row["temperature"] == 53
assert memory_fraction() == 0.25
assert own_memory_bytes() in (1 << 30, 0)
assert get_gpu_memory_info(7)["reason"] == "there is no device 7; 2 are there"
"""
    )
