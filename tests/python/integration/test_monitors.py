"""Windows on the process and the machine: threads, forks, tasks, leftovers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from pathlib import Path

import pytest
from tachograph import _native
from tachograph.measure import PerformanceProfiler

MB = 1 << 20


def spin(seconds: float) -> None:
    """Use `seconds` of this thread's CPU clock."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def kernel_threads() -> list[str]:
    """Return what the threads of this process are called."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        # A thread may end between being listed and being asked.
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text().strip())
    return names


def samplers() -> int:
    """Return how many samplers there are, once there is one: it gives itself its name."""
    deadline = time.monotonic() + 30
    while "tacho-monitor" not in kernel_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    return kernel_threads().count("tacho-monitor")


def test_many_windows_share_one_sampler_that_is_no_python_thread() -> None:
    before = threading.active_count()
    windows = [_native.MonitorWindow(series_interval=0.01) for _ in range(50)]

    assert samplers() == 1
    assert threading.active_count() == before
    for window in windows:
        window.close()


def test_the_sampler_ends_when_nobody_wants_it() -> None:
    _native.MonitorWindow(series_interval=0.01).close()
    deadline = time.monotonic() + 20

    while "tacho-monitor" in kernel_threads():
        assert time.monotonic() < deadline, "the sampler is still there"
        time.sleep(0.1)


def test_windows_of_several_threads_do_not_mix() -> None:
    profiler = PerformanceProfiler()
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(200):
                with profiler.profile(f"thread {number}"):
                    bytearray(1000)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not errors
    assert len(profiler.get_timing_breakdown()) == 8


def test_tasks_that_take_turns_each_have_their_own_time() -> None:
    profiler = PerformanceProfiler()
    inside: dict[str, float] = {}
    around: dict[str, float] = {}

    async def nap(name: str, seconds: float) -> None:
        before = time.perf_counter()
        with profiler.profile(name):
            begin = time.perf_counter()
            await asyncio.sleep(seconds)
            inside[name] = time.perf_counter() - begin
        around[name] = time.perf_counter() - before

    async def both() -> None:
        await asyncio.gather(nap("short", 0.02), nap("long", 0.1))

    asyncio.run(both())

    times = profiler.get_timing_breakdown()
    assert set(times) == {"short", "long"}
    for name, took in times.items():
        # Two clocks may differ by a tenth of a millisecond.
        assert inside[name] - 0.0001 <= took <= around[name] + 0.0001, name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_measures_itself() -> None:
    profiler = PerformanceProfiler(memory_interval=0.01)
    outer = _native.MonitorWindow(series_interval=0.01)
    time.sleep(0.03)
    sys.stdout.flush()

    child = os.fork()
    if child == 0:
        try:
            # The window of the parent can be closed, and one of its own works.
            assert outer.close().wall_s > 0
            with profiler.profile("child"):
                spin(0.05)
                bytearray(80 * MB)
                time.sleep(0.05)
            metrics = profiler.get_metrics("child")
            assert 0.05 <= metrics.timing.cpu_time_s < 5
            assert metrics.memory.peak_ram_mb >= metrics.memory.initial_ram_mb + 70
            assert samplers() == 1
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert outer.close().wall_s >= 0.1


def test_a_program_that_closes_descriptors_of_others_is_still_measured() -> None:
    _native.MonitorWindow().close()
    child = os.fork()
    if child == 0:
        _native.MonitorWindow(series_interval=0.01).close()
        os.closerange(3, 256)
        taken = [os.open("/dev/null", os.O_RDWR) for _ in range(40)]
        window = _native.MonitorWindow(io=True, series_interval=0.01)
        measured = window.close()
        whole = measured.rss_start > MB and measured.rss_end > MB
        # Nothing of ours closed a descriptor that is the program's by now.
        for descriptor in taken:
            os.fstat(descriptor)
        os._exit(0 if whole else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0


def test_closing_twice_gives_the_same() -> None:
    window = _native.MonitorWindow()
    first = window.close()
    time.sleep(0.01)

    assert window.close() is first
    assert window.read() is first


def test_windows_without_end_leave_nothing_behind() -> None:
    for _ in range(100):
        _native.MonitorWindow(series_interval=0.05).close()
    descriptors = _native.open_descriptors()
    before = _native.resident_bytes()

    for _ in range(20_000):
        _native.MonitorWindow(series_interval=0.05).close()
    for _ in range(1000):
        _native.MonitorWindow(series_interval=0.05)  # never closed by the program

    # A reading that is under way holds a descriptor for an instant.
    deadline = time.monotonic() + 30
    while _native.open_descriptors() != descriptors and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _native.open_descriptors() == descriptors
    assert _native.resident_bytes() < before + 8 * MB
