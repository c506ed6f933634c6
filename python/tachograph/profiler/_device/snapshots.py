"""What a ``MemoryTracker`` hands out."""

from __future__ import annotations

from typing import NamedTuple

from ..._data.plain import dataclass

__all__ = ["MemoryDelta", "MemoryPoint", "MemorySnapshot"]

_MB = 1 << 20


class MemoryPoint(NamedTuple):
    """One point of a course.

    Attributes:
        time_s: Seconds since the tracker was entered.
        allocated_bytes: What was held then.
    """

    time_s: float
    allocated_bytes: int


@dataclass
class MemorySnapshot:
    """What was held at one moment.

    On a device these are the figures of torch's allocator where torch uses it,
    else what the driver says of this process. Without a device they are the
    resident memory of this process, and what it has mapped as reserved.

    Attributes:
        name: What the caller calls the moment.
        allocated_bytes: Held then.
        reserved_bytes: Held by the allocator, used or not.
        max_allocated_bytes: The most held so far.
        max_reserved_bytes: The most reserved so far.
    """

    name: str
    allocated_bytes: int
    reserved_bytes: int
    max_allocated_bytes: int
    max_reserved_bytes: int

    @property
    def allocated_mb(self) -> float:
        """Held then, in megabytes."""
        return self.allocated_bytes / _MB

    @property
    def reserved_mb(self) -> float:
        """Reserved then, in megabytes."""
        return self.reserved_bytes / _MB

    @property
    def max_allocated_mb(self) -> float:
        """The most held so far, in megabytes."""
        return self.max_allocated_bytes / _MB

    @property
    def max_reserved_mb(self) -> float:
        """The most reserved so far, in megabytes."""
        return self.max_reserved_bytes / _MB


@dataclass
class MemoryDelta:
    """How what was held changed over a block or between two snapshots.

    Attributes:
        name: The block, or both snapshots.
        start_allocated_bytes: Held before.
        end_allocated_bytes: Held after.
        peak_allocated_bytes: The most held in between.
        delta_bytes: How much more after than before.
    """

    name: str
    start_allocated_bytes: int
    end_allocated_bytes: int
    peak_allocated_bytes: int
    delta_bytes: int

    @property
    def delta_mb(self) -> float:
        """How much more after than before, in megabytes."""
        return self.delta_bytes / _MB

    @property
    def peak_mb(self) -> float:
        """The most held in between, in megabytes."""
        return self.peak_allocated_bytes / _MB
