"""The figures of one profiled operation, as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .._data.plain import dataclass, field
from .._data.readings import MemoryGrowth

if TYPE_CHECKING:
    from .._data.line_table import LineTime

__all__ = [
    "CarbonMetrics",
    "ComputeMetrics",
    "MemoryGrowth",
    "MemoryMetrics",
    "PerformanceMetrics",
    "SystemMetrics",
    "TimingMetrics",
]


@dataclass(frozen=True, slots=True)
class MemoryMetrics:
    """Memory of this process, in MB of 1024 * 1024 bytes.

    Attributes:
        initial_ram_mb: Held when the operation began.
        peak_ram_mb: The most that was held, however short.
        final_ram_mb: Held when it ended.
        peak_gpu_mb: The most device memory that was seen; 0 without a device.
        memory_leak_detected: Memory grew evenly and by enough to matter; needs
            ``detailed_memory=True``.
        peak_is_exact: The kernel's high-water mark was followed; otherwise the
            peak is the highest reading.
        growth: The evidence of the leak verdict; ``None`` unless it was asked for.
    """

    initial_ram_mb: float
    peak_ram_mb: float
    final_ram_mb: float
    peak_gpu_mb: float = 0.0
    memory_leak_detected: bool = False
    peak_is_exact: bool = True
    growth: MemoryGrowth | None = None


@dataclass(frozen=True, slots=True)
class TimingMetrics:
    """Times in seconds; CPU times are those of all threads of the process."""

    wall_time_s: float
    cpu_time_s: float
    user_time_s: float
    system_time_s: float


@dataclass(frozen=True, slots=True)
class ComputeMetrics:
    """What was computed, and how busy processors and devices were.

    Attributes:
        estimated_flops: Floating-point operations that were seen; 0 unless
            ``estimate_flops=True``.
        flops_per_second: The same by elapsed time.
        gpu_utilization_percent: Mean of all devices while it ran; 0 without one.
        cpu_utilization_percent: CPU time by elapsed time; 100 is one core.
        flops_source: Who counted the operations.
        flops_per_param: Operations by parameter of the model that was given to
            ``profile(..., model=...)``; ``None`` unless both are known.
    """

    estimated_flops: int
    flops_per_second: float
    gpu_utilization_percent: float
    cpu_utilization_percent: float
    flops_source: str = "none"
    flops_per_param: float | None = None


@dataclass(frozen=True, slots=True)
class SystemMetrics:
    """The whole machine while the operation ran, from the shared readings.

    With ``track_system=False`` processors, memory and disks are 0, with
    ``track_network=False`` the network is.

    Attributes:
        cpu_percent: Share of all processors in use.
        memory_percent: Share of the memory in use.
        disk_io_percent: Share of the time the busiest disk was busy.
        network_io_mb: Bytes in and out, loopback included, in MB.
        peak_cpu_percent: The highest share of all processors between two readings.
        disk_io_wait_percent: Share of the processors' time spent waiting for disks.
        age_s: How old the last reading was when the operation ended; ``None``
            when there is none.
        initial_cpu_temp_c: The hottest processor sensor when the operation began, in
            degrees Celsius; ``None`` without a sensor or ``track_cpu_temp=True``.
        cpu_temp_c: The same when it ended.
    """

    cpu_percent: float
    memory_percent: float
    disk_io_percent: float
    network_io_mb: float
    peak_cpu_percent: float = 0.0
    disk_io_wait_percent: float = 0.0
    age_s: float | None = None
    initial_cpu_temp_c: float | None = None
    cpu_temp_c: float | None = None


@dataclass(frozen=True, slots=True)
class CarbonMetrics:
    """Energy of this process, and the greenhouse gas it stands for.

    Attributes:
        energy_j: Joules.
        co2_g: Grams of CO2 equivalents.
        source: ``"measured"`` by the processor's counters, or ``"modelled"`` from
            CPU time.
        method: How, in words.
        intensity_g_per_kwh: What the grid emits.
        intensity_source: Where that figure is from, and of which year.
    """

    energy_j: float
    co2_g: float
    source: str
    method: str
    intensity_g_per_kwh: float
    intensity_source: str

    @property
    def energy_kwh(self) -> float:
        """The energy in kilowatt-hours."""
        return self.energy_j / 3.6e6


@dataclass(frozen=True, slots=True)
class PerformanceMetrics:
    """Everything that is known of one run of an operation.

    Attributes:
        carbon: Energy and greenhouse gas; ``None`` unless ``track_carbon=True``.
        line_profile: Time by line; empty unless ``enable_line_profiling=True``.
        completed: False when the block was left by an exception.
        samples: How many samples the caller said it handled.
    """

    memory: MemoryMetrics
    timing: TimingMetrics
    compute: ComputeMetrics
    system: SystemMetrics
    carbon: CarbonMetrics | None = None
    line_profile: list[LineTime] | None = field(default=None, repr=False)
    completed: bool = True
    samples: int | None = None

    @property
    def throughput(self) -> float | None:
        """Samples a second; ``None`` unless ``profile(..., samples=n)`` said how many."""
        if self.samples is None:
            return None
        return self.samples / max(self.timing.wall_time_s, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values that JSON can hold.

        ``carbon`` and ``line_profile`` are there when they were asked for.
        """
        figures: dict[str, Any] = {
            "memory": asdict(self.memory),
            "timing": asdict(self.timing),
            "compute": asdict(self.compute),
            "system": asdict(self.system),
            "completed": self.completed,
        }
        if self.throughput is not None:
            figures["throughput"] = self.throughput
        if self.carbon is not None:
            figures["carbon"] = {**asdict(self.carbon), "energy_kwh": self.carbon.energy_kwh}
        if self.line_profile is not None:
            figures["line_profile"] = [
                {
                    "function": line.function,
                    "file": line.file,
                    "line_number": line.line_number,
                    "hits": line.hits,
                    "time": line.time,
                }
                for line in self.line_profile
            ]
        return figures

    def summary(self) -> str:
        """Return one line: ``Peak RAM: 2.4 GB, Wall Time: 45.2s, GPU Util: 78%``."""
        wall = self.timing.wall_time_s
        seconds = f"{wall:.1f}s" if wall >= 1 else f"{wall:.3f}s"
        return (
            f"Peak RAM: {_memory(self.memory.peak_ram_mb)}, Wall Time: {seconds}, "
            f"GPU Util: {self.compute.gpu_utilization_percent:.0f}%"
        )


def _memory(megabytes: float) -> str:
    return f"{megabytes / 1024:.1f} GB" if megabytes >= 1024 else f"{megabytes:.1f} MB"
