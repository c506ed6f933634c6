"""What PerformanceProfiler follows, the process it tells of, and its carbon door."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tachograph import _native
from tachograph.measure import CarbonAwareProfiler, PerformanceProfiler
from tachograph.measure.temperature import cpu_temperature
from watched import doze

MB = 1 << 20


def spin(seconds: float) -> None:
    """Use `seconds` of this thread's CPU clock."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def write(root: Path, files: dict[str, str]) -> None:
    """Write a tree that stands for `/sys`."""
    for name, text in files.items():
        path = root / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


INTEL = {
    "hwmon/hwmon0/name": "acpitz",
    "hwmon/hwmon0/temp1_input": "99000",
    "hwmon/hwmon1/name": "coretemp",
    "hwmon/hwmon1/temp1_input": "61000",
    "hwmon/hwmon1/temp2_input": "63500",
    "hwmon/hwmon1/temp2_max": "100000",
    "thermal/thermal_zone0/type": "x86_pkg_temp",
    "thermal/thermal_zone0/temp": "70000",
}
AMD = {
    "hwmon/hwmon0/name": "k10temp",
    "hwmon/hwmon0/temp1_label": "Tctl",
    "hwmon/hwmon0/temp1_input": "77000",
    "hwmon/hwmon0/temp2_label": "Tdie",
    "hwmon/hwmon0/temp2_input": "50250",
}
ARM = {
    "thermal/thermal_zone0/type": "gpu-thermal",
    "thermal/thermal_zone0/temp": "90000",
    "thermal/thermal_zone1/type": "cpu-thermal",
    "thermal/thermal_zone1/temp": "48312",
    "thermal/cooling_device0/type": "cpufreq-cpu0",
}
SILENT = {
    "hwmon/hwmon0/name": "coretemp",
    "hwmon/hwmon0/temp1_input": "",
    "thermal/thermal_zone0/type": "cpu-thermal",
    "thermal/thermal_zone0/temp": "-274000",
}


@pytest.mark.parametrize(
    ("files", "degrees"),
    [(INTEL, 63.5), (AMD, 50.25), (ARM, 48.312), (SILENT, None), ({}, None)],
    ids=["intel", "amd", "arm", "silent", "none"],
)
def test_the_hottest_processor_sensor_is_the_temperature(
    files: dict[str, str],
    degrees: float | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(tmp_path, files)
    monkeypatch.setenv("TACHOGRAPH_SYS", str(tmp_path))

    assert cpu_temperature() == degrees


def test_a_block_has_the_temperatures_of_its_begin_and_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, INTEL)
    monkeypatch.setenv("TACHOGRAPH_SYS", str(tmp_path))
    profiler = PerformanceProfiler(track_cpu_temp=True)
    with profiler.profile("heat"):
        write(tmp_path, {"hwmon/hwmon1/temp1_input": "81000"})
    write(tmp_path, {"hwmon/hwmon1/temp1_input": "90000"})

    system = profiler.get_metrics().system

    assert (system.initial_cpu_temp_c, system.cpu_temp_c) == (63.5, 81.0)
    assert profiler.get_metrics().to_dict()["system"]["cpu_temp_c"] == 81.0
    assert profiler.get_current_system_stats()["cpu_temp_c"] == 90.0


def test_without_the_wish_or_a_sensor_there_is_no_temperature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "hot", INTEL)
    for folder, wish in (("hot", False), ("none", True)):
        monkeypatch.setenv("TACHOGRAPH_SYS", str(tmp_path / folder))
        profiler = PerformanceProfiler(track_cpu_temp=wish)
        with profiler.profile("x"):
            pass

        assert profiler.get_metrics().system.cpu_temp_c is None
        assert "cpu_temp_c" not in profiler.get_current_system_stats()


def test_a_machine_that_is_not_followed_has_no_figures() -> None:
    profiler = PerformanceProfiler(track_system=False, track_network=False, memory_interval=0.02)
    with profiler.profile("spin"):
        spin(0.1)

    system = profiler.get_metrics().system

    assert (system.cpu_percent, system.memory_percent, system.disk_io_percent) == (0, 0, 0)
    assert (system.network_io_mb, system.age_s) == (0, None)
    assert profiler.get_metrics().timing.cpu_time_s >= 0.1
    with pytest.raises(RuntimeError, match="track_system=True"):
        profiler.get_system_report()


