"""The memory profiler: who holds memory now, who held it at the peak, what leaks.

Blocks are sampled, one for every 512 KB on average, from every allocator of the
process: Python objects, C, C++ and Rust extensions, buffers of numpy, libraries
that are loaded later. No ``LD_PRELOAD`` is needed::

    import tachograph.memprof as memprof

    memprof.start()
    work()
    snapshot = memprof.get_snapshot()
    for site in snapshot.top_allocators(5):
        print(site["function"], site["estimated_bytes"])
    memprof.stop()
"""

from __future__ import annotations

import atexit
import os
from _thread import RLock

from ._data.heap import (
    AllocationSample,
    FramePointerHealth,
    HeapSnapshot,
    MemProfStats,
    StackFrame,
)
from ._data.heap_rows import LeakRow, ResidentMemory, SiteChange
from ._doors.heap import HeapWindow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import SupportsIndex

__all__ = [
    "AllocationSample",
    "FramePointerHealth",
    "HeapSnapshot",
    "LeakRow",
    "MemProfStats",
    "MemoryProfiler",
    "ResidentMemory",
    "SiteChange",
    "StackFrame",
    "diff",
    "get_snapshot",
    "get_stats",
    "leaks",
    "preload_path",
    "shutdown",
    "start",
    "stop",
]

# A terabyte between two samples is no sampling any more.
_LARGEST_RATE_KB = 1 << 30

_lock = RLock()
_door: HeapWindow | None = None
# Programs that use spprof read and set these.
_running = False
_initialized = False
_shutdown = False
_last: HeapSnapshot | None = None
_last_stats: MemProfStats | None = None
_exit_hook_is_set = False


def start(
    sampling_rate_kb: SupportsIndex = 512, *, python_objects: bool = True, native: bool = True
) -> None:
    """Start sampling allocations of the whole process.

    It may run beside the CPU profiler and beside ``record()``. Blocks sampled
    by an earlier ``start()`` are not in the snapshots of this one.

    Args:
        sampling_rate_kb: Kilobytes between two samples, on average. Estimates
            are unbiased at any rate; a lower one makes them finer and costs more.
        python_objects: Sample small Python objects one by one, so that each is
            attributed to its own line. Without it they are seen as the arenas
            they lie in.
        native: Take frames of C, C++ and Rust code too.

    Raises:
        RuntimeError: It is already running, or was shut down.
        ValueError: ``sampling_rate_kb`` is less than 1.
        TachographError: This machine or interpreter cannot be sampled.

    Example:
        >>> import tachograph.memprof as memprof
        >>> memprof.start(sampling_rate_kb=64)
        >>> kept = [bytes(1000) for _ in range(10_000)]
        >>> memprof.get_snapshot().estimated_heap_bytes > 1_000_000
        True
        >>> memprof.stop()
    """
    global _door, _running, _initialized, _last, _last_stats, _exit_hook_is_set
    try:
        rate = sampling_rate_kb.__index__()
    except AttributeError:
        raise TypeError(
            f"sampling_rate_kb must be a whole number, not {sampling_rate_kb!r}"
        ) from None
    if rate < 1:
        raise ValueError(f"sampling_rate_kb must be >= 1, not {rate}")
    if rate > _LARGEST_RATE_KB:
        raise ValueError(f"sampling_rate_kb must be <= {_LARGEST_RATE_KB}, not {rate}")
    with _lock:
        if _shutdown:
            raise RuntimeError("cannot start the memory profiler after shutdown()")
        if _running:
            raise RuntimeError("Memory profiler already running; call stop() first")
        earlier, _door = _door, None
        if earlier is not None:
            earlier.close()
        _door = HeapWindow(rate, python_objects=bool(python_objects), native=bool(native))
        _last, _last_stats = None, None
        _initialized = _running = True
        if not _exit_hook_is_set:
            atexit.register(_close)
            _exit_hook_is_set = True


