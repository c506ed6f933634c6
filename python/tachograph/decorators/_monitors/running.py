"""Monitors that are started and stopped by hand."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..._data.memory import MemorySnapshot
from ..._native import MonitorWindow, gpu_watch
from .machine import total_memory
from .plan import checked_interval
from .system import cpu_samples, gpu_snapshots, most_cpu

if TYPE_CHECKING:
    from ..._native import Measured

__all__ = ["MemoryMonitor", "SystemMonitor"]


class _Monitor:
    """A window that is opened by `start` and closed by `stop`."""

    def __init__(self, interval: float) -> None:
        self.interval = checked_interval(interval)
        self._window: MonitorWindow | None = None
        self._seen: Measured | None = None
        self._began = 0.0

    def start(self) -> None:
        """Begin to watch; nothing happens if it runs already."""
        if self._window is None:
            self._began = time.time()
            self._window = MonitorWindow(peak=True, series_interval=self.interval)

    def _stop(self) -> None:
        if self._window is not None:
            self._seen = self._window.close()
            self._window = None

    def _now(self) -> Measured | None:
        return self._seen if self._window is None else self._window.read()


def _cpu(seen: Measured) -> list[float]:
    return cpu_samples(seen, seen.points("process", "cpu time"))


class MemoryMonitor(_Monitor):
    """Watches the memory of this process from `start` to `stop`.

    Args:
        interval: Seconds between samples. One sampler serves the whole
            program; the shortest interval anybody asks for counts.
    """

    def __init__(self, interval: float = 0.1) -> None:
        super().__init__(interval)

    def stop(self) -> list[MemorySnapshot]:
        """Stop, and return the beginning, the samples and the end."""
        self._stop()
        seen = self._seen
        if seen is None:
            return []
        points = [(0.0, float(seen.rss_start)), *seen.points("process", "memory")]
        points.append((seen.wall_s, float(seen.rss_end)))
        return [self._snapshot(seen, int(size), when) for when, size in points]

    def get_peak_memory(self) -> MemorySnapshot | None:
        """Return the most memory since `start`, however short; ``None`` if never started.

        Its moment is not known; the timestamp is that of the last reading.
        """
        seen = self._now()
        return None if seen is None else self._snapshot(seen, seen.rss_peak, seen.wall_s)

    def _snapshot(self, seen: Measured, rss: int, when: float) -> MemorySnapshot:
        total = total_memory()
        used = seen.range("machine", "memory used")
        available = 0 if used is None else max(0, int(total - used[2][3]))
        vms = max(seen.virtual_bytes)
        return MemorySnapshot(rss, vms, 100.0 * rss / total, available, self._began + when)


class SystemMonitor(_Monitor):
    """Watches CPU, memory and graphics processors from `start` to `stop`.

    Args:
        interval: Seconds between samples; see `MemoryMonitor`.
        monitor_gpu: Look at graphics processors too.
    """

    def __init__(self, interval: float = 0.1, monitor_gpu: bool = False) -> None:
        super().__init__(interval)
        self.monitor_gpu = monitor_gpu
        if monitor_gpu:
            gpu_watch()

    def stop(self) -> dict[str, list[Any]]:
        """Stop, and return ``cpu_samples``, ``memory_samples`` and ``gpu_snapshots``.

        CPU is in percent of one core, memory in percent of the machine's.
        """
        self._stop()
        seen = self._seen
        if seen is None:
            return {"cpu_samples": [], "memory_samples": [], "gpu_snapshots": []}
        scale = 100.0 / total_memory()
        memory = [size * scale for _, size in seen.points("process", "memory")]
        now = self._began + seen.wall_s
        return {
            "cpu_samples": _cpu(seen) or [min(seen.cpu_percent, most_cpu())],
            "memory_samples": [*memory, seen.rss_end * scale],
            "gpu_snapshots": gpu_snapshots(seen, now) if self.monitor_gpu else [],
        }

    def get_peak_cpu(self) -> float:
        """Return the most CPU of any sample, in percent of one core."""
        seen = self._now()
        if seen is None:
            return 0.0
        return max([min(seen.cpu_percent, most_cpu()), *_cpu(seen)])

    def get_peak_memory(self) -> float:
        """Return the most memory, however short, in percent of the machine's."""
        seen = self._now()
        return 0.0 if seen is None else 100.0 * seen.rss_peak / total_memory()
