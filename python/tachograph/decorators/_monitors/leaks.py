"""Whether this process keeps more and more memory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..._native import MonitorWindow, memory_growth
from .machine import memory_now
from .plan import checked_interval

if TYPE_CHECKING:
    from ..._data.memory import MemorySnapshot

__all__ = ["MemoryLeakDetector"]

_MB = 1024 * 1024


class MemoryLeakDetector:
    """Tells a leak from memory that comes and goes.

    From `set_baseline` on, memory is read every `sample_interval` seconds by
    the sampler that the program shares, and whenever `sample` is called. A
    leak is growth that is sure, even and large enough to matter: a saw, a
    step and a warm-up are none.

    Args:
        threshold_mb: Growth below this is no leak, nor is growth below 5 % of
            the memory held. A megabyte is 2^20 bytes.
        sample_interval: Seconds between readings.

    Example:
        >>> detector = MemoryLeakDetector(sample_interval=0.1)
        >>> detector.set_baseline()
        >>> for _ in range(3):
        ...     snapshot = detector.sample()
        >>> detector.check_leak()["leak_detected"]
        False
    """

    def __init__(self, threshold_mb: float = 10.0, sample_interval: float = 1.0) -> None:
        if not threshold_mb > 0:
            raise ValueError(f"threshold_mb must be more than 0, not {threshold_mb}")
        self.threshold_bytes = int(threshold_mb * _MB)
        self.sample_interval = checked_interval(sample_interval)
        self._baseline: MemorySnapshot | None = None
        self._window: MonitorWindow | None = None
        self._samples: list[tuple[int, MemorySnapshot]] = []

    def set_baseline(self) -> None:
        """Count growth from now on, and forget what was read before."""
        self._samples = []
        self._window = MonitorWindow(peak=False, series_interval=self.sample_interval)
        self._baseline = memory_now()

    def sample(self) -> MemorySnapshot:
        """Read the memory now, and return it."""
        now = memory_now()
        self._samples.append((time.monotonic_ns(), now))
        return now

    def check_leak(self) -> dict[str, Any]:
        """Return whether memory leaks, and why that is the answer.

        Returns:
            ``leak_detected``; ``memory_growth_bytes`` and ``memory_growth_mb``
            since the baseline; ``growth_rate_mb_per_sec``, the typical rate;
            ``baseline_mb``, ``current_mb``, ``samples_count``,
            ``threshold_mb``. The evidence: ``reason``, a sentence;
            ``sure_growth_mb``, what it grew in 95 of 100 cases;
            ``needed_growth_mb``, what it would have to; ``judged_seconds`` and
            ``judged_samples``, the warm-up left out. Before a baseline and two
            readings there is only a reason.
        """
        baseline, window = self._baseline, self._window
        if baseline is None or window is None:
            return {"leak_detected": False, "reason": "Insufficient data"}
        seen = window.read()
        points = seen.points("process", "memory")
        points += [((when - seen.start_ns) / 1e9, float(s.rss)) for when, s in self._samples]
        if len(points) < 2:
            return {"leak_detected": False, "reason": "Insufficient data"}
        points.sort()
        leaking, figures, judged, reason = memory_growth(points, float(self.threshold_bytes))
        rate, _, sure, needed, seconds = figures
        current = self._samples[-1][1].rss if self._samples else int(points[-1][1])
        grown = current - baseline.rss
        return {
            "leak_detected": leaking,
            "memory_growth_bytes": grown,
            "memory_growth_mb": grown / _MB,
            "growth_rate_mb_per_sec": rate / _MB,
            "baseline_mb": baseline.rss / _MB,
            "current_mb": current / _MB,
            "samples_count": len(points),
            "threshold_mb": self.threshold_bytes / _MB,
            "reason": reason,
            "sure_growth_mb": sure / _MB,
            "needed_growth_mb": needed / _MB,
            "judged_seconds": seconds,
            "judged_samples": judged,
        }