class Known:
    """A window's answers, as if the machine had done just this."""

    machine_cpu_percent = 40.0
    machine_cpu_peak_percent = 60.0
    machine_memory_percent = 30.0
    disk_busy_percent = 20.0
    machine_age_s = 0.1
    network_bytes = (3 * MB, 1 * MB)

    def range(self, scope: str, name: str) -> Any:
        """Give the sums of two series, in nanoseconds."""
        total = {("machine", "waiting for disks"): 5e8, ("machine", "cpu available"): 8e9}
        return (None, 0, (0.0, 0.0, 0.0, 0.0, total[scope, name]), None)


@pytest.mark.parametrize("system", [True, False])
@pytest.mark.parametrize("network", [True, False])
def test_each_wish_keeps_its_own_figures(system: bool, network: bool) -> None:
    block = PerformanceProfiler(track_system=system, track_network=network).profile("x")

    figures = block._system(Known())  # type: ignore[arg-type]

    assert figures.network_io_mb == (4 if network else 0)
    assert figures.cpu_percent == (40 if system else 0)
    assert figures.disk_io_wait_percent == (6.25 if system else 0)


def test_waiting_for_disks_is_what_the_kernel_counted_around_the_block() -> None:
    profiler = PerformanceProfiler(system_interval=0.02)
    before = _native.machine_figures()
    with profiler.profile("wait"):
        time.sleep(0.2)
    after = _native.machine_figures()

    measured = profiler._find("wait")._measured
    assert measured is not None
    available = measured.range("machine", "cpu available")
    assert available is not None
    percent = profiler.get_metrics().system.disk_io_wait_percent
    waited = percent / 100 * available[2][4] / 1e9

    # The kernel counts in ticks, for each processor by itself.
    ticks = 0.05 * (os.cpu_count() or 1)
    assert 0 <= waited <= after["io_wait_s"] - before["io_wait_s"] + ticks
    assert profiler.get_system_report()["disk_io_wait_percent"] <= 100


def test_the_machine_is_read_as_often_as_was_asked() -> None:
    counts = {}
    for interval in (0.02, 10.0):
        profiler = PerformanceProfiler(memory_interval=10, system_interval=interval)
        with profiler.profile("x"):
            doze(0.6)
        measured = profiler._find("x")._measured
        assert measured is not None
        counts[interval] = len(measured.points("machine", "cpu busy"))

    # 30 readings when nothing is late.
    assert counts[0.02] >= 5
    assert counts[0.02] > counts[10.0]


def test_with_detailed_memory_the_shorter_interval_counts() -> None:
    def interval(**wishes: Any) -> float:
        return PerformanceProfiler(memory_interval=0.1, **wishes)._wishes.interval

    assert interval() == 0.1
    assert interval(system_interval=2) == 2
    assert interval(system_interval=2, detailed_memory=True) == 0.1
    assert interval(system_interval=0.05, detailed_memory=True) == 0.05


@pytest.mark.parametrize("interval", [0, -1, float("nan")])
def test_a_system_interval_that_is_no_time_is_refused(interval: float) -> None:
    with pytest.raises(ValueError, match="system_interval must be > 0"):
        PerformanceProfiler(system_interval=interval)


def test_the_process_is_this_one_and_its_memory_grows() -> None:
    process = PerformanceProfiler().process
    before = process.memory_info()

    kept = bytearray(os.urandom(1) * (50 * MB))
    after = process.memory_info()

    assert process.pid == os.getpid()
    assert len(kept) <= after.rss - before.rss + MB
    assert after.vms >= after.rss >= after.shared
    pages = [int(word) for word in Path("/proc/self/statm").read_text().split()]
    assert process.memory_info().rss == pytest.approx(pages[1] * os.sysconf("SC_PAGESIZE"), abs=MB)


