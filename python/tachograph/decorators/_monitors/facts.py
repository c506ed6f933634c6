"""What this machine is."""

from __future__ import annotations

import os
import time
from typing import Any

from ..._native import (
    gpu_devices,
    gpu_readings,
    machine_figures,
    process_figures,
    processor_name,
)
from .machine import born, share, total_memory

__all__ = ["get_gpu_info", "get_system_info"]


def get_system_info() -> dict[str, Any]:
    """Return what this machine is and does, as plain values.

    CPU percentages are averages: of the machine since it was started, of the
    process over its life. Nothing is waited for.

    Returns:
        ``cpu`` (``name``, ``cpu_count``, ``cpu_count_logical``,
        ``cpu_count_usable``, ``cpu_freq``, ``cpu_percent``), ``memory``
        (``total``, ``available``, ``percent``, ``used``, ``free``), ``disk``
        (a list, one for each mounted file system), ``network``
        (``bytes_sent``, ``bytes_recv``), ``process`` and ``platform``.
    """
    machine = machine_figures()
    total, available = machine["memory_bytes"], machine["available_bytes"]
    logical = os.cpu_count() or 1
    return {
        "cpu": {
            "name": processor_name(),
            "cpu_count": _cores() or logical,
            "cpu_count_logical": logical,
            "cpu_count_usable": len(os.sched_getaffinity(0)),
            "cpu_freq": _frequency(),
            "cpu_percent": share(machine["busy_s"], machine["cpu_s"]),
        },
        "memory": {
            "total": total,
            "available": available,
            "percent": machine["memory_percent"],
            "used": total - available,
            "free": _meminfo("MemFree", available),
        },
        "disk": _disks(),
        "network": {
            "bytes_sent": machine["sent_bytes"],
            "bytes_recv": machine["received_bytes"],
        },
        "process": _process(),
        "platform": _platform(),
    }


def get_gpu_info() -> list[dict[str, Any]]:
    """Return the graphics processors, one dict each; an empty list without any.

    Returns:
        For each: ``id``, ``name``, ``uuid``, ``driver``; ``memory_total``,
        ``memory_used`` and ``memory_free`` in megabytes of 2^20 bytes;
        ``temperature`` in degrees Celsius; ``load`` between 0 and 1;
        ``power_draw`` in watts. What a device does not tell is ``None``.
    """
    readings = {reading["device"]: reading for reading in gpu_readings()}
    found = []
    for device in gpu_devices():
        reading = readings.get(device["index"])
        total = device["memory_total_bytes"]
        used = None if reading is None else reading["memory_used_bytes"]
        found.append(
            {
                "id": device["index"],
                "name": device["name"],
                "driver": device["driver"],
                "memory_total": _megabytes(total),
                "memory_used": _megabytes(used),
                "memory_free": None if total is None or used is None else _megabytes(total - used),
                "temperature": None if reading is None else reading["temperature_c"],
                "load": None if reading is None else reading["utilization"],
                "power_draw": None if reading is None else reading["power_w"],
                "uuid": device["uuid"],
            }
        )
    return found


def _megabytes(size: int | None) -> float | None:
    return None if size is None else size / (1024 * 1024)


def _process() -> dict[str, Any]:
    process = process_figures()
    age = time.monotonic() - born()
    return {
        "pid": os.getpid(),
        "name": _line("/proc/self/comm"),
        "memory_percent": 100.0 * process["rss_bytes"] / total_memory(),
        "cpu_percent": share(process["cpu_s"], age),
        "num_threads": process["threads"],
        "create_time": time.time() - age,
    }


def _platform() -> dict[str, str]:
    system = os.uname()
    return {
        "system": system.sysname,
        "release": system.release,
        "machine": system.machine,
        "platform": f"{system.sysname}-{system.release}-{system.machine}",
    }


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _meminfo(name: str, otherwise: int) -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return otherwise


def _cores() -> int:
    """Return the cores, each counted once however many threads it runs."""
    cores = set()
    for number in range(os.cpu_count() or 1):
        siblings = _line(f"/sys/devices/system/cpu/cpu{number}/topology/core_cpus_list")
        if siblings:
            cores.add(siblings)
    return len(cores)


def _frequency() -> dict[str, float] | None:
    """Return the clock of the first processor in MHz; ``None`` where it is not told."""
    place = "/sys/devices/system/cpu/cpu0/cpufreq/"
    told = {}
    for name, file in (
        ("current", "scaling_cur_freq"),
        ("min", "cpuinfo_min_freq"),
        ("max", "cpuinfo_max_freq"),
    ):
        text = _line(place + file)
        if text.isdigit():
            told[name] = int(text) / 1000
    return told or None


def _disks() -> list[dict[str, Any]]:
    found, seen = [], set()
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            mounts = [line.split() for line in file]
    except OSError:
        return []
    for device, place, kind, *_ in mounts:
        place = place.encode().decode("unicode_escape", errors="replace")
        if not device.startswith("/") or device in seen:
            continue
        try:
            sizes = os.statvfs(place)
        except OSError:
            continue
        seen.add(device)
        total = sizes.f_blocks * sizes.f_frsize
        free = sizes.f_bavail * sizes.f_frsize
        used = total - sizes.f_bfree * sizes.f_frsize
        found.append(
            {
                "device": device,
                "mountpoint": place,
                "fstype": kind,
                "total": total,
                "used": used,
                "free": free,
                "percent": 100.0 * used / (used + free) if used + free else 0.0,
            }
        )
    return found
