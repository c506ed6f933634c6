"""Devices and their readings, end to end against stand-in drivers, each in a fresh process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[..., str]

READ = """
from tachograph import _native
devices, readings, status = _native.gpu_devices(), _native.gpu_readings(), _native.gpu_status()
"""


def test_memory_power_and_load_follow_what_the_program_does(program: Program) -> None:
    program("""
import time
from machine import nvml
from tachograph import _native
before = _native.gpu_readings()[0]
nvml.stand_in_allocate(0, 300 << 20)
nvml.stand_in_busy(0, 80)
time.sleep(0.1)
after = _native.gpu_readings()[0]

assert after["memory_used_bytes"] - before["memory_used_bytes"] == 300 << 20
assert (before["utilization"], after["utilization"]) == (0.0, 0.8)
assert after["memory_utilization"] == 0.4
assert after["temperature_c"] - before["temperature_c"] == 20
assert after["power_w"] == 150.0
assert after["energy_j"] - before["energy_j"] >= 150 * 0.1
import os
own = after["process_memory_bytes"]
first_namespace = os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"
assert own == (300 << 20 if first_namespace else None)
""")


def test_a_refused_reading_is_none_and_the_others_are_there(program: Program) -> None:
    program(
        READ + "assert readings[0]['power_w'] is None\n"
        "assert readings[0]['temperature_c'] is None\n"
        "assert readings[0]['utilization'] == 0.0\n",
        fail="nvmlDeviceGetPowerUsage=3,nvmlDeviceGetTemperature=4",
    )


def test_a_driver_that_vanishes_gives_nothing_and_no_error(program: Program) -> None:
    program("""
from machine import nvml
from tachograph import _native
assert _native.gpu_readings()[0]["memory_used_bytes"]
nvml.stand_in_break(b"*=15")
gone = _native.gpu_readings()
assert len(gone) == 2
assert all(value is None for row in gone for key, value in row.items() if key != "device")
nvml.stand_in_break(b"")
assert _native.gpu_readings()[0]["memory_used_bytes"]
""")


@pytest.mark.parametrize(
    ("fail", "words"),
    [
        ("nvmlInit_v2=18", "different versions"),
        ("nvmlInit_v2=9", "kernel module is not loaded"),
        ("nvmlDeviceGetCount_v2=999", "error 999"),
    ],
)
def test_a_driver_that_does_not_answer_is_a_reason(program: Program, fail: str, words: str) -> None:
    told = program(READ + "assert devices == readings == []\nprint(status[0])", fail=fail)

    assert words in told
    assert "False" in told


def test_an_old_driver_lacks_functions_and_serves_what_it_has(program: Program) -> None:
    program(
        READ + "assert len(devices) == 2\n"
        "assert readings[0]['energy_j'] is None\n"
        "assert readings[0]['memory_used_bytes'] == (1 << 30) + (512 << 20)\n",
        nvml="nvml_old",
    )


def test_a_library_without_any_symbol_is_a_reason(program: Program) -> None:
    told = program(READ + "assert devices == []\nprint(status[0])", nvml="cuda")

    assert "too old" in told


def test_one_broken_device_does_not_hide_the_others(program: Program) -> None:
    program(
        READ + "assert [row['name'] for row in devices] == ['NVIDIA device'] * 3\n",
        fail="nvmlDeviceGetName=999",
        environment={"STAND_IN_DEVICES": "3"},
    )


def test_without_a_device_there_is_nothing_and_a_sentence_says_so(program: Program) -> None:
    told = program(
        READ + "assert devices == readings == []\nfor row in status: print(*row)",
        nvml=None,
        cuda=None,
    )

    assert "NVML False" in told
    assert "CUDA driver False the program has not loaded the CUDA driver" in told


def test_amd_and_intel_devices_come_from_the_kernels_files(program: Program) -> None:
    tree = Path(__file__).parents[2] / "data" / "gpu" / "amd_and_intel"

    program(
        READ + "assert [row['vendor'] for row in devices] == ['NVIDIA', 'NVIDIA', 'AMD', 'Intel']\n"
        "assert [row['index'] for row in devices] == [0, 1, 2, 3]\n"
        "assert readings[2]['utilization'] == 0.87 and readings[2]['power_w'] == 212.5\n"
        "assert readings[3]['energy_j'] == 1234.5 and readings[3]['utilization'] is None\n",
        environment={"TACHOGRAPH_SYS": str(tree)},
    )


def test_a_device_that_sleeps_is_left_asleep(program: Program, tmp_path: Path) -> None:
    device = tmp_path / "sys" / "bus" / "pci" / "devices" / "0000:01:00.0"
    (device / "power").mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030000\n")
    (device / "power" / "runtime_status").write_text("suspended\n")

    told = program(
        READ + "assert devices == []\nprint(status[0])\n"
        "assert 'stand' not in open('/proc/self/maps').read()\n",
        environment={"TACHOGRAPH_SYS": str(tmp_path / "sys")},
    )

    assert "asleep" in told


def test_looking_makes_no_context_and_does_not_load_or_initialise_cuda(program: Program) -> None:
    program("""
import os
from tachograph import _native
_native.gpu_readings(), _native.gpu_status()
assert _native.gpu_mark(0, None) is None and _native.gpu_mark(0, 0) is None
assert os.environ["TACHOGRAPH_CUDA_LIBRARY"] not in open("/proc/self/maps").read()
from machine import cuda
assert _native.gpu_mark(0, None) is None and _native.gpu_synchronize(0, 0) is False
_native.gpu_status()
assert (cuda.stand_in_inits(), cuda.stand_in_contexts()) == (0, 0)
cuda.stand_in_make_context(1)
cuda.stand_in_leave_context()
assert _native.gpu_mark(0, 0) is None
assert cuda.stand_in_contexts() == 0
""")


def test_the_shared_sampler_has_series_of_devices(program: Program) -> None:
    program("""
import time
from machine import nvml, wait_for_readings
from tachograph import _native
_native.gpu_watch()
begin = time.monotonic()
window = _native.MonitorWindow(series_interval=0.02)
wait_for_readings()
nvml.stand_in_allocate(1, 1 << 30)
wait_for_readings()
nvml.stand_in_allocate(1, -(1 << 30))
wait_for_readings()
measured = window.close()
end = time.monotonic()
series = {row[0][1:3]: row for row in measured.series() if row[0][0] == "device"}
_, count, (low, high, mean, last, growth), _ = series[1, "memory used"]
assert count >= 3 and high - low == 1 << 30 and last == low, series
joules = series[0, "energy"][2][4]
# 150 W, counted in millijoules, between the first and the last reading.
assert 0 < joules <= 150 * (end - begin) + 0.002, joules
""")


def test_a_forked_child_reads_for_itself(program: Program) -> None:
    program("""
import os
from tachograph import _native
assert len(_native.gpu_readings()) == 2
child = os.fork()
if child == 0:
    os._exit(0 if len(_native.gpu_readings()) == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
""")
