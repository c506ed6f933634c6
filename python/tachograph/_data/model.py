"""The data classes that few profiles need: figures, distinct stacks, native frames."""

from __future__ import annotations

from collections.abc import Sequence

from .plain import dataclass
from .samples import Frame

__all__ = [
    "AggregatedStack",
    "NativeFrame",
    "ProfilerStats",
    "StackTrace",
]


@dataclass
class ProfilerStats:
    """Figures of a running profiler.

    Attributes:
        collected_samples: Samples kept so far.
        dropped_samples: Samples lost so far: no room, or unreadable.
        duration_ms: How long it has been running.
        overhead_estimate_pct: CPU time that sampling costs, per hundred of the
            CPU time it watches. Measured.
    """

    collected_samples: int
    dropped_samples: int
    duration_ms: float
    overhead_estimate_pct: float


@dataclass(frozen=True)
class StackTrace:
    """A distinct stack of one thread.

    Attributes:
        frames: The stack, outermost call first.
        thread_id: The id the operating system knows the thread by.
        thread_name: Its name, if it has one.
    """

    frames: tuple[Frame, ...]
    thread_id: int
    thread_name: str | None = None


@dataclass
class AggregatedStack:
    """A distinct stack of one thread and how often it was seen.

    Attributes:
        frames: The stack, outermost call first.
        thread_id: The id the operating system knows the thread by.
        thread_name: Its name, if it has one.
        count: How many samples had exactly this stack.
    """

    frames: Sequence[Frame]
    thread_id: int
    thread_name: str | None
    count: int


@dataclass(frozen=True, slots=True)
class NativeFrame:
    """A frame of machine code.

    Attributes:
        ip: Instruction pointer.
        symbol: Name of the function; empty when unknown.
        filename: Object file.
        offset: Distance from the start of the function.
        resolved: The name is known.
    """

    ip: int
    symbol: str
    filename: str
    offset: int
    resolved: bool
