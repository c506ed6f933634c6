"""What accelerators did, from the shared series and from their drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._native import Measured

_MB = 1 << 20


def device_figures(measured: Measured) -> tuple[float, float]:
    """Return the peak of device memory in MB and the mean utilisation in percent.

    Memory is this process's where the driver tells it apart, else all that is
    in use. Both are 0 without a device.
    """
    own = used = 0.0
    busy: list[float] = []
    for (scope, _, name, _, _), _, (_, most, mean, _, _), _ in measured.series():
        if scope != "device":
            continue
        if name == "process memory":
            own += most
        elif name == "memory used":
            used += most
        elif name == "utilisation":
            busy.append(mean)
    memory = (own or used) / _MB
    return memory, 100.0 * sum(busy) / len(busy) if busy else 0.0


def current_memory_share() -> float:
    """Return the share of its memory that the fullest device uses, 0 to 1; 0 without one."""
    from .._native import gpu_readings

    shares = [
        used / total
        for reading in gpu_readings()
        if (used := reading["memory_used_bytes"]) is not None
        and (total := reading["memory_total_bytes"])
    ]
    return max(shares, default=0.0)
