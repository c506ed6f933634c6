"""A tracker of memory: of the device where there is one, else of this process."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from .._data.recording import _is_unicode, _terminal_width
from .._native import memory_table
from ._device.memory_watch import MemoryWatch, held_now
from ._device.peaks import reset_peaks
from ._device.snapshots import MemoryDelta, MemoryPoint, MemorySnapshot
from .gpu import get_gpu_memory_info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any, Literal, Self

    from .._data.recording import Recording
    from .._doors.heap import HeapWindow

__all__ = ["MemoryDelta", "MemoryPoint", "MemorySnapshot", "MemoryTracker"]

_MB = 1 << 20
_PLACES = 5

_WHOSE = {
    "torch": "torch's allocator",
    "device": "this process on the device",
    "process": "this process",
}


class MemoryTracker:
    """Tracks what is held: start, end, peak, its course, and who allocated it.

    Where torch uses a device, the figures are those of torch's allocator; its
    peak begins anew when a block is entered, so ``torch.cuda.max_memory_allocated()``
    counts from there. Where the program uses a device without torch, they are
    what the driver says of this process. Without a device the tracker follows
    the resident memory of this process. ``get_stats()["source"]`` and the
    summary say which.

    Args:
        track_allocations: Sample who allocates memory of this process, which
            takes a few milliseconds at both ends. Memory on a device is not in it.
        track_timeline: Keep the course, read by the shared sampler.
        interval: Milliseconds between two readings of the course.
        device: Number of the CUDA device; by default the current one.
        enabled: ``False`` measures nothing: every figure is 0.

    Raises:
        ValueError: ``interval`` is less than 1.

    Example:
        >>> tracker = MemoryTracker()
        >>> with tracker:
        ...     block = bytearray(50_000_000)
        >>> tracker.get_stats()["peak_allocated"] > 50_000_000
        True
    """

    def __init__(
        self,
        track_allocations: bool = True,
        track_timeline: bool = True,
        interval: int = 100,
        *,
        device: int | None = None,
        enabled: bool = True,
    ) -> None:
        if interval < 1:
            raise ValueError(f"interval must be >= 1 (milliseconds), not {interval}")
        self.track_allocations = track_allocations
        self.track_timeline = track_timeline
        self.interval = interval
        self.device = device
        self.enabled = enabled
        self._watch: MemoryWatch | None = None
        self._heap: HeapWindow | None = None
        self._recording: Recording | None = None
        self._is_open = False
        self._snapshots: dict[str, MemorySnapshot] = {}
        self._deltas: dict[str, MemoryDelta] = {}

    def __enter__(self) -> Self:
        if self._is_open:
            raise RuntimeError("this MemoryTracker is already running; make another one")
        self._is_open = True
        self._recording = None
        if self.enabled:
            if self.track_allocations:
                from .._doors.heap import HeapWindow

                self._heap = HeapWindow(rate_kb=64, history=True)
            self._watch = MemoryWatch(self.device, self._interval_s())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]:
        self._is_open = False
        if self._watch is not None:
            self._watch.close()
        if self._heap is not None:
            self._recording = self._heap.finish()
            self._heap = None
        return False

    def _interval_s(self) -> float | None:
        return self.interval / 1e3 if self.track_timeline else None

    def get_stats(self) -> dict[str, Any]:
        """Return the figures of the block, in bytes; while it runs, those so far.

        ``peak_allocated``, ``peak_reserved``, ``start_allocated``,
        ``end_allocated``, ``allocated_change``; ``source`` (``"torch"``,
        ``"device"`` or ``"process"``), ``device_name`` (``None`` without one),
        ``peak_is_exact`` (``False``: a peak between two readings may be
        missing), ``process_peak`` (resident memory of this process), and
        ``duration_s``. Before the first block every figure is 0.
        """
        if self._watch is None:
            names = ("peak_allocated", "peak_reserved", "start_allocated", "end_allocated")
            zeros = dict.fromkeys((*names, "allocated_change", "process_peak"), 0)
            return {**zeros, "source": None, "device_name": None} | {
                "peak_is_exact": False,
                "duration_s": 0.0,
            }
        source, held = self._watch.read()
        start = self._watch.start_bytes()
        measured = self._watch.measured
        return {
            "peak_allocated": held.peak_allocated,
            "peak_reserved": held.peak_reserved,
            "start_allocated": start,
            "end_allocated": held.allocated,
            "allocated_change": held.allocated - start,
            "source": source,
            "device_name": None if source == "process" else self._watch.device_name(),
            "peak_is_exact": self._watch.peak_is_exact,
            "process_peak": measured.rss_peak,
            "duration_s": measured.wall_s,
        }

    def get_allocation_timeline(self, kind: str | None = None) -> list[MemoryPoint]:
        """Return the course of what was held, in order of time.

        Args:
            kind: ``"allocations"``: what the sampled allocations of this process
                add up to. ``"process"``: its resident memory. ``"device"``: what
                it holds on the device. By default the device's where the program
                uses one, else the allocations where they are tracked, else the
                process's.

        Raises:
            ValueError: ``kind`` is another word.
        """
        kinds = ("allocations", "process", "device")
        if kind is not None and kind not in kinds:
            raise ValueError(f"kind must be one of {', '.join(kinds)}, not {kind!r}")
        if self._watch is None:
            return []
        return [MemoryPoint(time, held) for time, held in self._course(kind or self._usual_kind())]

    def _usual_kind(self) -> str:
        if self._watch is not None and self._watch.source != "process":
            return "device"
        return "allocations" if self._recording is not None else "process"

    def _course(self, kind: str) -> list[tuple[float, int]]:
        if self._watch is None:
            return []
        if kind == "allocations":
            return [] if self._recording is None else self._recording.memory_timeline()
        return self._watch.device_points() if kind == "device" else self._watch.process_points()

    def get_top_allocations(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return who held most memory of this process at its peak, most first.

        Each is a dict of ``function``, ``file``, ``line``, ``bytes`` and
        ``blocks``. Empty unless allocations were tracked, and while the block runs.
        """
        if self._recording is None:
            return []
        names = ("function", "file", "line", "bytes", "blocks")
        rows = self._recording.allocations(at="peak")[:limit]
        return [{name: getattr(row, name) for name in names} for row in rows]

    def summary(self, *, color: bool = False, width: int | None = None) -> str:
        """Return the figures, their course and who allocated, as a table.

        Args:
            color: Use terminal colours.
            width: Columns to fill; by default those of the terminal.
        """
        stats = self.get_stats()
        whose = _WHOSE.get(stats["source"], "nothing tracked yet")
        if stats["device_name"]:
            whose += f" · {stats['device_name']}"
        figures = [(name, stats[key]) for name, key in _FIGURES if stats["source"]]
        course = self._course(self._usual_kind()) if stats["source"] else []
        places = [
            (f"{row['function']}  {row['file']}:{row['line']}", row["bytes"])
            for row in self.get_top_allocations(_PLACES)
        ]
        blocks = [
            (row.name, row.delta_bytes, row.peak_allocated_bytes) for row in self._deltas.values()
        ]
        return memory_table(
            f"{whose} · {stats['duration_s']:.2f} s" if stats["source"] else whose,
            figures,
            course,
            blocks,
            places,
            self._doubts(stats),
            color=color,
            width=_terminal_width() if width is None else width,
            unicode=_is_unicode(),
        )

    def print_summary(self) -> None:
        """Print that, in colour on a terminal."""
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(self.summary(color=color))

    def _doubts(self, stats: dict[str, Any]) -> list[str]:
        doubts = []
        if stats["source"] == "process":
            doubts.append(
                "no GPU memory was used, so this is the memory of this process; "
                "its reserved memory is what it has mapped"
            )
        if stats["source"] and not stats["peak_is_exact"]:
            doubts.append(
                f"the peak is that of readings every {self.interval} ms; "
                "shorter ones may be missing"
            )
        return doubts

    # The older names.

    def snapshot(self, name: str) -> MemorySnapshot:
        """Keep and return what is held now, under a name."""
        held = self._now()
        self._snapshots[name] = MemorySnapshot(name, *held)
        return self._snapshots[name]

    def get_snapshot(self, name: str) -> MemorySnapshot | None:
        """Return a snapshot; ``None`` when there is none of that name."""
        return self._snapshots.get(name)

    def compare(self, start_name: str, end_name: str) -> MemoryDelta | None:
        """Return what changed between two snapshots; ``None`` unless both are there."""
        start, end = self._snapshots.get(start_name), self._snapshots.get(end_name)
        if start is None or end is None:
            return None
        return MemoryDelta(
            f"{start_name} -> {end_name}",
            start.allocated_bytes,
            end.allocated_bytes,
            end.max_allocated_bytes,
            end.allocated_bytes - start.allocated_bytes,
        )

    @contextmanager
    def track(self, name: str) -> Iterator[None]:
        """Track one named block; ``get_delta`` has what it did."""
        if not self.enabled:
            yield
            return
        watch = MemoryWatch(self.device, self._interval_s())
        try:
            yield
        finally:
            watch.close()
            held, start = watch.read()[1], watch.start_bytes()
            self._deltas[name] = MemoryDelta(
                name, start, held.allocated, held.peak_allocated, held.allocated - start
            )

    def get_delta(self, name: str) -> MemoryDelta | None:
        """Return what a tracked block did; ``None`` when there is none of that name."""
        return self._deltas.get(name)

    def reset_peak_stats(self) -> None:
        """Let the peaks of torch's allocator begin anew; open trackers keep theirs."""
        reset_peaks(self.device)

    def clear(self) -> None:
        """Forget snapshots, blocks, and the last block that was tracked."""
        self._snapshots.clear()
        self._deltas.clear()
        if not self._is_open:
            self._watch = self._recording = None

    def _now(self) -> tuple[int, int, int, int]:
        if not self.enabled:
            return 0, 0, 0, 0
        if self._watch is not None and self._is_open:
            return self._watch.read()[1]
        return held_now(self.device)

    @property
    def current_allocated_mb(self) -> float:
        """What is held now, in megabytes."""
        return self._now()[0] / _MB

    @property
    def current_reserved_mb(self) -> float:
        """What is reserved now, in megabytes."""
        return self._now()[1] / _MB

    @property
    def peak_allocated_mb(self) -> float:
        """The most held, in megabytes: in the block, or so far when there is none."""
        watch = self._watch
        held = watch.read()[1].peak_allocated if watch is not None else self._now()[2]
        return held / _MB

    @property
    def total_memory_mb(self) -> float:
        """All memory of the device, in megabytes; 0.0 without one."""
        return float(get_gpu_memory_info(self.device or 0).get("total_memory_mb") or 0.0)

    @property
    def free_memory_mb(self) -> float:
        """What nobody uses of the device, in megabytes; 0.0 without one."""
        info = get_gpu_memory_info(self.device or 0)
        return max(0.0, self.total_memory_mb - float(info.get("used_mb") or 0.0))


_FIGURES = (
    ("peak", "peak_allocated"),
    ("peak reserved", "peak_reserved"),
    ("at the start", "start_allocated"),
    ("at the end", "end_allocated"),
)
