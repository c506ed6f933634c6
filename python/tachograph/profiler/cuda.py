"""A timer for named pieces of work.

Where the program has a CUDA context, the time is the device's own: two events
on the stream that the work goes to. Elsewhere it is the wall clock. Every
result says which: ``clock`` is ``"cuda"`` or ``"cpu"``.
"""

from __future__ import annotations

import json
import time
from collections import deque
from threading import Lock, get_ident

from .._native import Collector, Phase, gpu_has_context, gpu_is_loaded, gpu_synchronize
from ._device.libraries import current_stream
from ._device.timing import DevicePiece, TimingResult
from .report import MetricsReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["CUDATimer", "TimingResult", "synchronize_and_time"]

# Blocks whose time nobody has fetched; each holds two events of the driver.
_MOST_PENDING = 1024


class CUDATimer:
    """Times named pieces of work: a block, a start and a stop, or calls of a function.

    Any thread may use it. A name can be measured again and again:
    ``get_elapsed`` gives the latest time, ``get_stats`` mean and spread of all.
    While ``tachograph.record()`` is open, each measurement is a span in it.

    No context is ever made: as long as the program has none, there is nothing
    on the device to time. A stream that is captured into a graph is timed by
    the wall clock, because to wait for it would end the capture.

    Args:
        synchronize: Wait for the device at both ends, so that a block has only
            its own work in it and its time is known at once. ``False`` never
            waits inside of a block: its time is fetched when you ask for it.
        warmup: Calls that ``time_iterations`` makes first and does not count.
        repeat: Calls that ``time_iterations`` counts.
        device: Number of the CUDA device; by default the current one.
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

    def __init__(
        self,
        synchronize: bool = True,
        warmup: int = 3,
        repeat: int = 10,
        *,
        device: int | None = None,
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
        self._running: dict[tuple[str, int], Phase | DevicePiece] = {}
        # The latest result that is more than a time, and the count it belongs to.
        self._told: dict[str, tuple[int, TimingResult]] = {}
        self._pending: deque[DevicePiece] = deque()
        self._names: dict[str, None] = {}

    @property
    def clock(self) -> str:
        """``"cuda"`` when the program has a CUDA context to time work on, else ``"cpu"``."""
        return "cuda" if self.enabled and gpu_has_context() else "cpu"

    def _uses_device(self) -> bool:
        return self.enabled and gpu_is_loaded()

    def measure(self, name: str) -> Phase | DeviceBlock:
        """Return a block to enter with ``with``; blocks may be inside of each other.

        The block has ``elapsed_ms``, also while it runs.
        """
        self._names[name] = None
        if self._uses_device():
            self._settle(wait=False)
            return DeviceBlock(self, name)
        return self._source.measure_time(name)

    def time(self, name: str) -> Phase | DeviceBlock:
        """Return the same as ``measure``."""
        return self.measure(name)

    def start(self, name: str) -> None:
        """Start measuring ``name``; starting again before ``stop`` begins anew."""
        phase: Phase | DevicePiece
        if self._uses_device():
            phase = DevicePiece(self._source, name, self.device, self.synchronize)
            phase.begin()
        else:
            phase = self._source._start_phase(name)
        with self._lock:
            before = self._running.pop((name, get_ident()), None)
            self._running[name, get_ident()] = phase
        if before is not None:
            before.give_up()

    def stop(self, name: str) -> TimingResult:
        """Stop measuring ``name``, which this thread or another one started.

        It waits for the device, to tell the time.

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
        self._names[name] = None
        if isinstance(phase, DevicePiece):
            phase.end()
            return self._keep(phase.settle())
        took_ms = phase.stop() / 1e6
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
        blocks = []
        started = time.perf_counter_ns()
        for _ in range(calls):
            with self.measure(name) as block:
                func()
            blocks.append(block)
        took_ms = sum(block.elapsed_ms for block in blocks)
        wall_ms = (time.perf_counter_ns() - started) / 1e6
        clocks = {
            block.result.clock
            for block in blocks
            if isinstance(block, DevicePiece) and block.result
        }
        if clocks != {"cuda"}:
            return self._keep(TimingResult(name, took_ms, took_ms, calls))
        self._settle(wait=True)
        return self._keep(TimingResult(name, took_ms, wall_ms, calls, "cuda"))

    def _keep(self, result: TimingResult) -> TimingResult:
        self._told[result.name] = (self._source._last(result.name)[0], result)
        return result

    def _settle(self, *, wait: bool) -> None:
        """Fetch the times of blocks that the device has done; with ``wait``, of all."""
        while self._pending:
            with self._lock:
                if not self._pending:
                    return
                piece = self._pending[0]
                if not (wait or len(self._pending) > _MOST_PENDING or piece.is_done):
                    return
                self._pending.popleft()
            self._keep(piece.settle())

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
        self._settle(wait=True)
        count, last_ms = self._source._last(name)
        if not count:
            return None
        calls, told = self._told.get(name, (0, None))
        # A block that was measured since is the later one.
        if told is not None and calls == count:
            return told
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
            self._pending.clear()
        for phase in running:
            phase.give_up()
        self._told.clear()
        self._names.clear()
        self._source._forget()

    def summary(self) -> str:
        """Return all measurements as a table."""
        report = self._report()
        return str(report) if report["timing"] else "No timing results recorded."

    def _report(self) -> MetricsReport:
        self._settle(wait=True)
        return MetricsReport(json.loads(self._source._report()))


class DeviceBlock(DevicePiece):
    """A block of a timer that the device times."""

    __slots__ = ("_timer",)

    def __init__(self, timer: CUDATimer, name: str) -> None:
        super().__init__(timer._source, name, timer.device, timer.synchronize)
        self._timer = timer

    def _leave(self, *, failed: bool) -> None:
        super()._leave(failed=failed)
        if self.result is not None:
            self._timer._keep(self.result)
        else:
            self._timer._pending.append(self)


def synchronize_and_time(func: Callable[[], object], device: int | None = None) -> float:
    """Return how long one call of ``func`` takes, in milliseconds of wall time.

    Where the program uses a device, what the device was told before is not in
    it, and what ``func`` told it is.

    Args:
        func: Called without arguments.
        device: Number of the CUDA device to wait for; by default the current one.
    """
    gpu_synchronize(*current_stream(device))
    start = time.perf_counter_ns()
    func()
    gpu_synchronize(*current_stream(device))
    return (time.perf_counter_ns() - start) / 1e6


def _check_calls(warmup: int, calls: int, word: str) -> None:
    if warmup < 0:
        raise ValueError(f"warmup must be >= 0, not {warmup}")
    if calls < 1:
        raise ValueError(f"{word} must be >= 1, not {calls}")
