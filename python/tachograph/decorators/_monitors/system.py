"""What the process and its machine did, made of what a window found out."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

from ..._data.machine import GPUSnapshot, SystemSnapshot
from .machine import share, total_memory

if TYPE_CHECKING:
    from ..._native import Measured
    from .results import Found

__all__ = ["cpu_samples", "gpu_peaks", "gpu_snapshots", "monitoring_fields"]

# Samples closer together than this say little about a share of the time.
CLOSEST = 0.005


_most_cpu = 100.0 * (os.cpu_count() or 1)


def most_cpu() -> float:
    """Return the most CPU there can be, in percent of one core."""
    return _most_cpu


def monitoring_fields(found: Found) -> dict[str, Any]:
    """Return the fields of the `MonitoringResult` of a call."""
    plan, measured, ended = found.plan, found.measured, found.ended
    began, elapsed = ended.started_unix_ns / 1e9, ended.wall_ns / 1e9
    scale = 100.0 / total_memory()
    before = found.cpu_before
    during = min(measured.cpu_percent, most_cpu())
    samples = cpu_samples(measured, found.cpu_points)
    memory = [size * scale for _, size in found.memory_points]
    _, written, disk_read, disk_written = measured.io or (0, 0, 0, 0)
    received, sent = measured.network_bytes or (0, 0)
    start, end = _snapshots(measured, began, elapsed, before, during)
    facts = found.facts()
    facts["sample_interval"] = plan.interval
    facts["monitor_gpu"] = plan.gpu
    facts["samples_count"] = len(memory)
    # To files and pipes, whether or not a disk had to move.
    facts["bytes_written"] = written
    facts["machine_cpu_percent"] = measured.machine_cpu_percent
    facts["machine_age"] = measured.machine_age_s
    devices: list[GPUSnapshot] = []
    if plan.gpu:
        devices = gpu_snapshots(measured, began + elapsed)
        if devices:
            facts["gpu"] = gpu_peaks(measured)
    return {
        "function_name": plan.name,
        "execution_time": elapsed,
        "cpu_usage_start": before,
        "cpu_usage_end": during,
        "memory_usage_start": measured.rss_start * scale,
        "memory_usage_end": measured.rss_end * scale,
        "timestamp": began,
        "start_snapshot": start,
        "end_snapshot": end,
        "peak_cpu": max([during, *samples]),
        "peak_memory": measured.rss_peak * scale,
        "total_disk_read": disk_read,
        "total_disk_write": disk_written,
        "total_net_sent": sent,
        "total_net_recv": received,
        "duration": elapsed,
        "cpu_samples": samples,
        "memory_samples": memory,
        "gpu_snapshots": devices,
        "metadata": facts,
    }


def _snapshots(
    measured: Measured, began: float, elapsed: float, before: float, during: float
) -> tuple[SystemSnapshot, SystemSnapshot]:
    """Return both ends. What is dear to read is from the shared series."""
    scale = 100.0 / total_memory()
    (vms_start, vms_end), (read, written) = measured.virtual_bytes, measured.disk_before
    _, _, more_read, more_written = measured.io or (0, 0, 0, 0)
    sent, more_sent = _last_and_growth(measured, "machine", "sent")
    received, more_received = _last_and_growth(measured, "machine", "received")
    threads, more_threads = _last_and_growth(measured, "process", "threads")
    files, more_files = _last_and_growth(measured, "process", "descriptors")
    start = SystemSnapshot(
        before,
        measured.rss_start * scale,
        measured.rss_start,
        vms_start,
        read,
        written,
        sent - more_sent,
        received - more_received,
        files - more_files,
        threads - more_threads,
        began,
    )
    end = SystemSnapshot(
        during,
        measured.rss_end * scale,
        measured.rss_end,
        vms_end,
        read + more_read,
        written + more_written,
        sent,
        received,
        files,
        threads,
        began + elapsed,
    )
    return start, end


def _last_and_growth(measured: Measured, scope: str, name: str) -> tuple[int, int]:
    row = measured.range(scope, name)
    return (0, 0) if row is None else (int(row[2][3]), int(row[2][4]))


def cpu_samples(measured: Measured, points: list[tuple[float, float]]) -> list[float]:
    """Return CPU in percent of one core between the samples of a window.

    Args:
        measured: What the window found out.
        points: The series ``cpu time`` in it.
    """
    if not points:
        return []
    whole = measured.wall_s
    first = measured.cpu_before_s
    edges = [(0.0, first)]
    for when, ns in points:
        if when - edges[-1][0] >= CLOSEST and whole - when >= CLOSEST:
            edges.append((when, ns / 1e9))
    edges.append((whole, first + measured.cpu_s))
    pairs = itertools.pairwise(edges)
    most = most_cpu()
    return [min(share(b[1] - a[1], b[0] - a[0]), most) for a, b in pairs]


_DEVICE = {
    "utilisation": ("peak_utilization", 100.0),
    "memory used": ("peak_memory_mb", 1 / (1024 * 1024)),
    "temperature": ("peak_temperature", 1.0),
    "power": ("peak_power", 1.0),
}


def _devices(measured: Measured) -> dict[int, dict[str, Any]]:
    """Return the rows of every graphics processor by their name."""
    found: dict[int, dict[str, Any]] = {}
    for row in measured.series():
        scope, device, name = row[0][:3]
        if scope == "device":
            found.setdefault(device, {})[name] = row
    return found


def gpu_snapshots(measured: Measured, now: float) -> list[GPUSnapshot]:
    """Return the latest reading of every graphics processor."""

    def last(rows: dict[str, Any], name: str) -> float | None:
        row = rows.get(name)
        return None if row is None else row[2][3]

    found = []
    for _, rows in sorted(_devices(measured).items()):
        used, part = last(rows, "memory used"), last(rows, "memory share")
        busy = last(rows, "utilisation")
        found.append(
            GPUSnapshot(
                gpu_utilization=None if busy is None else 100.0 * busy,
                gpu_memory_used=None if used is None else int(used),
                gpu_memory_total=round(used / part) if used and part else None,
                gpu_temperature=last(rows, "temperature"),
                gpu_power_draw=last(rows, "power"),
                timestamp=now,
            )
        )
    return found


def gpu_peaks(measured: Measured) -> list[dict[str, Any]]:
    """Return the highest readings of every graphics processor."""
    from ..._native import gpu_devices

    names = {device["index"]: device["name"] for device in gpu_devices()}
    peaks = []
    for index, rows in sorted(_devices(measured).items()):
        told: dict[str, Any] = {"name": names.get(index, f"device {index}")}
        for name, (key, scale) in _DEVICE.items():
            if name in rows:
                told[key] = rows[name][2][1] * scale
        peaks.append(told)
    return peaks
