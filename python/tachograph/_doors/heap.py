"""A window in which allocations are sampled: the one engine behind every door.

``memprof``, ``memory_profile(use_tracemalloc=True)``, ``MemoryTracker`` and
``MemoryLeakDetector`` all look through one of these.
"""

from __future__ import annotations

import os

from .._data.heap import FramePointerHealth, HeapSnapshot, MemProfStats
from .._native import HeapDoor
from . import host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._data.recording import Recording
    from .._native import _HeapStats


class HeapWindow:
    """Samples allocations of the whole process from now until it is closed.

    Windows may nest and overlap. Each sees what was allocated since it was
    opened; the finest rate that is asked for counts for all.

    Args:
        rate_kb: Kilobytes between two samples, on average.
        python_objects: Sample small Python objects one by one.
        native: Take native frames too.
        history: Also keep blocks that were freed, for ``finish()``.
    """

    __slots__ = ("_door", "_pid")

    def __init__(
        self,
        rate_kb: int = 512,
        *,
        python_objects: bool = True,
        native: bool = True,
        history: bool = False,
    ) -> None:
        self._pid = os.getpid()
        self._door = HeapDoor.open(
            rate_bytes=rate_kb * 1024,
            python_objects=python_objects,
            native=native,
            history=history,
            host=(host.python_facts(), host.command(), host.roots(), host.thread_names()),
        )

    def pause(self) -> None:
        """Take no more samples; what is freed is still noticed."""
        self._door.pause()

    def snapshot(self) -> HeapSnapshot | None:
        """Return what is live; ``None`` once closed, and in a forked child."""
        found = self._door.picture()
        if found is None:
            return None
        picture, stats, taken_ns, peak_ns, notes = found
        shallow, stacks, frames, shortest = stats[3]
        average = frames / stacks if stacks else 0.0
        snapshot = HeapSnapshot._of(
            picture,
            rate=stats[2][0],
            total_samples=stats[0][0],
            timestamp_ns=taken_ns,
            health=FramePointerHealth(shallow, stacks, average, shortest),
        )
        snapshot.__dict__["_peak_time_ns"] = peak_ns
        snapshot.__dict__["_notes"] = notes
        return snapshot

    def stats(self) -> MemProfStats | None:
        """Return figures; ``None`` once closed, and in a forked child."""
        stats = self._door.stats()
        return None if stats is None else _stats(stats)

    def finish(self) -> Recording:
        """Close it and return what was allocated and freed, if ``history`` was asked for."""
        from .._data.recording import Recording

        return Recording._of(self._door.finish(host.thread_names()))

    def close(self) -> None:
        """Close it; closing twice is fine."""
        if self._pid == os.getpid():
            self._door.close()


def _stats(stats: _HeapStats) -> MemProfStats:
    (total, live, freed, dropped), (stacks, size, load, collisions), rates, native = stats
    rate, effective, own = rates
    return MemProfStats(
        total_samples=total,
        live_samples=live,
        freed_samples=freed,
        unique_stacks=stacks,
        estimated_heap_bytes=size,
        heap_map_load_percent=min(load * 100, 100.0),
        collisions=collisions,
        sampling_rate_bytes=rate,
        shallow_stack_warnings=native[0],
        dropped_samples=dropped,
        effective_rate_bytes=effective,
        profiler_bytes=own,
    )
