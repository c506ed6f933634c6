"""How hot the processors are, from the kernel's sensors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Drivers whose sensors all sit on the processor.
_DRIVERS = {
    "coretemp",
    "cpu_thermal",
    "k8temp",
    "k10temp",
    "via_cputemp",
    "zenpower",
}


def cpu_temperature() -> float | None:
    """Return the hottest processor sensor in degrees Celsius; ``None`` without one.

    Sensors are looked for in ``/sys/class/hwmon``, then in ``/sys/class/thermal``.
    Most virtual machines and containers have none.
    """
    root = os.environ.get("TACHOGRAPH_SYS") or "/sys"
    found = max(_hwmon(f"{root}/class/hwmon"), default=None)
    return found if found is not None else max(_zones(f"{root}/class/thermal"), default=None)


def _hwmon(folder: str) -> Iterator[float]:
    for driver in _names(folder):
        place = f"{folder}/{driver}"
        if _text(f"{place}/name") not in _DRIVERS:
            continue
        sensors = [
            (_text(f"{place}/{name[:-6]}_label"), f"{place}/{name}")
            for name in _names(place)
            if name.startswith("temp") and name.endswith("_input")
        ]
        # Some AMD processors add an offset to Tctl, for their fans; Tdie is without it.
        has_die = any(label == "Tdie" for label, _ in sensors)
        for label, sensor in sensors:
            if not (has_die and label == "Tctl"):
                yield from _degrees(sensor)


def _zones(folder: str) -> Iterator[float]:
    for zone in _names(folder):
        kind = (_text(f"{folder}/{zone}/type") or "").lower().replace("_", "-")
        if kind == "x86-pkg-temp" or kind == "tcpu" or kind.startswith("cpu"):
            yield from _degrees(f"{folder}/{zone}/temp")


def _degrees(sensor: str) -> Iterator[float]:
    """Give what a sensor says, in the kernel's thousandths, if it says something.

    The kernel has a figure below absolute zero for a sensor that is not ready.
    """
    try:
        degrees = int(_text(sensor) or "") / 1000
    except ValueError:
        return
    if degrees > -273.15:
        yield degrees


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None
