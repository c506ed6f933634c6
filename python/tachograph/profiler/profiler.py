"""A profiler of training iterations: timer and metrics behind one door."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from .._data.plain import dataclass, field
from ._device.memory_watch import MemoryWatch
from ._device.snapshots import MemoryDelta
from .cuda import CUDATimer, TimingResult
from .memory import MemoryTracker
from .metrics import AggregatedMetrics, Metrics, MetricsCollector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .._native import Phase

__all__ = ["ProfileResult", "Profiler"]

_MB = 1 << 20


@dataclass
class ProfileResult:
    """One profiled block.

    Attributes:
        name: What was profiled.
        timing: How long it took; ``None`` until the block is left, and when
            the profiler is not enabled.
        memory: How what was held changed, and its peak; ``None`` as above. See
            ``MemoryTracker`` for whose memory it is.
        custom_metrics: Whatever the caller wants to keep with it.
    """

    name: str
    timing: TimingResult | None = None
    memory: MemoryDelta | None = None
    custom_metrics: dict[str, Any] = field(default_factory=dict)


class Profiler:
    """Profiles blocks and training iterations, one iteration at a time.

    Args:
        device: Number of the CUDA device; by default the current one.
        enabled: ``False`` measures no blocks.
        warmup_iterations: Iterations that the aggregate leaves out.

    Example:
        >>> profiler = Profiler(warmup_iterations=2)
        >>> for step in range(5):
        ...     profiler.start_iteration(step, batch_size=32)
        ...     with profiler.profile("forward"):
        ...         total = sum(range(10_000))
        ...     metrics = profiler.end_iteration(loss=0.5)
        >>> profiler.get_aggregated_metrics().count
        3
    """

    def __init__(
        self, device: int | None = None, enabled: bool = True, warmup_iterations: int = 10
    ) -> None:
        self.device = device
        self.enabled = enabled
        self.warmup_iterations = warmup_iterations
        self._source = MetricsCollector(warmup_iterations)
        self._timer = CUDATimer(device=device, enabled=enabled)
        self._timer._source = self._source  # one report of blocks and iterations
        self._tracker = MemoryTracker(False, False, device=device, enabled=enabled)
        self._results: dict[str, ProfileResult] = {}
        self._iteration: tuple[int, int, Phase, MemoryWatch] | None = None
        self._parts_ms: dict[str, float] = {}

    @contextmanager
    def profile(self, name: str) -> Iterator[ProfileResult]:
        """Profile a block; the result it yields has its ``timing`` when the block is left."""
        result = ProfileResult(name)
        if not self.enabled:
            yield result
            return
        block = self._timer.measure(name)
        try:
            with self._tracker.track(name), block:
                yield result
        finally:
            took_ms = block.elapsed_ms
            result.timing = self._timer.get_result(name) or TimingResult(name, took_ms, took_ms)
            result.memory = self._tracker.get_delta(name)
            self._results[name] = result
            if self._iteration is not None:
                self._parts_ms[name] = self._parts_ms.get(name, 0.0) + took_ms

    def start_iteration(self, iteration: int, batch_size: int) -> None:
        """Begin a training iteration; one that was not ended does not count.

        Args:
            iteration: Its number; those below ``warmup_iterations`` warm up.
            batch_size: Samples in it.
        """
        self._give_up()
        phase = self._source.measure_time("iteration")
        watch = MemoryWatch(self.device, None)
        phase.__enter__()
        self._iteration = (iteration, batch_size, phase, watch)

    def end_iteration(self, loss: float | None = None) -> Metrics | None:
        """End the iteration; return what it took, ``None`` when none was begun.

        Blocks called ``forward``, ``backward`` and ``optimizer`` are its parts;
        a part that ran several times counts with all of them. The memory
        figures are those of ``MemoryTracker``.
        """
        if self._iteration is None:
            return None
        iteration, batch_size, phase, watch = self._iteration
        self._iteration = None
        phase.__exit__(None, None, None)
        watch.close()
        held = watch.read()[1]
        metrics = Metrics(
            iteration=iteration,
            batch_size=batch_size,
            forward_time_ms=self._parts_ms.get("forward", 0.0),
            backward_time_ms=self._parts_ms.get("backward", 0.0),
            optimizer_time_ms=self._parts_ms.get("optimizer", 0.0),
            total_time_ms=phase.elapsed_ms,
            memory_allocated_mb=held.allocated / _MB,
            memory_peak_mb=held.peak_allocated / _MB,
            loss=loss,
        )
        self._source._keep(metrics)
        return metrics

    def time_function(
        self,
        name: str,
        func: Callable[[], object],
        iterations: int = 100,
        warmup: int = 10,
    ) -> TimingResult:
        """Call a function again and again; see ``CUDATimer.time_iterations``."""
        return self._timer.time_iterations(name, func, iterations, warmup)

    def get_result(self, name: str) -> ProfileResult | None:
        """Return the latest block called ``name``; ``None`` when there is none."""
        return self._results.get(name)

    def get_aggregated_metrics(self) -> AggregatedMetrics | None:
        """Return the iterations together, the warm-up left out; ``None`` when there are none."""
        return self._source.aggregate()

    def clear(self) -> None:
        """Forget everything."""
        self._give_up()
        self._results.clear()
        self._tracker.clear()
        self._timer.clear()
        self._source.clear()

    def summary(self) -> str:
        """Return blocks, iterations and their throughput as a table."""
        return self._source.summary()

    def compare_with_baseline(self, baseline_time_ms: float, name: str = "optimized") -> str:
        """Return one line that sets the mean iteration beside a baseline.

        Args:
            baseline_time_ms: Mean time of an iteration of the baseline.
            name: What this run is called.
        """
        together = self.get_aggregated_metrics()
        if together is None:
            return "No metrics collected for comparison."
        speedup = baseline_time_ms / together.mean_time_ms if together.mean_time_ms else 0.0
        return (
            f"baseline {baseline_time_ms:.2f} ms · {name} {together.mean_time_ms:.2f} ms · "
            f"speedup {speedup:.2f}x ({(speedup - 1) * 100:+.1f} %)"
        )

    def _give_up(self) -> None:
        """Leave out the iteration that has begun, if any."""
        self._parts_ms.clear()
        if self._iteration is not None:
            self._iteration[2].give_up()
            self._iteration[3].close()
            self._iteration = None