def test_threads_are_those_the_kernel_runs() -> None:
    process = PerformanceProfiler().process
    go = threading.Event()
    threads = [threading.Thread(target=go.wait) for _ in range(3)]
    before = process.num_threads()
    for thread in threads:
        thread.start()

    during = process.num_threads()
    go.set()
    for thread in threads:
        thread.join()

    # The sampler of another test may end meanwhile.
    assert during - before in (2, 3)


def test_processor_use_counts_from_the_call_before() -> None:
    process = PerformanceProfiler().process
    outer, cpu = time.perf_counter(), time.process_time()
    process.cpu_percent()
    inner = time.perf_counter()
    spin(0.1)
    least_s = time.perf_counter() - inner
    busy = process.cpu_percent()
    most_s, most_cpu_s = time.perf_counter() - outer, time.process_time() - cpu
    time.sleep(0.2)
    idle = process.cpu_percent()

    assert 100 * 0.1 / most_s <= busy <= 100 * most_cpu_s / least_s
    assert idle < 50


def test_a_forked_child_is_a_process_of_its_own() -> None:
    process = PerformanceProfiler().process
    spin(0.05)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, f"{process.pid} {process.cpu_percent()}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    told = os.read(reader, 100).decode()
    os.close(reader)
    os.close(writer)

    assert told == f"{child} 0.0"


class Parameter:
    """Numbers that a model learns."""

    def __init__(self, count: int) -> None:
        self.count = count

    def numel(self) -> int:
        """Return how many there are."""
        return self.count


class Model:
    """Parameters by torch's interface."""

    def __init__(self, *parameters: Any) -> None:
        self.all = parameters

    def parameters(self) -> Any:
        """Give the parameters."""
        return iter(self.all)


def flops_per_param(model: Any, estimate: bool = True) -> tuple[int, float | None]:
    """Multiply two matrices of 64 by 64 as the work of `model`."""
    numpy = pytest.importorskip("numpy")
    a = numpy.ones((64, 64))
    a @ a
    profiler = PerformanceProfiler(estimate_flops=estimate)
    with profiler.profile("forward", model=model):
        a @ a
    compute = profiler.get_metrics().compute
    return compute.estimated_flops, compute.flops_per_param


def test_operations_by_parameter_are_what_ran_by_what_the_model_has() -> None:
    flops, ratio = flops_per_param(Model(Parameter(64 * 64), Parameter(64)))

    assert flops == 2 * 64**3
    assert ratio == 2 * 64**3 / (64 * 64 + 64)


def test_without_a_model_or_a_count_there_are_no_operations_by_parameter() -> None:
    assert flops_per_param(None)[1] is None
    assert flops_per_param(Model())[1] is None
    assert flops_per_param(Model("no parameter"))[1] is None
    assert flops_per_param(Model(Parameter(10)), estimate=False)[1] is None
    with pytest.raises(TypeError, match=r"must have parameters\(\).*'resnet'"):
        PerformanceProfiler().profile("x", model="resnet")


def test_the_carbon_door_gives_both_groups_and_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    profiler = CarbonAwareProfiler("demo", "first", carbon_intensity_g_per_kwh=429.0)
    block = profiler.profile_with_carbon("train")
    assert block.results == {} and block.metrics is None
    with block as session:
        spin(0.05)

    carbon = session.results["carbon"]

    assert carbon["energy_consumed_kwh"] > 0
    assert carbon["emissions_kg_co2"] == pytest.approx(carbon["energy_consumed_kwh"] * 0.429)
    assert session.results["performance"]["timing"]["wall_time_s"] >= 0.05
    assert session.metrics is profiler.get_metrics("train")
    assert (profiler.project_name, profiler.experiment_name) == ("demo", "first")
    assert capsys.readouterr() == ("", "")


def test_the_carbon_door_lets_errors_through_and_can_do_without_carbon() -> None:
    profiler = CarbonAwareProfiler(track_carbon=False)
    session = profiler.profile_with_carbon("fails")
    with pytest.raises(ZeroDivisionError), session:
        _ = 1 // 0

    assert set(session.results) == {"performance"}
    assert session.metrics is not None and not session.metrics.completed
