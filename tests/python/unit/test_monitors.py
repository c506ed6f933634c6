"""What monitors of memory, time and machine measure, against known answers."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tachograph.decorators import (
    CombinedResult,
    MemoryResult,
    debug_monitor,
    get_memory_stats,
    get_timing_stats,
    memory_profile,
    performance_monitor,
    performance_monitor_async,
    system_monitor,
)
from watched import MB, UNCERTAIN, burn, doze, hold
from watched import nothing_counted as nothing_counted


def test_a_spike_shorter_than_the_sampling_interval_is_seen() -> None:
    @performance_monitor(system_sample_interval=60.0, return_results=True)
    def spike() -> None:
        hold(200 * MB)

    _, seen = spike()

    memory = seen.memory_result
    assert memory.metadata["peak_is_exact"]
    assert memory.peak_memory >= memory.start_memory.rss + 200 * MB - UNCERTAIN
    assert memory.peak_memory == memory.peak_snapshot.rss
    assert abs(memory.memory_diff) < 20 * MB
    assert seen.monitoring_result.peak_memory == pytest.approx(memory.peak_snapshot.percent)


def test_the_peak_of_one_call_is_not_that_of_the_next() -> None:
    @memory_profile(return_result=True)
    def take(size: int) -> None:
        hold(size)

    _, large = take(150 * MB)
    _, small = take(10 * MB)

    assert large.peak_memory - small.peak_memory > 120 * MB
    stats = get_memory_stats("take")
    assert stats is not None and stats.call_count == 2
    assert (stats.max_peak_memory, stats.min_peak_memory) == (large.peak_memory, small.peak_memory)
    assert stats.avg_peak_memory == (large.peak_memory + small.peak_memory) / 2


def test_an_outer_monitor_has_at_least_the_peak_of_an_inner_one() -> None:
    @memory_profile(return_result=True)
    def inner() -> None:
        hold(100 * MB)

    @memory_profile(return_result=True)
    def outer() -> MemoryResult:
        result = inner()[1]
        assert isinstance(result, MemoryResult)
        inner_again = inner()[1]
        assert isinstance(inner_again, MemoryResult)
        return result

    first, whole = outer()

    assert whole.peak_memory >= first.peak_memory


def test_memory_that_stays_is_the_difference() -> None:
    kept: list[bytearray] = []

    @memory_profile(return_result=True)
    def keep() -> None:
        kept.append(bytearray(os.urandom(1)) * (80 * MB))

    _, memory = keep()

    assert memory.memory_diff == pytest.approx(80 * MB, abs=5 * MB)
    assert memory.end_memory.rss - memory.start_memory.rss == memory.memory_diff
    assert get_memory_stats(keep).total_memory_leaked == memory.memory_diff  # type: ignore[union-attr]


def test_time_is_that_of_the_clock_asked_for() -> None:
    @performance_monitor(return_results=True, timing_mode="process_time")
    def sleep_and_work() -> None:
        time.sleep(0.2)
        burn(0.1)

    before = time.process_time()
    _, seen = sleep_and_work()
    around = time.process_time() - before

    # What the same clock says around the call is without the sleep too.
    assert 0.1 <= seen.timing_result.execution_time <= around
    assert seen.total_duration >= 0.3
    assert seen.timing_result.timing_mode == "process_time"
    stats = get_timing_stats("sleep_and_work")
    assert stats is not None
    assert stats.total_time == pytest.approx(seen.timing_result.execution_time)


def test_the_first_cpu_percentage_is_already_right() -> None:
    @system_monitor(return_result=True)
    def half() -> tuple[float, float]:
        began, used = time.perf_counter(), time.process_time()
        time.sleep(0.2)
        burn(0.2)
        return time.process_time() - used, time.perf_counter() - began

    began, used = time.perf_counter(), time.process_time()
    (least_cpu, least), seen = half()
    most_cpu, most = time.process_time() - used, time.perf_counter() - began

    # The clocks inside of the call have less than the monitor, those around it more.
    assert 100 * least_cpu / most <= seen.cpu_usage_end <= 100 * most_cpu / least
    assert seen.peak_cpu >= seen.cpu_usage_end
    assert seen.cpu_usage_start > 0
    assert seen.start_snapshot.num_threads >= 1 and seen.end_snapshot.memory_rss > MB


def test_cpu_of_all_threads_counts() -> None:
    def work() -> None:
        for _ in range(4):
            zlib.crc32(bytes(40 * MB))  # without the interpreter lock

    @system_monitor(return_result=True)
    def both() -> float:
        began = time.process_time()
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.process_time() - began

    began = time.perf_counter()
    used, seen = both()
    around = time.perf_counter() - began

    assert seen.cpu_usage_end >= 100 * used / around


def test_a_long_call_has_samples_in_between() -> None:
    @system_monitor(sample_interval=0.02, return_result=True)
    def work() -> None:
        burn(0.1)
        doze(0.6)

    _, seen = work()

    assert len(seen.cpu_samples) >= 5
    assert len(seen.memory_samples) >= 5
    assert max(seen.cpu_samples) <= seen.peak_cpu
    assert min(seen.cpu_samples) < 50, seen.cpu_samples  # it slept
    assert all(0 < share < 100 for share in seen.memory_samples)


def test_written_bytes_are_those_of_the_call(tmp_path: Path) -> None:
    size = 4 * 1024 * 1024

    @system_monitor(return_result=True)
    def write() -> None:
        with open(tmp_path / "file", "wb") as file:
            file.write(b"x" * size)
            file.flush()
            os.fsync(file.fileno())

    (tmp_path / "before").write_bytes(b"y" * size)
    _, seen = write()

    # Starting the kernel's mark anew is a write of one byte.
    assert size <= seen.metadata["bytes_written"] <= size + 16
    # A file system in memory has no disk behind it.
    assert seen.total_disk_write == 0 or seen.total_disk_write >= size
    grown = seen.end_snapshot.disk_write_bytes - seen.start_snapshot.disk_write_bytes
    assert grown == seen.total_disk_write


def test_debug_monitor_returns_everything_with_traces() -> None:
    kept = []

    @debug_monitor(print_results=False)
    def keep() -> int:
        kept.append(bytearray(20 * MB))
        return 1

    value, seen = keep()

    assert value == 1 and isinstance(seen, CombinedResult)
    assert seen.memory_result is not None and seen.monitoring_result is not None
    assert seen.memory_result.tracemalloc_current is not None
    assert seen.memory_result.tracemalloc_current == pytest.approx(20 * MB, rel=0.2)
    assert seen.monitoring_result.metadata["sample_interval"] == 0.05


def test_every_kind_of_function_is_watched_to_its_end() -> None:
    monitor = performance_monitor(return_results=True, enable_system=False)

    async def coroutine() -> int:
        await asyncio.sleep(0.05)
        return 1

    def generator() -> Iterator[int]:
        yield 1
        time.sleep(0.05)
        hold(60 * MB)
        yield 2

    async def async_generator() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(0.05)
        yield 2

    value, seen = asyncio.run(monitor(coroutine)())
    assert value == 1 and seen.timing_result.execution_time >= 0.05
    assert seen.metadata["async"] is True

    numbers, seen = monitor(generator)()
    assert (seen.total_duration, seen.memory_result) == (0.0, None)
    assert list(numbers) == [1, 2]
    assert seen.timing_result.execution_time >= 0.05
    assert seen.memory_result.peak_memory >= seen.memory_result.start_memory.rss + 59 * MB

    async def collect() -> Any:
        numbers, seen = monitor(async_generator)()
        return [number async for number in numbers], seen

    collected, seen = asyncio.run(collect())
    assert collected == [1, 2] and seen.timing_result.execution_time >= 0.05


def test_tasks_that_take_turns_have_their_own_results() -> None:
    @performance_monitor_async(return_results=True)
    async def nap(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def timed(seconds: float) -> Any:
        began = time.perf_counter()
        _, seen = await nap(seconds)
        return seen.total_duration, time.perf_counter() - began

    async def both() -> Any:
        return await asyncio.gather(timed(0.02), timed(0.15))

    (short, around_short), (long, around_long) = asyncio.run(both())

    assert 0.02 <= short <= around_short
    assert 0.15 <= long <= around_long


def test_recursion_gives_every_call_its_own_result() -> None:
    @performance_monitor(return_results=True, enable_system=False)
    def down(depth: int) -> list[float]:
        time.sleep(0.005)
        if depth == 0:
            return []
        below, seen = down(depth - 1)
        return [seen.total_duration, *below]

    inner, outer = down(3)

    assert len(inner) == 3
    assert outer.total_duration > inner[0] > inner[1] > inner[2] > 0


def test_collections_of_garbage_are_counted() -> None:
    @memory_profile(return_result=True)
    def collect() -> None:
        for _ in range(3):
            gc.collect()

    _, memory = collect()

    assert memory.gc_collections[2] == 3


def test_statistics_of_many_calls_in_many_threads_are_whole() -> None:
    @memory_profile
    def one() -> None: ...

    threads = [threading.Thread(target=lambda: [one() for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    stats = get_memory_stats("one")
    assert stats is not None and stats.call_count == 2000
    assert stats.min_peak_memory <= stats.avg_peak_memory <= stats.max_peak_memory
