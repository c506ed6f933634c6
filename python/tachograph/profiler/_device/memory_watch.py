"""Memory over a stretch of time, of whatever there is: torch, a device, this process."""

from __future__ import annotations

from ..._native import (
    MonitorWindow,
    gpu_current_device,
    gpu_devices,
    gpu_is_loaded,
    gpu_readings,
    gpu_watch,
    peak_memory,
    process_figures,
)
from ..gpu import device_index
from .libraries import AllocatorMemory, torch_memory
from .peaks import PeakWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._native import Measured

__all__ = ["MemoryWatch", "held_now"]


class MemoryWatch:
    """One stretch of time, until it is closed.

    Where torch uses a device, its allocator tells start, end and peak. Where
    the program uses a device without torch, the driver tells what this process
    holds, and the peak is that of the shared sampler's readings. Elsewhere it
    is the resident memory, with the kernel's own peak.
    """

    def __init__(self, device: int | None, interval_s: float | None) -> None:
        self.device = device
        gpu_watch()
        self._torch = PeakWatch(device)
        self._on_device = _device_bytes(self.device)
        self._window = MonitorWindow(
            peak=True, series_interval=interval_s, memory_points=interval_s is not None
        )
        self._closed: tuple[str, AllocatorMemory] | None = None
        self._device_course: list[tuple[float, int]] | None = None

    def close(self) -> None:
        """End the stretch; every answer stays as it is."""
        if self._closed is None:
            self._torch.close()
            self._closed = self._look()
            self._window.close()
            # The shared series are kept for a while only.
            self._device_course = self._device_points()

    @property
    def source(self) -> str:
        """``"torch"``, ``"device"`` or ``"process"``."""
        return self.read()[0]

    def read(self) -> tuple[str, AllocatorMemory]:
        """Return whose memory it is, and what is held now with the peaks so far."""
        return self._look() if self._closed is None else self._closed

    def _look(self) -> tuple[str, AllocatorMemory]:
        if (torch := self._torch.read()) is not None:
            return "torch", torch
        now, start = _device_bytes(self.device), self._on_device
        if now is not None:
            most = max(now, start or 0, *(held for _, held in self.device_points()), 0)
            return "device", AllocatorMemory(now, now, most, most)
        measured = self._window.read()
        held, mapped = measured.rss_end, measured.virtual_bytes
        peak = max(measured.rss_peak, held)
        return "process", AllocatorMemory(held, mapped[1], peak, max(mapped))

    def start_bytes(self) -> int:
        """Return what was held at the beginning."""
        source = self.source
        if source == "torch":
            return 0 if self._torch.start is None else self._torch.start.allocated
        if source == "device":
            return self._on_device or 0
        return self.measured.rss_start

    @property
    def measured(self) -> Measured:
        """The process and the machine in this stretch."""
        return self._window.read()

    @property
    def peak_is_exact(self) -> bool:
        """Whether no peak could be too short to be seen."""
        source = self.source
        return source == "torch" or (source == "process" and self.measured.peak_is_exact)

    def process_points(self) -> list[tuple[float, int]]:
        """Return the course of the resident memory: seconds and bytes."""
        return [(time, int(held)) for time, held in self.measured.memory_points()]

    def device_points(self) -> list[tuple[float, int]]:
        """Return the course of what this process, or else everyone, holds on the device."""
        course = self._device_course
        return self._device_points() if course is None else course

    def _device_points(self) -> list[tuple[float, int]]:
        index = device_index(self.device)
        measured = self._window.read()
        for name in ("process memory", "memory used"):
            if points := measured.points("device", name, index):
                return [(time, int(held)) for time, held in points]
        return []

    def device_name(self) -> str | None:
        """Return what the device is called; ``None`` where there is none."""
        devices, index = gpu_devices(), device_index(self.device)
        return devices[index]["name"] if 0 <= index < len(devices) else None


def _device_bytes(device: int | None) -> int | None:
    """What this process holds on the device; ``None`` unless it uses one."""
    if not gpu_is_loaded():
        return None
    readings, index = gpu_readings(), device_index(device)
    if not 0 <= index < len(readings):
        return None
    own = readings[index]["process_memory_bytes"]
    if own is None and gpu_current_device() is not None:
        return readings[index]["memory_used_bytes"]
    return own or None


def held_now(device: int | None) -> AllocatorMemory:
    """Return what is held now, with the peaks since torch, or the process, began."""
    if (torch := torch_memory(device)) is not None:
        return torch
    if (held := _device_bytes(device)) is not None:
        return AllocatorMemory(held, held, held, held)
    figures, peak = process_figures(), peak_memory()
    held, mapped = int(figures["rss_bytes"]), int(figures["virtual_bytes"])
    return AllocatorMemory(held, mapped, max(held, peak or 0), mapped)
