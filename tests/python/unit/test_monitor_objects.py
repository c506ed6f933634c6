"""Monitors that are started by hand, leak verdicts, snapshots, and what a machine is."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

import pytest
from tachograph.decorators import (
    CombinedResult,
    MemoryLeakDetector,
    MemoryMonitor,
    MonitoringResult,
    SystemMonitor,
    SystemSnapshot,
    TimingResult,
    get_current_memory,
    get_gpu_info,
    get_peak_memory_usage,
    get_system_info,
)
from watched import MB, burn, doze


def test_a_memory_monitor_sees_the_course_and_the_shortest_peak() -> None:
    monitor = MemoryMonitor(interval=0.02)
    monitor.start()
    before = get_current_memory().rss
    bytearray(b"x") * (100 * MB)
    doze(0.6)

    peak = monitor.get_peak_memory()
    snapshots = monitor.stop()

    assert peak is not None and peak.rss >= before + 99 * MB
    assert len(snapshots) >= 4
    assert [s.timestamp for s in snapshots] == sorted(s.timestamp for s in snapshots)
    assert all(s.rss > MB and 0 < s.percent < 100 and s.available > 0 for s in snapshots)
    assert monitor.get_peak_memory() is not None and monitor.stop() == snapshots


def test_a_monitor_that_was_never_started_has_seen_nothing() -> None:
    assert MemoryMonitor().get_peak_memory() is None
    assert MemoryMonitor().stop() == []
    assert SystemMonitor().get_peak_cpu() == 0.0
    assert SystemMonitor().stop() == {"cpu_samples": [], "memory_samples": [], "gpu_snapshots": []}


def test_a_system_monitor_tells_busy_from_idle() -> None:
    monitor = SystemMonitor(interval=0.02, monitor_gpu=True)
    wall = time.monotonic()
    monitor.start()
    began = time.process_time()
    burn(0.2)
    used = time.process_time() - began
    busiest = monitor.get_peak_cpu()
    around = time.monotonic() - wall
    doze(0.6)

    data = monitor.stop()

    # No mean is above its highest part, and so far it was all work.
    assert busiest >= 100 * used / around
    assert monitor.get_peak_cpu() > min(data["cpu_samples"])
    assert min(data["cpu_samples"]) < 50 and len(data["cpu_samples"]) >= 5
    assert 0 < monitor.get_peak_memory() < 100
    assert all(0 < share < 100 for share in data["memory_samples"])
    assert isinstance(data["gpu_snapshots"], list)


# In a process of its own: one that has freed much gives that again before it grows.
LEAKS = """
import time
from tachograph.decorators import MemoryLeakDetector

MB = 1_000_000
detector = MemoryLeakDetector(threshold_mb=10, sample_interval=0.05)
detector.set_baseline()
kept = []
began = time.monotonic()
for step in range(40):
    # By the clock, not one pause after the other: whatever holds the program
    # up is caught up with, and the growth stays even.
    time.sleep(max(0.0, began + step * 0.05 - time.monotonic()))
    kept.append(bytearray(b"x") * (2 * MB))
    detector.sample()

found = detector.check_leak()

