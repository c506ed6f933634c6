"""What the accelerators of this machine are and hold now; no context is made to find out."""

from __future__ import annotations

from .._native import gpu_devices, gpu_index_of, gpu_is_loaded, gpu_readings, gpu_status
from ._device.libraries import torch_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["get_gpu_info", "get_gpu_memory_info", "memory_fraction", "own_memory_bytes"]

_MB = 1 << 20


def get_gpu_info() -> list[dict[str, Any]]:
    """Return one dict per accelerator; an empty list when there is none.

    ``index``, ``vendor``, ``name``, ``uuid``, ``bus_id``, ``driver``;
    ``memory_total_mb``, ``memory_used_mb``, ``process_memory_mb``,
    ``utilization`` (percent), ``temperature`` (degrees Celsius), ``power_draw``
    (watts). What a device does not tell is ``None``.
    """
    rows = []
    for device, reading in zip(gpu_devices(), gpu_readings(), strict=False):
        share = reading["utilization"]
        rows.append(
            {
                **{name: device[name] for name in ("index", "vendor", "name", "uuid")},
                **{name: device[name] for name in ("bus_id", "driver")},
                "memory_total_mb": _mb(reading["memory_total_bytes"]),
                "memory_used_mb": _mb(reading["memory_used_bytes"]),
                "process_memory_mb": _mb(reading["process_memory_bytes"]),
                "utilization": None if share is None else share * 100,
                "temperature": reading["temperature_c"],
                "power_draw": reading["power_w"],
            }
        )
    return rows


def get_gpu_memory_info(device: int = 0) -> dict[str, Any]:
    """Return memory figures of one device, in megabytes of 2**20 bytes.

    ``cuda_available`` is ``False`` when there is no such device, and then
    ``reason`` says why. Otherwise ``device_name``, ``total_memory_mb``,
    ``used_mb`` (by everyone), ``allocated_mb``, ``reserved_mb``,
    ``max_allocated_mb``, ``max_reserved_mb`` (torch's allocator where torch
    uses the device, else what this process holds, or ``None``), and
    ``utilization_pct`` (allocated of total).

    Args:
        device: Number of the device, as CUDA counts where the program uses CUDA.
    """
    index = device_index(device)
    devices, readings = gpu_devices(), gpu_readings()
    if not 0 <= index < len(readings):
        reason = next((text for _, works, text in gpu_status() if not works), "")
        if readings:
            reason = f"there is no device {device}; {len(readings)} are there"
        return {"cuda_available": False, "reason": reason}
    reading, held = readings[index], torch_memory(device)
    own = reading["process_memory_bytes"]
    allocated = own if held is None else held.allocated
    total = reading["memory_total_bytes"]
    return {
        "cuda_available": True,
        "device_name": devices[index]["name"],
        "total_memory_mb": _mb(total),
        "used_mb": _mb(reading["memory_used_bytes"]),
        "allocated_mb": _mb(allocated),
        "reserved_mb": _mb(own if held is None else held.reserved),
        "max_allocated_mb": None if held is None else _mb(held.peak_allocated),
        "max_reserved_mb": None if held is None else _mb(held.peak_reserved),
        "utilization_pct": allocated / total * 100 if allocated is not None and total else None,
    }


def device_index(device: int | None) -> int:
    """Return the place of a CUDA device among all devices; the numbers may differ."""
    ordinal = device or 0
    index = gpu_index_of(ordinal) if gpu_is_loaded() else None
    return ordinal if index is None else index


def memory_fraction() -> float:
    """Return the part of its memory that is used on the fullest device; 0.0 without one."""
    shares = [
        used / total
        for row in gpu_readings()
        if (used := row["memory_used_bytes"]) is not None and (total := row["memory_total_bytes"])
    ]
    return max(shares, default=0.0)


def own_memory_bytes() -> int:
    """Return what this process holds on all devices; 0 where that is not told."""
    return sum(row["process_memory_bytes"] or 0 for row in gpu_readings())


def _mb(size: int | None) -> float | None:
    return None if size is None else size / _MB
