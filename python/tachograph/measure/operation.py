"""One run of a profiled block: opened with ``with``, asked for its figures later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._native import MonitorWindow, block, energy_source, gpu_watch, memory_growth
from .devices import device_figures
from .flat import ProfilerMetrics
from .metrics import (
    CarbonMetrics,
    ComputeMetrics,
    MemoryGrowth,
    MemoryMetrics,
    PerformanceMetrics,
    SystemMetrics,
    TimingMetrics,
)
from .parameters import parameter_count
from .temperature import cpu_temperature

if TYPE_CHECKING:
    from types import TracebackType

    from .._data.line_table import LineTable
    from .._native import Measured
    from .profiler import Wishes, _Keeper

_MB = 1 << 20


class Operation:
    """A block that is measured; each ``with`` is a window of its own.

    What costs time to find out is started before the window opens and ended
    after it closed, so that it is not in the figures.
    """

    __slots__ = (
        "_begin_c",
        "_block",
        "_completed",
        "_end_c",
        "_flops",
        "_keeper",
        "_line_watch",
        "_lines",
        "_measured",
        "_metrics",
        "_model",
        "_parameters",
        "_token",
        "_window",
        "_wishes",
        "flat",
        "name",
        "samples",
    )

    def __init__(
        self,
        name: str,
        samples: int | None,
        model: Any,
        wishes: Wishes,
        keeper: _Keeper,
    ) -> None:
        self.name = name
        self.samples = samples
        self._model = model
        self._parameters: int | None = None
        self._begin_c: float | None = None
        self._end_c: float | None = None
        self._wishes = wishes
        self._keeper = keeper
        self._block: Any = None
        self._window: MonitorWindow | None = None
        self._measured: Measured | None = None
        self._metrics: PerformanceMetrics | None = None
        self._line_watch: Any = None
        self._lines: LineTable | None = None
        self._token: Any = None
        self._flops = (0, "none")
        self._completed = False
        self.flat = ProfilerMetrics(self)

    def __enter__(self) -> ProfilerMetrics:
        if self._window is not None:
            raise RuntimeError(
                f"the operation {self.name!r} was entered twice; call profile() for each block"
            )
        wishes = self._wishes
        self._keeper.begin(self)
        if wishes.gpu:
            gpu_watch()
        if wishes.heat:
            self._begin_c = cpu_temperature()
        if wishes.flops:
            from .._doors import flops

            self._token = flops.begin()
        if wishes.lines:
            from .._doors.lines import own_lines

            self._line_watch = own_lines()
            self._line_watch.start()
        self._block = block(self.name)
        self._block.__enter__()
        self._window = MonitorWindow(
            peak=True,
            series_interval=wishes.interval,
            memory_points=wishes.growth,
        )
        return self.flat

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._window is None:
            return
        self._measured = self._window.close()
        self._block.__exit__(kind, error, traceback)
        self._block = None
        if self._line_watch is not None:
            self._lines = self._line_watch.stop()
            self._line_watch = None
        if self._token is not None:
            from .._doors import flops

            self._flops = flops.end(self._token)
            self._token = None
        if self._wishes.heat:
            self._end_c = cpu_temperature()
        # After the block: some models make their parameters when they first run.
        self._parameters = parameter_count(self._model)
        self._model = None
        self._completed = kind is None
        self._keeper.end(self, self._measured.wall_s)

    @property
    def is_over(self) -> bool:
        """Whether the block was left."""
        return self._measured is not None

    @property
    def lines(self) -> LineTable | None:
        """Time by line, when it was asked for and the block is over."""
        return self._lines

    def metrics(self) -> PerformanceMetrics | None:
        """Return the figures, those so far while it runs; ``None`` before it began."""
        if self._metrics is not None:
            return self._metrics
        if self._measured is not None:
            self._metrics = self._figures(self._measured)
            return self._metrics
        return None if self._window is None else self._figures(self._window.read())

    def _figures(self, measured: Measured) -> PerformanceMetrics:
        wall = measured.wall_s
        flops, source = self._flops
        gpu_mb, gpu_percent = device_figures(measured) if self._wishes.gpu else (0.0, 0.0)
        return PerformanceMetrics(
            memory=self._memory(measured, gpu_mb),
            timing=TimingMetrics(wall, measured.cpu_s, measured.user_s, measured.system_s),
            compute=ComputeMetrics(
                estimated_flops=flops,
                flops_per_second=flops / wall if wall > 0 else 0.0,
                gpu_utilization_percent=gpu_percent,
                cpu_utilization_percent=measured.cpu_percent,
                flops_source=source,
                flops_per_param=flops / self._parameters if flops and self._parameters else None,
            ),
            system=self._system(measured),
            carbon=self._carbon(measured),
            line_profile=None if self._lines is None else list(self._lines.rows),
            completed=self._completed,
            samples=self.samples,
        )

    def _memory(self, measured: Measured, gpu_mb: float) -> MemoryMetrics:
        leaking, growth = False, None
        if self._wishes.growth:
            points = [
                (0.0, float(measured.rss_start)),
                *measured.memory_points(),
                (measured.wall_s, float(measured.rss_end)),
            ]
            leaking, figures, count, reason = memory_growth(points)
            growth = MemoryGrowth(leaking, *figures, count, reason)
        return MemoryMetrics(
            initial_ram_mb=measured.rss_start / _MB,
            peak_ram_mb=measured.rss_peak / _MB,
            final_ram_mb=measured.rss_end / _MB,
            peak_gpu_mb=gpu_mb,
            memory_leak_detected=leaking,
            peak_is_exact=measured.peak_is_exact,
            growth=growth,
        )

    def _carbon(self, measured: Measured) -> CarbonMetrics | None:
        grid = self._wishes.grid
        if grid is None:
            return None
        joules, is_measured = measured.energy or (0.0, False)
        for row in measured.series():
            (scope, _, name, _, _), _, values, _ = row
            if scope == "device" and name == "energy":
                joules += values[4]
        intensity, source = grid
        return CarbonMetrics(
            energy_j=joules,
            co2_g=joules / 3.6e6 * intensity,
            source="measured" if is_measured else "modelled",
            method=energy_source()[1],
            intensity_g_per_kwh=intensity,
            intensity_source=source,
        )

    def _system(self, measured: Measured) -> SystemMetrics:
        wishes = self._wishes
        figures: dict[str, float] = _machine(measured) if wishes.system else _NO_MACHINE
        received, sent = (measured.network_bytes if wishes.network else None) or (0, 0)
        end = self._end_c
        if wishes.heat and not self.is_over:
            end = cpu_temperature()
        return SystemMetrics(
            **figures,
            network_io_mb=(received + sent) / _MB,
            age_s=measured.machine_age_s if wishes.system or wishes.network else None,
            initial_cpu_temp_c=self._begin_c,
            cpu_temp_c=end,
        )


_NO_MACHINE = {"cpu_percent": 0.0, "memory_percent": 0.0, "disk_io_percent": 0.0}


def _machine(measured: Measured) -> dict[str, float]:
    """Return what processors, memory and disks did, by the names of ``SystemMetrics``."""
    cpu = measured.machine_cpu_percent
    if cpu is None:
        # Too short for two readings of the machine: what this process used is known.
        import os

        cpu = min(100.0, measured.cpu_percent / (os.cpu_count() or 1))
    waiting = measured.range("machine", "waiting for disks")
    available = measured.range("machine", "cpu available")
    waited = 0.0
    if waiting is not None and available is not None and available[2][4] > 0:
        waited = 100.0 * waiting[2][4] / available[2][4]
    return {
        "cpu_percent": cpu,
        "memory_percent": measured.machine_memory_percent or 0.0,
        "disk_io_percent": measured.disk_busy_percent or 0.0,
        "peak_cpu_percent": measured.machine_cpu_peak_percent or cpu,
        "disk_io_wait_percent": waited,
    }
