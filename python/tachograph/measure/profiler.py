"""``PerformanceProfiler``: what blocks of code took, by name."""

from __future__ import annotations

from _thread import allocate_lock
from typing import TYPE_CHECKING, Any, NamedTuple

from .._native import carbon_intensity, machine_figures, resident_bytes
from .flat import ProfilerMetrics
from .operation import Operation
from .process import ProcessReadings
from .temperature import cpu_temperature

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from .._data.line_table import LineTime
    from .._types import P, R
    from .metrics import CarbonMetrics, PerformanceMetrics

_MB = 1 << 20


class Wishes(NamedTuple):
    """What an operation is to find out."""

    gpu: bool
    growth: bool
    interval: float
    system: bool
    network: bool
    heat: bool
    lines: bool
    flops: bool
    grid: tuple[float, str] | None


class PerformanceProfiler:
    """Measures blocks of code: time, memory, processors, devices, energy, lines.

    Every block is a window of its own, so blocks may nest, run in several threads
    and in asyncio tasks. CPU time and memory are those of the whole process.

    Args:
        track_gpu: Follow device memory and utilisation; nothing where there is no device.
        track_carbon: Turn energy into greenhouse gas: ``get_carbon()``.
        detailed_memory: Judge whether memory grows without end.
        memory_interval: Seconds between two readings of the shared sampler. Peaks of
            memory between readings are seen all the same.
        enable_line_profiling: Count the lines of own code that runs in the block.
        estimate_flops: Count the floating-point operations that run in the block.
        country: Whose grid the energy comes from, by its two or three letters; by
            default the mean of the world.
        carbon_intensity_g_per_kwh: What your grid emits, if you know better.
        track_system: Keep what the machine's processors, memory and disks did.
        track_network: Keep what went over the network.
        track_cpu_temp: Read the processors' sensors when a block begins and ends.
        system_interval: Seconds between two readings of machine and devices; by default
            ``memory_interval``. With ``detailed_memory`` the shorter of both counts,
            for there is one sampler.

    Raises:
        ValueError: An interval is not more than 0, or the country's grid is not known.

    Example:
        >>> profiler = PerformanceProfiler(track_carbon=True)
        >>> with profiler.profile("training"):
        ...     train()
        >>> print(profiler.get_metrics().summary())
    """

    def __init__(
        self,
        track_gpu: bool = True,
        track_carbon: bool = False,
        detailed_memory: bool = False,
        memory_interval: float = 0.5,
        enable_line_profiling: bool = False,
        estimate_flops: bool = False,
        *,
        country: str | None = None,
        carbon_intensity_g_per_kwh: float | None = None,
        track_system: bool = True,
        track_network: bool = True,
        track_cpu_temp: bool = False,
        system_interval: float | None = None,
    ) -> None:
        if not memory_interval > 0:
            raise ValueError(f"memory_interval must be > 0 seconds, not {memory_interval!r}")
        interval = memory_interval
        if system_interval is not None:
            if not system_interval > 0:
                raise ValueError(f"system_interval must be > 0 seconds, not {system_interval!r}")
            interval = min(interval, system_interval) if detailed_memory else system_interval
        grid = _grid(country, carbon_intensity_g_per_kwh)
        self._wishes = Wishes(
            gpu=track_gpu,
            growth=detailed_memory,
            interval=interval,
            system=track_system,
            network=track_network,
            heat=track_cpu_temp,
            lines=enable_line_profiling,
            flops=estimate_flops,
            grid=grid if track_carbon else None,
        )
        self._keeper = _Keeper()
        self._process = ProcessReadings()

    @property
    def process(self) -> ProcessReadings:
        """This process now: its memory, its threads, how busy it is."""
        return self._process

    def profile(
        self,
        operation_name: str = "",
        *,
        samples: int | None = None,
        model: Any = None,
        description: str | None = None,
    ) -> Operation:
        """Return a block to enter with ``with``; it gives the figures so far.

        An exception inside is not touched, and what was measured until then is kept.

        Args:
            operation_name: What the block is called. Of several runs of one name,
                ``get_metrics()`` gives the latest and ``get_timing_breakdown()``
                the sum.
            samples: How many samples it handles, for ``throughput``.
            model: A torch model, or one with such ``parameters()``, for
                ``flops_per_param``.
            description: ml-cookbook's word for ``operation_name``.
        """
        if description is not None:
            operation_name = description
        if not isinstance(operation_name, str):
            raise TypeError(f"operation_name must be a text, not {operation_name!r}")
        if model is not None and not callable(getattr(model, "parameters", None)):
            raise TypeError(f"model must have parameters() as torch's models do, not {model!r}")
        return Operation(operation_name, samples, model, self._wishes, self._keeper)

    def profile_step(self, func: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function and note its time and memory as one step of ``metrics``."""
        from time import perf_counter

        begun = perf_counter()
        try:
            return func(*args, **kwargs)
        finally:
            self.metrics._step(perf_counter() - begun, resident_bytes())

    def has_results(self) -> bool:
        """Whether a block was measured, whole or until its exception."""
        return self._keeper.last is not None

    def get_metrics(self, operation_name: str | None = None) -> PerformanceMetrics:
        """Return the figures of an operation's latest run; by default of the last operation.

        Raises:
            KeyError: No operation of that name has ended.
            RuntimeError: No operation has ended yet.
        """
        metrics = self._find(operation_name).metrics()
        assert metrics is not None  # an operation is kept when it has ended
        return metrics

    def get_current_memory(self) -> float:
        """Return the memory this process holds now, in MB."""
        return resident_bytes() / _MB

    def get_current_gpu_memory(self) -> float:
        """Return the share of device memory in use now, 0 to 1; 0.0 without a device."""
        from .devices import current_memory_share

        return current_memory_share()

    def get_timing_breakdown(self) -> dict[str, float]:
        """Return elapsed seconds by operation name, all runs together.

        A block inside another is in both.
        """
        return self._keeper.breakdown()

    def get_line_profile(self, operation_name: str | None = None) -> list[LineTime]:
        """Return time by line of own code; empty unless ``enable_line_profiling=True``."""
        if operation_name is None and not self.has_results():
            return []
        return self.get_metrics(operation_name).line_profile or []

    def get_carbon(self, operation_name: str | None = None) -> CarbonMetrics | None:
        """Return energy and greenhouse gas; ``None`` unless ``track_carbon=True``."""
        if operation_name is None and not self.has_results():
            return None
        return self.get_metrics(operation_name).carbon

    def get_current_system_stats(self) -> dict[str, float]:
        """Return the machine now: processors, memory, swap, in percent and MB.

        ``cpu_temp_c`` is there with ``track_cpu_temp=True`` where there is a sensor.
        """
        from .._native import MonitorWindow

        machine = machine_figures()
        measured = MonitorWindow(peak=False, series_interval=self._wishes.interval).close()
        stats = {
            "cpu_percent": measured.machine_cpu_percent or 0.0,
            "memory_percent": machine["memory_percent"],
            "memory_available_mb": machine["available_bytes"] / _MB,
            "swap_used_mb": machine["swap_used_bytes"] / _MB,
        }
        if self._wishes.heat and (degrees := cpu_temperature()) is not None:
            stats["cpu_temp_c"] = degrees
        return stats

    def get_system_report(self, operation_name: str | None = None) -> dict[str, float]:
        """Return how the machine fared while an operation ran.

        Raises:
            RuntimeError: ``track_system=False``, or no operation has ended yet.
            KeyError: No operation of that name has ended.
        """
        if not self._wishes.system:
            raise RuntimeError("the machine was not followed; give track_system=True")
        system = self.get_metrics(operation_name).system
        measured = self._find(operation_name)._measured
        share = None if measured is None else measured.range("machine", "memory share")
        peak = system.memory_percent if share is None else 100.0 * share[2][1]
        return {
            "avg_cpu_percent": system.cpu_percent,
            "peak_cpu_percent": system.peak_cpu_percent,
            "avg_memory_percent": system.memory_percent,
            "peak_memory_percent": peak,
            "disk_io_percent": system.disk_io_percent,
            "disk_io_wait_percent": system.disk_io_wait_percent,
            "network_io_mb": system.network_io_mb,
        }

    @property
    def metrics(self) -> ProfilerMetrics:
        """The flat figures of the operation that runs now, else of the last one."""
        return self._keeper.flat()

    def estimate_flops(self, model: Any, input_shape: tuple[int, ...], batch_size: int = 1) -> int:
        """Return the floating-point operations of one forward pass of a torch model.

        The model is run once on zeros, without gradients, and what runs is counted;
        a multiplication and an addition are two operations.

        Raises:
            ImportError: torch is not installed.
        """
        import torch  # type: ignore[import-not-found, unused-ignore]

        from .._doors import flops

        with torch.no_grad():
            zeros = torch.zeros((batch_size, *input_shape))
            token = flops.begin()
            try:
                model(zeros)
            finally:
                count, _ = flops.end(token)
        return count

    def save_metrics(self, path: str | PathLike[str]) -> None:
        """Write the figures of every operation to a JSON file.

        Its groups ``memory``, ``timing``, ``compute`` and ``sustainability`` are those
        of the last operation, ``operations`` has all of them, ``metadata`` says when
        and where.

        Raises:
            OSError: The file cannot be written.
        """
        import json
        import platform
        import time

        figures = self.metrics.to_dict()
        figures["operations"] = {
            name: operation.metrics().to_dict()  # type: ignore[union-attr]
            for name, operation in self._keeper.all().items()
        }
        figures["metadata"] = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "python": platform.python_version(),
            "platform": platform.platform(),
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)

    def _find(self, name: str | None) -> Operation:
        if name is None:
            if self._keeper.last is None:
                raise RuntimeError(
                    "nothing was profiled yet; run a block inside `with profiler.profile(name)`"
                )
            return self._keeper.last
        known = self._keeper.all()
        if name not in known:
            names = ", ".join(map(repr, known)) or "none yet"
            raise KeyError(f"no operation is called {name!r}; there are: {names}")
        return known[name]


class _Keeper:
    """The operations of one profiler; several threads may end theirs at once."""

    __slots__ = ("_flat", "_latest", "_lock", "_running", "_sums", "last")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._latest: dict[str, Operation] = {}
        self._sums: dict[str, float] = {}
        self._running: list[Operation] = []
        self._flat = ProfilerMetrics()
        self.last: Operation | None = None

    def begin(self, operation: Operation) -> None:
        with self._lock:
            self._running.append(operation)

    def end(self, operation: Operation, seconds: float) -> None:
        with self._lock:
            self._running.remove(operation)
            name = operation.name
            self._latest[name] = operation
            self._sums[name] = self._sums.get(name, 0.0) + seconds
            self.last = operation

    def flat(self) -> ProfilerMetrics:
        with self._lock:
            if self._running:
                return self._running[-1].flat
            return self._flat if self.last is None else self.last.flat

    def all(self) -> dict[str, Operation]:
        with self._lock:
            return dict(self._latest)

    def breakdown(self) -> dict[str, float]:
        with self._lock:
            return dict(self._sums)


def _grid(country: str | None, given: float | None) -> tuple[float, str]:
    """Return what the grid emits, in grams by kilowatt-hour, and who says so."""
    if given is not None:
        if not 0 <= given < 1e5:
            raise ValueError(f"carbon_intensity_g_per_kwh must be >= 0, not {given!r}")
        return float(given), "as given"
    found = carbon_intensity(country)
    if found is None:
        from .._native import carbon_countries

        raise ValueError(
            f"the grid of country {country!r} is not in the table; give "
            f"carbon_intensity_g_per_kwh, or one of {', '.join(carbon_countries())}"
        )
    grams, year, source = found
    return grams, f"{'world' if country is None else country.upper()} {year}, {source}"
