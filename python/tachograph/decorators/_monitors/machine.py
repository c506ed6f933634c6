"""This process and its machine now."""

from __future__ import annotations

import os
import time

from ..._data.machine import SystemSnapshot
from ..._data.memory import MemorySnapshot
from ..._native import machine_figures, open_descriptors, process_figures

__all__ = ["born", "memory_now", "snapshot", "total_memory"]

# A share of the CPU needs some time to be one of; a shorter stretch since the
# last reading is told together with the one before.
SHORTEST = 0.01


_total = 0
_born: float | None = None


def total_memory() -> int:
    """Return the bytes of memory this machine has."""
    global _total
    if not _total:
        _total = max(machine_figures()["memory_bytes"], 1)
    return _total


def born() -> float:
    """Return when this process was started, on the monotonic clock."""
    global _born
    if _born is None:
        _born = _read_birth()
    return _born


def _read_birth() -> float:
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return time.monotonic() - age
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - time.process_time()


class _Readings:
    """The CPU time of the last readings, for the share since then."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[float, float], tuple[float, float]] | None = None

    def percent(self, now: float, cpu: float) -> float:
        """Return CPU in percent of one core since the last reading, then count this as one."""
        first = (born(), 0.0)
        before, last = self._kept if self._kept is not None else (first, first)
        if now - last[0] >= SHORTEST:
            before, last = last, (now, cpu)
            self._kept = (before, last)
        return share(cpu - before[1], now - before[0])


_readings = _Readings()


def _begin_anew() -> None:
    """Forget what was read of the parent of a forked child."""
    global _born, _readings
    _born, _readings = None, _Readings()


os.register_at_fork(after_in_child=_begin_anew)


def share(cpu: float, elapsed: float) -> float:
    """Return CPU in percent of one core."""
    return max(0.0, 100.0 * cpu / elapsed) if elapsed > 0 else 0.0


def cpu_until(start_ns: int, cpu: float) -> float:
    """Return CPU in percent from the last reading to a beginning."""
    return _readings.percent(start_ns / 1e9, cpu)


def snapshot() -> SystemSnapshot:
    """Return this process and its machine now."""
    process = process_figures()
    machine = machine_figures()
    return SystemSnapshot(
        cpu_percent=_readings.percent(time.monotonic(), process["cpu_s"]),
        memory_percent=100.0 * process["rss_bytes"] / total_memory(),
        memory_rss=process["rss_bytes"],
        memory_vms=process["virtual_bytes"],
        disk_read_bytes=process["disk_read_bytes"],
        disk_write_bytes=process["disk_written_bytes"],
        net_bytes_sent=machine["sent_bytes"],
        net_bytes_recv=machine["received_bytes"],
        open_files=open_descriptors(),
        num_threads=process["threads"],
        timestamp=time.time(),
    )


def memory_now() -> MemorySnapshot:
    """Return the memory of this process now."""
    process = process_figures()
    return MemorySnapshot(
        rss=process["rss_bytes"],
        vms=process["virtual_bytes"],
        percent=100.0 * process["rss_bytes"] / total_memory(),
        available=machine_figures()["available_bytes"],
        timestamp=time.time(),
    )
