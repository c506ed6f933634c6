"""PerformanceProfiler beyond the blocks of its document."""

from __future__ import annotations

import json
import mmap
import socket
import threading
import time
from pathlib import Path

import pytest
from tachograph import _native
from tachograph.measure import PerformanceProfiler
from watched import doze

MB = 1 << 20


def spin(seconds: float) -> None:
    """Use `seconds` of this thread's CPU clock."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_a_block_that_sleeps_takes_its_time_and_no_processor() -> None:
    profiler = PerformanceProfiler()
    before, cpu = time.perf_counter(), time.process_time()
    with profiler.profile("sleep"):
        time.sleep(0.05)
    outside, used = time.perf_counter() - before, time.process_time() - cpu

    timing = profiler.get_metrics().timing

    assert 0.05 <= timing.wall_time_s <= outside
    # The same clock around the block, which hardly moves.
    assert timing.cpu_time_s <= used


def test_cpu_time_is_that_of_all_threads() -> None:
    profiler = PerformanceProfiler()
    outside = time.process_time()
    with profiler.profile("threads"):
        before = time.process_time()
        other = threading.Thread(target=spin, args=(0.05,))
        other.start()
        spin(0.05)
        other.join()
        used = time.process_time() - before
    around = time.process_time() - outside

    metrics = profiler.get_metrics()

    assert around >= metrics.timing.cpu_time_s >= used >= 0.1
    both = metrics.timing.user_time_s + metrics.timing.system_time_s
    # Read a little before or after the other, so between the same two; the kernel
    # rounds each of them to microseconds, at both ends.
    assert used - 4e-6 <= both <= around + 4e-6
    share = metrics.timing.cpu_time_s / metrics.timing.wall_time_s
    assert metrics.compute.cpu_utilization_percent == pytest.approx(100 * share)


def test_a_peak_shorter_than_the_interval_is_seen() -> None:
    profiler = PerformanceProfiler(memory_interval=10)
    with profiler.profile("peak"):
        bytearray(100 * MB)

    memory = profiler.get_metrics().memory

    assert memory.peak_is_exact
    assert memory.peak_ram_mb >= memory.initial_ram_mb + 95
    assert memory.final_ram_mb < memory.initial_ram_mb + 50


def touch(size: int) -> None:
    """Hold `size` bytes for a moment, in pages of their own."""
    with mmap.mmap(-1, size) as block:
        for page in range(0, size, mmap.PAGESIZE):
            block[page] = 1


def test_nested_operations_are_windows_of_their_own() -> None:
    profiler = PerformanceProfiler()
    with profiler.profile("outer"):
        touch(150 * MB)
        with profiler.profile("inner"):
            touch(50 * MB)
            time.sleep(0.02)
        time.sleep(0.02)

    outer, inner = (profiler.get_metrics(name) for name in ("outer", "inner"))

    assert inner.timing.wall_time_s < outer.timing.wall_time_s
    assert outer.memory.peak_ram_mb - outer.memory.initial_ram_mb >= 145
    assert 45 <= inner.memory.peak_ram_mb - inner.memory.initial_ram_mb < 120


def test_of_one_name_the_latest_counts_and_times_add_up() -> None:
    profiler = PerformanceProfiler()
    for seconds in (0.03, 0.01):
        with profiler.profile("step"):
            time.sleep(seconds)

    latest = profiler.get_metrics("step").timing.wall_time_s

    assert latest >= 0.01
    assert profiler.get_timing_breakdown()["step"] >= latest + 0.03


def test_before_the_first_operation_the_remedy_is_told() -> None:
    profiler = PerformanceProfiler()

    assert not profiler.has_results()
    assert profiler.get_timing_breakdown() == {}
    assert profiler.get_line_profile() == []
    assert profiler.get_carbon() is None
    with pytest.raises(RuntimeError, match="nothing was profiled yet"):
        profiler.get_metrics()
    with pytest.raises(KeyError, match=r"'train'.*none yet"):
        profiler.get_metrics("train")


def test_a_block_is_entered_once() -> None:
    block = PerformanceProfiler().profile("x")
    with block, pytest.raises(RuntimeError, match="entered twice"):
        block.__enter__()


@pytest.mark.parametrize("interval", [0, -1, float("nan")])
def test_an_interval_that_is_no_time_is_refused(interval: float) -> None:
    with pytest.raises(ValueError, match="memory_interval must be > 0"):
        PerformanceProfiler(memory_interval=interval)


def test_energy_follows_cpu_time_and_says_how_it_is_known() -> None:
    profiler = PerformanceProfiler(track_carbon=True, country="fr")
    with profiler.profile("spin"):
        spin(0.1)

    carbon = profiler.get_carbon()

    assert carbon is not None
    measured, method = _native.energy_source()
    assert carbon.source == ("measured" if measured else "modelled")
    assert carbon.method == method
    assert carbon.energy_j > 0
    assert carbon.co2_g == pytest.approx(carbon.energy_j / 3.6e6 * 56)
    assert carbon.intensity_source.startswith("FR 2023")
    told = profiler.get_metrics().to_dict()["carbon"]
    assert {"energy_j", "co2_g", "source", "energy_kwh"} <= set(told)


def test_a_grid_can_be_given_and_an_unknown_country_is_told() -> None:
    profiler = PerformanceProfiler(track_carbon=True, carbon_intensity_g_per_kwh=429.0)
    with profiler.profile("spin"):
        spin(0.01)

    carbon = profiler.get_carbon()

    assert carbon is not None
    assert carbon.co2_g == pytest.approx(carbon.energy_kwh * 429)
    with pytest.raises(ValueError, match=r"'XX' is not in the table.*DE, DK"):
        PerformanceProfiler(track_carbon=True, country="XX")
    with pytest.raises(ValueError, match="must be >= 0"):
        PerformanceProfiler(carbon_intensity_g_per_kwh=-1)


def test_bytes_over_a_socket_are_network_traffic() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    profiler = PerformanceProfiler(memory_interval=0.05)

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 16):
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    with profiler.profile("network"):
        doze(0.2)
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(bytes(8 * MB))
        thread.join()
        doze(0.4)
    server.close()

    # Each byte goes out and comes in.
    assert profiler.get_metrics().system.network_io_mb >= 16


def test_the_machine_is_described_from_the_first_operation_on() -> None:
    profiler = PerformanceProfiler(memory_interval=0.05)
    with profiler.profile("spin"):
        spin(0.15)

    system = profiler.get_metrics().system
    report = profiler.get_system_report()

    assert 0 < system.cpu_percent <= 100
    assert system.peak_cpu_percent >= system.cpu_percent * 0.99
    assert 0 < system.memory_percent < 100
    assert 0 <= system.disk_io_percent <= 100
    assert system.age_s is not None and system.age_s < 5
    assert report["avg_cpu_percent"] == system.cpu_percent
    assert report["peak_memory_percent"] >= report["avg_memory_percent"] * 0.99
    now = profiler.get_current_system_stats()
    assert 0 <= now["cpu_percent"] <= 100 and now["memory_available_mb"] > 0


def test_figures_can_be_read_while_the_block_runs() -> None:
    profiler = PerformanceProfiler()
    with profiler.profile("run", samples=10) as flat:
        time.sleep(0.02)
        so_far = flat.wall_time_s
        assert profiler.metrics is flat and not profiler.has_results()

    assert 0.02 <= so_far < flat.wall_time_s
    metrics = profiler.get_metrics()
    assert metrics.throughput == pytest.approx(10 / metrics.timing.wall_time_s)
    assert flat.throughput_samples_per_sec == metrics.throughput
    flat.throughput_samples_per_sec = 7
    assert profiler.metrics.throughput_samples_per_sec == 7


def test_steps_have_their_times_and_the_file_has_everything(tmp_path: Path) -> None:
    profiler = PerformanceProfiler(track_carbon=True)
    with profiler.profile("train"):
        results = [profiler.profile_step(lambda x: x * 2, 21) for _ in range(3)]
        with pytest.raises(ZeroDivisionError):
            profiler.profile_step(lambda: 1 // 0)
    path = tmp_path / "metrics.json"

    profiler.save_metrics(path)

    written = json.loads(path.read_text())
    assert results == [42] * 3
    assert len(written["timing"]["step_times_s"]) == len(written["memory"]["step_ram_mb"]) == 4
    assert written["operations"]["train"]["carbon"]["source"] in ("measured", "modelled")
    assert set(written) >= {"memory", "timing", "compute", "sustainability", "metadata"}


def test_a_profiled_block_is_a_span_of_a_recording() -> None:
    import tachograph

    profiler = PerformanceProfiler()
    with tachograph.record() as recording, profiler.profile("epoch"):
        spin(0.02)

    assert [span.name for span in recording.timeline()] == ["epoch"]


def test_lines_of_own_code_are_counted() -> None:
    profiler = PerformanceProfiler(enable_line_profiling=True)

    with profiler.profile("lines"):
        total = 0
        for number in range(1000):
            total += number

    lines = profiler.get_line_profile()
    assert total == 499500
    here = [line for line in lines if line.file == __file__]
    assert max(line.hits for line in here) >= 1000
    told = profiler.get_metrics().to_dict()["line_profile"]
    assert {"function", "file", "line_number", "hits", "time"} == set(told[0])


def test_a_block_may_be_named_by_the_word_of_ml_cookbook() -> None:
    profiler = PerformanceProfiler()

    with profiler.profile(description="load"):
        pass

    assert list(profiler.get_timing_breakdown()) == ["load"]
