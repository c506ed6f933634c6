"""What the timing decorators measure: one stretch of time, many of them, and on which clock."""

from __future__ import annotations

from typing import Any, Literal

from .plain import dataclass, field

__all__ = ["TimingMode", "TimingResult", "TimingStats", "clock_of"]


class TimingMode:
    """The clocks a timing can use. The constants are plain strings.

    Attributes:
        WALL_CLOCK: Time that passes, asleep or not. Never runs backwards.
        PROCESS_TIME: CPU time of all threads of the process.
        THREAD_TIME: CPU time of the thread that runs the code.
        PERF_COUNTER: Time that passes, on the clock of ``time.perf_counter()``.
    """

    WALL_CLOCK = "wall_clock"
    PROCESS_TIME = "process_time"
    THREAD_TIME = "thread_time"
    PERF_COUNTER = "perf_counter"


Clock = Literal["wall"] | Literal["perf"] | Literal["process"] | Literal["thread"]

_CLOCKS: dict[str, Clock] = {
    TimingMode.WALL_CLOCK: "wall",
    TimingMode.PROCESS_TIME: "process",
    TimingMode.THREAD_TIME: "thread",
    TimingMode.PERF_COUNTER: "perf",
}


def clock_of(mode: str) -> Clock:
    """Return the engine's name of a mode's clock; an unknown mode is a ``ValueError``."""
    clock = _CLOCKS.get(mode) if isinstance(mode, str) else None
    if clock is None:
        known = ", ".join(repr(name) for name in _CLOCKS)
        raise ValueError(f"unknown timing mode {mode!r}; choose one of {known}")
    return clock


@dataclass
class TimingResult:
    """One measured stretch of time.

    Attributes:
        function_name: The function, or the name the block was given.
        execution_time: Seconds on the clock of `timing_mode`; 0.0 until the
            stretch has ended.
        timestamp: When it began, in seconds since 1970.
        args_hash: Always ``None``; arguments are not looked at.
        timing_mode: The clock, see `TimingMode`.
        metadata: ``success`` and ``error`` (the exception's text). A call adds
            ``args_count`` and ``kwargs_count``; a coroutine ``async``; a
            coroutine or generator also ``running_time`` and
            ``suspended_time`` in seconds.
    """

    function_name: str
    execution_time: float
    timestamp: float
    args_hash: str | None = None
    timing_mode: str = TimingMode.WALL_CLOCK
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class TimingStats:
    """All measurements of one name, in seconds.

    The count, the total and what follows from them are exact. The median and
    the percentiles are exact up to 64 measurements and within 1 % beyond.

    Attributes:
        function_name: The name that was asked for.
        call_count: How many measurements, failed calls included.
        total_time: Their sum.
        mean_time: Their mean.
        min_time: The shortest.
        max_time: The longest.
        std_dev: Standard deviation of the sample (n - 1); 0.0 for one.
        median_time: Half were no longer than this.
        p95_time: 95 % were no longer than this.
        p99_time: 99 % were no longer than this.
    """

    function_name: str
    call_count: int
    total_time: float
    mean_time: float
    min_time: float
    max_time: float
    std_dev: float
    median_time: float
    p95_time: float
    p99_time: float