assert found["leak_detected"] is True, found
assert abs(found["memory_growth_bytes"] - 80 * MB) < 8 * MB, found
assert abs(found["current_mb"] - found["baseline_mb"] - found["memory_growth_mb"]) < 1e-6
assert found["memory_growth_mb"] * 2**20 == found["memory_growth_bytes"]
assert found["growth_rate_mb_per_sec"] > 0
assert found["threshold_mb"] == 10
assert found["samples_count"] >= 40
assert found["sure_growth_mb"] > found["needed_growth_mb"] >= 10
assert "grew evenly" in found["reason"]
"""


def test_a_leak_is_told_with_its_evidence() -> None:
    subprocess.run([sys.executable, "-c", LEAKS], check=True, timeout=60)


def test_a_saw_is_no_leak() -> None:
    detector = MemoryLeakDetector(threshold_mb=5)
    detector.set_baseline()
    kept: list[bytearray] = []
    for step in range(40):
        if step % 8 == 0:
            kept.clear()
        kept.append(bytearray(b"x") * (4 * MB))
        detector.sample()
        time.sleep(0.002)

    found = detector.check_leak()

    assert found["leak_detected"] is False, found
    assert found["reason"]


def test_a_warm_up_is_no_leak() -> None:
    detector = MemoryLeakDetector(threshold_mb=5)
    detector.set_baseline()
    kept = bytearray(b"x") * (60 * MB)
    for _ in range(40):
        detector.sample()
        time.sleep(0.002)

    assert len(kept) and detector.check_leak()["leak_detected"] is False


def test_a_larger_threshold_lets_more_pass() -> None:
    detector = MemoryLeakDetector(threshold_mb=500)
    detector.set_baseline()
    kept = []
    for _ in range(20):
        kept.append(bytearray(b"x") * (2 * MB))
        detector.sample()
        time.sleep(0.002)

    found = detector.check_leak()

    assert found["leak_detected"] is False and found["needed_growth_mb"] == 500


def test_without_data_there_is_no_verdict() -> None:
    detector = MemoryLeakDetector()
    assert detector.check_leak() == {"leak_detected": False, "reason": "Insufficient data"}
    detector.sample()
    assert detector.check_leak() == {"leak_detected": False, "reason": "Insufficient data"}


@pytest.mark.parametrize("wrong", [{"threshold_mb": 0}, {"sample_interval": 0}])
def test_a_detector_that_could_not_work_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="not 0"):
        MemoryLeakDetector(**wrong)


def test_a_snapshot_agrees_with_the_kernel() -> None:
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])

    seen = SystemSnapshot.capture()

    assert seen.memory_rss == pytest.approx(pages * os.sysconf("SC_PAGESIZE"), abs=5 * MB)
    assert seen.memory_vms >= seen.memory_rss
    assert 0 < seen.memory_percent < 100
    # The folder of descriptors is itself open while it is listed.
    assert abs(seen.open_files - len(os.listdir("/proc/self/fd"))) <= 2
    assert seen.num_threads == len(os.listdir("/proc/self/task"))
    assert abs(seen.timestamp - time.time()) < 60


FIRST = """
import sys, time
end = time.process_time() + 0.3
while time.process_time() < end: pass
from tachograph.decorators import SystemSnapshot
first = SystemSnapshot.capture().cpu_percent
# The process is younger than this, but the kernel says when it began in hundredths.
age = time.monotonic() - float(sys.argv[1]) + 0.01
assert first >= 100 * 0.3 / age, (first, age)
time.sleep(0.3)
second = SystemSnapshot.capture().cpu_percent
assert second < first, (first, second)
"""


def test_the_first_snapshot_of_a_process_knows_its_cpu() -> None:
    now = str(time.monotonic())
    subprocess.run([sys.executable, "-c", FIRST, now], check=True, timeout=60)


def test_the_peak_is_at_least_what_is_held_now() -> None:
    now = get_current_memory()

    assert get_peak_memory_usage() >= now.rss - MB
    assert get_peak_memory_usage() <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + MB


def test_the_machine_is_described_in_plain_values() -> None:
    info = get_system_info()

    assert set(info) == {"cpu", "memory", "disk", "network", "process", "platform"}
    assert 1 <= info["cpu"]["cpu_count"] <= info["cpu"]["cpu_count_logical"] == os.cpu_count()
    assert 0 <= info["cpu"]["cpu_percent"] <= 100
    memory = info["memory"]
    assert memory["total"] == memory["used"] + memory["available"]
    assert memory["percent"] == pytest.approx(100 * memory["used"] / memory["total"])
    assert info["process"]["pid"] == os.getpid()
    assert info["process"]["create_time"] < time.time()
    assert info["platform"]["system"] == "Linux"
    for disk in info["disk"]:
        assert 0 <= disk["used"] <= disk["total"] and 0 <= disk["percent"] <= 100


def test_devices_are_listed_and_their_absence_is_no_error() -> None:
    for device in get_gpu_info():
        assert {"id", "name", "memory_total", "memory_used", "load"} <= set(device)


def test_a_summary_is_a_dict_that_prints_as_a_table() -> None:
    timing = TimingResult("f", 1.5, 0.0)
    system = MonitoringResult("f", 1.5, 0.0, 50.0, 1.0, 2.0, 0.0, peak_cpu=99.0, peak_memory=2.0)
    result = CombinedResult("f", timing, None, system, None, 1.5, 10.0)

    summary = result.summary()

    assert system.duration == 1.5
    assert summary["total_duration"] == 1.5 and summary["timestamp"] == 10.0
    assert summary["system"]["peak_cpu"] == 99.0 and "memory" not in summary
    assert str(summary).splitlines()[0] == "tachograph · f · 1.50 s"
    assert "CPU 50 %, at most 99 %" in str(summary)
    assert summary.table(width=60).count("\n") >= 3


LIGHT = """
import sys
import tachograph.decorators
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"numpy", "pandas", "psutil", "torch", "tracemalloc"}, loaded
assert "tachograph.decorators.combined" not in sys.modules
tachograph.decorators.performance_monitor
assert not {name.partition(".")[0] for name in sys.modules} & {"numpy", "pandas", "psutil", "torch"}
"""


def test_nothing_heavy_is_imported() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True, timeout=60)
