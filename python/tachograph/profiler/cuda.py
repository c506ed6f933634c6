"""A timer for named pieces of work.

In this release it reads the wall clock. Work that a GPU does after the call
returned is not in it, and every result says so: ``clock`` is ``"cpu"``.
"""

from __future__ import annotations

import json
import time
from threading import Lock, get_ident

from .._data.plain import dataclass
from .._native import Collector, Phase
from .report import MetricsReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["CUDATimer", "TimingResult", "synchronize_and_time"]


@dataclass
class TimingResult:
    """One measurement.

    Attributes:
        name: What was measured.
        cuda_time_ms: Time on the device. Without one it is the wall time.
        wall_time_ms: Time that passed.
        iterations: How many calls the times are the sum of.
        clock: ``"cpu"``: both times are wall time.
    """

    name: str
    cuda_time_ms: float
    wall_time_ms: float
    iterations: int = 1
    clock: str = "cpu"

    @property
    def cuda_time_per_iter_ms(self) -> float:
        """Time on the device per call."""
        return self.cuda_time_ms / self.iterations

    @property
    def wall_time_per_iter_ms(self) -> float:
        """Time that passed per call."""
        return self.wall_time_ms / self.iterations


class CUDATimer:
    """Times named pieces of work: a block, a start and a stop, or calls of a function.

    Any thread may use it. A name can be measured again and again:
    ``get_elapsed`` gives the latest time, ``get_stats`` mean and spread of all.
    While ``tachograph.record()`` is open, each measurement is a span in it.

    Args:
        synchronize: Wait for the device before reading the clock. Without a
            device there is nothing to wait for.
        warmup: Calls that ``time_iterations`` makes first and does not count.
        repeat: Calls that ``time_iterations`` counts.
        device: Number of the device; kept for the caller.
        enabled: Use the device's clock where there is one.

    Both ``warmup`` and ``repeat`` concern ``time_iterations`` alone: a block
    runs once.

    Raises:
        ValueError: ``warmup`` is negative or ``repeat`` less than 1.

    Example:
        >>> timer = CUDATimer()
        >>> with timer.measure("forward"):
        ...     total = sum(range(100_000))
        >>> print(f"{timer.get_elapsed('forward'):.2f} ms")
    """

    clock = "cpu"

    def __init__(
        self,
        synchronize: bool = True,
        warmup: int = 3,
        repeat: int = 10,
        *,
        device: int = 0,
        enabled: bool = True,
    ) -> None:
        _check_calls(warmup, repeat, "repeat")
        self.synchronize = synchronize
        self.warmup = warmup
        self.repeat = repeat
        self.device = device
        self.enabled = enabled
        self._source = Collector()
        self._lock = Lock()
        self._running: dict[tuple[str, int], Phase] = {}
        self._repeated: dict[str, tuple[int, TimingResult]] = {}
        self._names: dict[str, None] = {}

    def measure(self, name: str) -> Phase:
        """Return a block to enter with ``with``; blocks may be inside of each other.

        The block has ``elapsed_ms``, also while it runs.
        """
        block = self._source.measure_time(name)
        self._names[name] = None
        return block

    def time(self, name: str) -> Phase:
        """Return the same as ``measure``."""
        return self.measure(name)

    def start(self, name: str) -> None:
        """Start measuring ``name``; starting again before ``stop`` begins anew."""
        phase = self._source._start_phase(name)
        with self._lock:
            before = self._running.pop((name, get_ident()), None)
            self._running[name, get_ident()] = phase
        if before is not None:
            before.give_up()

    def stop(self, name: str) -> TimingResult:
        """Stop measuring ``name``, which this thread or another one started.

        Raises:
            ValueError: ``name`` was not started.
        """
        with self._lock:
            phase = self._running.pop((name, get_ident()), None)
            if phase is None:
                others = [key for key in self._running if key[0] == name]
                phase = self._running.pop(others[-1]) if others else None
        if phase is None:
            raise ValueError(f"Timer '{name}' was not started")
        took_ms = phase.stop() / 1e6
        self._names[name] = None
        return TimingResult(name, took_ms, took_ms)

    def time_iterations(
        self,
        name: str,
        func: Callable[[], object],
        iterations: int | None = None,
        warmup: int | None = None,
    ) -> TimingResult:
        """Call a function again and again and measure every call.

        Args:
            name: What is measured.
            func: Called without arguments.
            iterations: Calls that count; ``repeat`` by default.
            warmup: Calls before that, not counted; ``warmup`` of the timer by default.

        Returns:
            The sum of all calls that count, with their number.

        Raises:
            ValueError: ``iterations`` is less than 1 or ``warmup`` negative.
        """
        calls = self.repeat if iterations is None else iterations
        before = self.warmup if warmup is None else warmup
        _check_calls(before, calls, "iterations")
        for _ in range(before):
            func()
        took_ns = 0
        for _ in range(calls):
            with self.measure(name) as block:
                func()
            took_ns += block.elapsed_ns
        result = TimingResult(name, took_ns / 1e6, took_ns / 1e6, calls)
        self._repeated[name] = (self._source._last(name)[0], result)
        return result

    def get_elapsed(self, name: str) -> float:
        """Return the latest time of ``name`` in milliseconds; of calls, that of one on average.

        Raises:
            ValueError: ``name`` was not measured.
        """
        result = self.get_result(name)
        if result is None:
            measured = ", ".join(repr(one) for one in self.results) or "nothing"
            raise ValueError(f"Timer '{name}' was not measured; measured so far: {measured}")
        return result.cuda_time_per_iter_ms

    def get_result(self, name: str) -> TimingResult | None:
        """Return the latest measurement of ``name``; ``None`` when there is none."""
        count, last_ms = self._source._last(name)
        if not count:
            return None
        calls, repeated = self._repeated.get(name, (0, None))
        # A block that was measured since is the later one.
        if repeated is not None and calls == count:
            return repeated
        return TimingResult(name, last_ms, last_ms)

    @property
    def results(self) -> dict[str, TimingResult]:
        """The latest measurement of every name."""
        latest = {name: self.get_result(name) for name in list(self._names)}
        return {name: result for name, result in latest.items() if result is not None}

    def get_stats(self, name: str) -> dict[str, Any]:
        """Return mean, spread and percentiles of all times of ``name``, in milliseconds.

        Raises:
            ValueError: ``name`` was not measured.
        """
        self.get_elapsed(name)
        stats: dict[str, Any] = self._report()["timing"][name]
        return stats

    def clear(self) -> None:
        """Forget everything, also what was started and not stopped."""
        with self._lock:
            running = list(self._running.values())
            self._running.clear()
        for phase in running:
            phase.give_up()
        self._repeated.clear()
        self._names.clear()
        self._source._forget()

    def summary(self) -> str:
        """Return all measurements as a table."""
        report = self._report()
        return str(report) if report["timing"] else "No timing results recorded."

    def _report(self) -> MetricsReport:
        return MetricsReport(json.loads(self._source._report()))


def synchronize_and_time(func: Callable[[], object], device: int = 0) -> float:
    """Return how long one call of ``func`` takes, in milliseconds of wall time.

    Args:
        func: Called without arguments.
        device: Number of the device to wait for, where there is one.
    """
    start = time.perf_counter_ns()
    func()
    return (time.perf_counter_ns() - start) / 1e6


def _check_calls(warmup: int, calls: int, word: str) -> None:
    if warmup < 0:
        raise ValueError(f"warmup must be >= 0, not {warmup}")
    if calls < 1:
        raise ValueError(f"{word} must be >= 1, not {calls}")
