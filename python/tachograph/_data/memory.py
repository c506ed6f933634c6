"""What the memory monitors measure, in bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

from .late import Late, nothing
from .plain import dataclass, field

__all__ = ["MemoryMode", "MemoryResult", "MemorySnapshot", "MemoryStats"]


class MemoryMode:
    """How memory is watched. The constants are plain strings.

    The peak is seen in every mode, however short it was.

    Attributes:
        BASIC: At both ends, and the peak between them.
        DETAILED: Also where memory was allocated.
        PEAK_ONLY: The same as ``BASIC``.
        CONTINUOUS: Also its course, from the shared sampler.
    """

    BASIC = "basic"
    DETAILED = "detailed"
    PEAK_ONLY = "peak_only"
    CONTINUOUS = "continuous"


class MemorySnapshot(NamedTuple):
    """The memory of this process at one moment.

    Attributes:
        rss: Bytes in physical memory.
        vms: Bytes of address space.
        percent: ``rss`` in percent of the machine's memory.
        available: Bytes the machine could still give.
        timestamp: Seconds since 1970.
    """

    rss: int
    vms: int
    percent: float
    available: int
    timestamp: float


@dataclass
class MemoryResult(Late):
    """What one call or block did with memory.

    The numbers are those of the whole process: other threads count too.

    Attributes:
        function_name: The function, or the name the block was given.
        peak_memory: The most physical memory the process had at any moment of
            the call, also if that moment was short.
        memory_diff: What it had more at the end than at the beginning.
        start_memory: The beginning.
        peak_snapshot: The peak. Its moment is not known; its ``timestamp`` is
            that of the end.
        end_memory: The end.
        duration: Seconds.
        timestamp: When it began, in seconds since 1970.
        gc_collections: How many times each generation was collected. Not
            counted by `performance_monitor` in the modes ``"basic"`` and
            ``"peak_only"``.
        tracemalloc_peak: The most bytes that were live at once of what the
            call allocated; ``None`` unless traces were asked for.
        tracemalloc_current: The bytes of it still live at the end; ``None``
            unless traces were asked for.
        metadata: ``mode``, ``success`` and ``error`` (the exception's text);
            ``peak_is_exact``, false where the kernel's high-water mark could
            not be used; ``samples``, the course of ``rss`` as pairs of seconds
            since the beginning and bytes. A call adds ``args_count`` and
            ``kwargs_count``. With traces: ``allocations``, the places that
            hold most, as dicts of ``function``, ``file``, ``line``, ``bytes``
            and ``blocks``.
    """

    function_name: str
    peak_memory: int
    memory_diff: int
    start_memory: MemorySnapshot
    peak_snapshot: MemorySnapshot
    end_memory: MemorySnapshot
    duration: float
    timestamp: float
    gc_collections: dict[int, int] = field(default_factory=dict)
    tracemalloc_peak: int | None = field(default_factory=nothing)
    tracemalloc_current: int | None = field(default_factory=nothing)
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class MemoryStats:
    """All calls of one function together, in bytes.

    Attributes:
        function_name: The name that was asked for.
        call_count: How many calls.
        avg_peak_memory: Mean of their peaks.
        max_peak_memory: The highest peak.
        min_peak_memory: The lowest peak.
        avg_memory_diff: Mean change from beginning to end.
        max_memory_diff: The largest change.
        min_memory_diff: The smallest change.
        total_memory_leaked: Sum of the changes that were growth.
    """

    function_name: str
    call_count: int
    avg_peak_memory: float
    max_peak_memory: int
    min_peak_memory: int
    avg_memory_diff: float
    max_memory_diff: int
    min_memory_diff: int
    total_memory_leaked: int
