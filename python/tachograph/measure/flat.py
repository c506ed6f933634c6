"""The flat figures of the older interface, filled while an operation runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .metrics import PerformanceMetrics
    from .operation import Operation

_MB = 1 << 20


class ProfilerMetrics:
    """What ``with profiler.profile(...) as metrics`` gives, and ``profiler.metrics``.

    While the block runs the figures are those so far. ``throughput_samples_per_sec``
    can be set.
    """

    __slots__ = ("_operation", "_throughput", "step_ram_mb", "step_times_s")

    def __init__(self, operation: Operation | None = None) -> None:
        self._operation = operation
        self._throughput: float | None = None
        self.step_ram_mb: list[float] = []
        self.step_times_s: list[float] = []

    @property
    def _now(self) -> PerformanceMetrics | None:
        return None if self._operation is None else self._operation.metrics()

    @property
    def peak_ram_mb(self) -> float:
        """The most memory held, in MB."""
        now = self._now
        return 0.0 if now is None else now.memory.peak_ram_mb

    @property
    def gpu_memory_mb(self) -> float:
        """The most device memory seen, in MB; 0 without a device."""
        now = self._now
        return 0.0 if now is None else now.memory.peak_gpu_mb

    @property
    def wall_time_s(self) -> float:
        """Elapsed seconds."""
        now = self._now
        return 0.0 if now is None else now.timing.wall_time_s

    @property
    def estimated_flops(self) -> int:
        """Floating-point operations that were seen."""
        now = self._now
        return 0 if now is None else now.compute.estimated_flops

    @property
    def energy_consumption_kwh(self) -> float:
        """Energy of this process; 0 unless ``track_carbon=True``."""
        now = self._now
        return 0.0 if now is None or now.carbon is None else now.carbon.energy_kwh

    @property
    def carbon_footprint_kg(self) -> float:
        """Kilograms of CO2 equivalents; 0 unless ``track_carbon=True``."""
        now = self._now
        return 0.0 if now is None or now.carbon is None else now.carbon.co2_g / 1000

    @property
    def throughput_samples_per_sec(self) -> float:
        """Samples a second: as set, else as ``profile(..., samples=n)`` says, else 0."""
        if self._throughput is not None:
            return self._throughput
        now = self._now
        return 0.0 if now is None else now.throughput or 0.0

    @throughput_samples_per_sec.setter
    def throughput_samples_per_sec(self, value: float) -> None:
        self._throughput = float(value)

    def _step(self, seconds: float, resident_bytes: int) -> None:
        self.step_times_s.append(seconds)
        self.step_ram_mb.append(resident_bytes / _MB)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures in the groups that ``save_metrics()`` writes."""
        return {
            "memory": {
                "peak_ram_mb": self.peak_ram_mb,
                "step_ram_mb": list(self.step_ram_mb),
                "gpu_memory_mb": self.gpu_memory_mb,
            },
            "timing": {"wall_time_s": self.wall_time_s, "step_times_s": list(self.step_times_s)},
            "compute": {
                "estimated_flops": self.estimated_flops,
                "throughput_samples_per_sec": self.throughput_samples_per_sec,
            },
            "sustainability": {
                "energy_consumption_kwh": self.energy_consumption_kwh,
                "carbon_footprint_kg": self.carbon_footprint_kg,
            },
        }

    def __repr__(self) -> str:
        now = self._now
        return "<ProfilerMetrics: nothing yet>" if now is None else f"<{now.summary()}>"
