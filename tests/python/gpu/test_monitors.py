"""Monitors with ``monitor_gpu``, end to end against stand-in drivers."""

from __future__ import annotations

from collections.abc import Callable

Program = Callable[..., str]

WATCHED = """
from machine import nvml, wait_for_readings
from tachograph.decorators import get_gpu_info, performance_monitor

@performance_monitor(monitor_gpu=True, return_results=True, system_sample_interval=0.01)
def train():
    wait_for_readings()
    nvml.stand_in_allocate(0, 300 << 20)
    nvml.stand_in_busy(0, 80)
    wait_for_readings()

_, seen = train()
devices = seen.monitoring_result.gpu_snapshots
"""


def test_a_watched_call_has_readings_of_every_device(program: Program) -> None:
    program(
        WATCHED
        + """
assert len(devices) == len(get_gpu_info()) == 2
busy, idle = devices
assert busy.gpu_utilization == 80.0 and idle.gpu_utilization == 0.0
assert busy.gpu_memory_used - idle.gpu_memory_used >= 250 << 20
assert busy.gpu_memory_total >= busy.gpu_memory_used > 0
assert busy.gpu_power_draw == 150.0 and busy.gpu_temperature > idle.gpu_temperature
peaks = seen.summary()["gpu"]
assert peaks[0]["peak_utilization"] == 80.0
assert peaks[0]["peak_memory_mb"] >= 300
assert "busy at most 80 %" in str(seen.summary())
"""
    )


def test_device_info_is_in_the_units_people_know(program: Program) -> None:
    program(
        WATCHED
        + """
first = get_gpu_info()[0]
assert first["load"] == 0.8
assert first["memory_used"] + first["memory_free"] == first["memory_total"]
assert first["memory_used"] >= 300
assert first["name"] and first["uuid"] and first["driver"]
"""
    )


def test_without_a_driver_there_are_no_readings_and_no_error(program: Program) -> None:
    program(
        WATCHED.replace(
            "from machine import nvml, wait_for_readings",
            "from unittest.mock import Mock; nvml = wait_for_readings = Mock()",
        )
        + "assert devices == [] and get_gpu_info() == [] and 'gpu' not in seen.summary()",
        nvml=None,
        cuda=None,
    )