def stop() -> None:
    """Stop sampling new allocations; blocks that are freed are still noticed.

    Snapshots and figures can be had as before. Stopping twice is fine.
    """
    global _running
    with _lock:
        _running = False
        if _door is not None:
            _door.pause()


def get_snapshot() -> HeapSnapshot:
    """Return the sampled blocks that are live now.

    Raises:
        RuntimeError: ``start()`` was never called.
    """
    with _lock:
        snapshot = _last if _door is None else _door.snapshot()
        if snapshot is not None:
            return snapshot
    raise _not_started()


def get_stats() -> MemProfStats:
    """Return figures of the profiler.

    Raises:
        RuntimeError: ``start()`` was never called.
    """
    with _lock:
        stats = _last_stats if _door is None else _door.stats()
        if stats is not None:
            return stats
    raise _not_started()


def shutdown() -> None:
    """Stop for good: nothing is sampled and no free is noticed any more.

    The last snapshot stays available; a later ``start()`` raises ``RuntimeError``.
    """
    global _shutdown, _running, _last, _last_stats
    with _lock:
        if _door is not None:
            _last, _last_stats = get_snapshot(), get_stats()
        _shutdown, _running = True, False
        _close()


def diff(before: HeapSnapshot, after: HeapSnapshot) -> list[SiteChange]:
    """Return how the live bytes of each line changed, what grew most first.

    Example:
        >>> import tachograph.memprof as memprof
        >>> with memprof.MemoryProfiler(sampling_rate_kb=64):
        ...     before = memprof.get_snapshot()
        ...     kept = [bytes(1000) for _ in range(10_000)]
        ...     after = memprof.get_snapshot()
        >>> memprof.diff(before, after)[0].change_bytes > 1_000_000
        True
    """
    return [SiteChange._of(row) for row in after._picture.since(before._picture)]


def leaks() -> list[LeakRow]:
    """Return the lines of code whose live bytes keep growing, the fastest first.

    Judged over the time since ``start()``; less than a second shows no trend.

    Raises:
        RuntimeError: ``start()`` was never called.
    """
    return get_snapshot().leaks()


def preload_path() -> str:
    """Return the path of the library for ``LD_PRELOAD``.

    For programs that want to be seen from their first instruction, or that run
    no Python; ``start()`` needs it not.

    Raises:
        FileNotFoundError: This build of tachograph came without it.
    """
    path = os.path.join(os.path.dirname(__file__), "_preload.so")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} is not there; memprof.start() sees every allocator without it"
        )
    return path


class MemoryProfiler:
    """Profile the memory of a block; ``snapshot`` holds the result afterwards.

    Takes what ``start()`` takes and counts as its session.

    Example:
        >>> import tachograph.memprof as memprof
        >>> with memprof.MemoryProfiler(sampling_rate_kb=64) as profiler:
        ...     kept = [bytes(1000) for _ in range(10_000)]
        >>> profiler.snapshot.live_samples > 0
        True
    """

    def __init__(
        self,
        sampling_rate_kb: SupportsIndex = 512,
        *,
        python_objects: bool = True,
        native: bool = True,
    ) -> None:
        self._sampling_rate_kb = sampling_rate_kb
        self._python_objects = python_objects
        self._native = native
        self._snapshot: HeapSnapshot | None = None

    def __enter__(self) -> MemoryProfiler:
        start(self._sampling_rate_kb, python_objects=self._python_objects, native=self._native)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        stop()
        if _door is not None or _last is not None:  # else a forked child leaves the block
            self._snapshot = get_snapshot()

    @property
    def snapshot(self) -> HeapSnapshot | None:
        """What was live when the block ended; ``None`` until then."""
        return self._snapshot


def _not_started() -> RuntimeError:
    return RuntimeError("Memory profiler not running; call memprof.start() first")


def _close() -> None:
    global _door
    door, _door = _door, None
    if door is not None:
        door.close()


def _forget_in_child() -> None:
    """A forked child has no session yet; another thread may have held the lock."""
    global _door, _running, _lock
    _door = None
    _running = False
    _lock = RLock()


os.register_at_fork(after_in_child=_forget_in_child)
