"""`timer`, `TimingProfiler` and `quick_time`: stretches of time that are no decorated function."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterator

import pytest
from tachograph.decorators import (
    TimingProfiler,
    clear_timing_stats,
    get_timing_stats,
    profiler,
    quick_time,
    quick_time_async,
    timer,
)


@pytest.fixture(autouse=True)
def no_measurements() -> Iterator[None]:
    clear_timing_stats()
    yield
    clear_timing_stats()
    profiler.reset()


def test_a_timer_gives_a_result_that_is_filled_in_at_the_end() -> None:
    before = time.perf_counter()
    with timer("load", print_result=False) as result:
        assert result.execution_time == 0.0
        time.sleep(0.02)
    around = time.perf_counter() - before

    assert 0.02 <= result.execution_time <= around
    assert (result.function_name, result.timing_mode) == ("load", "wall_clock")
    assert result.metadata == {"success": True, "error": None}
    assert get_timing_stats("load").call_count == 1


def test_a_timer_measures_a_block_that_raises() -> None:
    with pytest.raises(LookupError), timer("load", print_result=False) as result:
        raise LookupError("mine")

    assert result.execution_time > 0
    assert result.metadata == {"success": False, "error": "mine"}
    assert get_timing_stats("load").call_count == 1


def test_an_exception_that_cannot_say_what_it_is_does_no_harm() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    with pytest.raises(Mute), timer("load", print_result=False) as result:
        raise Mute

    assert result.metadata["error"] == "<unprintable Mute>"


def test_a_timer_prints_unless_told_not_to(capsys: pytest.CaptureFixture[str]) -> None:
    with timer():
        pass
    with timer("quiet", print_result=False):
        pass
    with timer("rough", mode="process_time", precision=1):
        pass

    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"code_block executed in \d+\.\d{6}s \(wall_clock\)", first)
    assert re.fullmatch(r"rough executed in \d+\.\ds \(process_time\)", second)


def test_a_timer_on_a_cpu_clock_does_not_count_sleep() -> None:
    before = time.thread_time()
    with timer("nap", mode="thread_time", print_result=False) as result:
        time.sleep(0.05)
    around = time.thread_time() - before

    # The same clock around the block hardly moves, and the timer has no more than it.
    assert 0 <= result.execution_time <= around


def test_a_timer_refuses_what_it_cannot_use_before_the_block_begins() -> None:
    with pytest.raises(ValueError, match="'sundial'"):
        timer("load", mode="sundial")
    with pytest.raises(ValueError, match="precision"):
        timer("load", precision=-3)
    with pytest.raises(TypeError, match="needs a name, not <function"):
        timer(lambda: None)  # type: ignore[arg-type]


def test_a_timer_without_statistics_keeps_none() -> None:
    with timer("load", collect_stats=False, print_result=False) as result:
        pass

    assert result.metadata["success"]
    assert get_timing_stats("load") is None


def test_a_timer_serves_again_but_not_inside_itself() -> None:
    again = timer("load", print_result=False)

    with again as first, pytest.raises(RuntimeError, match="'load' is running"), again:
        pass
    with again as second:
        pass

    assert first is not second
    assert get_timing_stats("load").call_count == 2


def test_a_timer_decorates_a_function_too() -> None:
    @timer("loading", print_result=False)
    def load(n: int) -> int:
        return n + 1

    assert load(1) == 2
    assert get_timing_stats("loading").call_count == 1


def test_timers_nest() -> None:
    inner_timer = timer("inner", print_result=False)
    with timer("outer", print_result=False) as outer, inner_timer as inner:
        time.sleep(0.01)

    assert outer.execution_time >= inner.execution_time >= 0.01


def test_a_profiler_times_operations_inside_operations() -> None:
    own = TimingProfiler()

    own.start("epoch", {"number": 3})
    own.start("load")
    time.sleep(0.01)
    load = own.stop("load")
    epoch = own.stop()

    assert load is not None
    assert epoch is not None
    assert epoch.execution_time >= load.execution_time >= 0.01
    assert epoch.metadata == {"number": 3}
    assert own.get_results() == [load, epoch]
    assert get_timing_stats("epoch").call_count == 1


def test_stopping_the_wrong_operation_names_both_and_changes_nothing() -> None:
    own = TimingProfiler()
    own.start("outer")
    own.start("inner")

    with pytest.raises(ValueError, match=r"'outer'.*'inner'"):
        own.stop("outer")
    with pytest.raises(ValueError, match=r"'other': it is not open.*'inner'"):
        own.stop("other")

    assert own.stop("inner") is not None
    assert own.stop("outer") is not None
    assert own.stop("outer") is None


def test_a_measured_block_is_an_operation_also_when_it_raises() -> None:
    own = TimingProfiler("perf_counter")

    with own.measure("fine", {"rows": 2}) as fine:
        pass
    with pytest.raises(LookupError), own.measure("failed"):
        raise LookupError("mine")

    assert fine.execution_time > 0
    assert fine.metadata == {"rows": 2, "success": True, "error": None}
    assert fine.timing_mode == "perf_counter"
    failed = own.get_results()[1]
    assert failed.metadata == {"success": False, "error": "mine"}


def test_a_measured_block_closes_what_was_left_open_inside_it() -> None:
    own = TimingProfiler()

    with own.measure("outer"):
        own.start("forgotten")

    assert own.stop() is None
    assert [result.function_name for result in own.get_results()] == ["outer"]


def test_a_disabled_profiler_measures_nothing_and_keeps_pairs_together() -> None:
    own = TimingProfiler()
    own.start("before")
    own.disable()
    own.start("ignored")
    with own.measure("ignored too") as ignored:
        pass

    assert own.stop("ignored") is None
    assert own.stop("before") is not None
    own.start("begun while disabled")
    own.enable()
    assert own.stop("begun while disabled") is None
    assert ignored.execution_time == 0.0
    assert [result.function_name for result in own.get_results()] == ["before"]


def test_reset_forgets_results_and_open_operations() -> None:
    own = TimingProfiler()
    own.start("done")
    own.stop()
    own.start("open")

    with own.measure("around"):
        own.reset()

    assert own.get_results() == []
    assert own.stop() is None


def test_only_the_latest_results_are_kept() -> None:
    own = TimingProfiler(max_results=2)
    for name in "abc":
        with own.measure(name):
            pass

    assert [result.function_name for result in own.get_results()] == ["b", "c"]
    assert len(get_timing_stats()) == 3
    with pytest.raises(ValueError, match="-1"):
        TimingProfiler(max_results=-1)


def test_threads_do_not_stop_each_others_operations() -> None:
    own = TimingProfiler()
    barrier = threading.Barrier(4)
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for _ in range(50):
                barrier.wait()
                own.start(name)
                barrier.wait()
                assert own.stop(name) is not None
        except BaseException as error:
            failures.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(f"worker {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert len(own.get_results()) == 200


def test_tasks_do_not_stop_each_others_operations() -> None:
    own = TimingProfiler()

    async def work(name: str) -> float:
        own.start(name)
        await asyncio.sleep(0.01)
        result = own.stop(name)
        assert result is not None
        return result.execution_time

    async def run() -> list[float]:
        own.start("all")
        times = await asyncio.gather(*(work(f"task {n}") for n in range(5)))
        assert own.stop("all") is not None
        return times

    assert min(asyncio.run(run())) >= 0.01
    assert len(own.get_results()) == 6


def test_there_is_a_profiler_for_the_whole_program() -> None:
    with profiler.measure("anything"):
        pass

    assert [result.function_name for result in profiler.get_results()] == ["anything"]


def test_a_profiler_refuses_an_unknown_mode() -> None:
    with pytest.raises(ValueError, match="'sundial'"):
        TimingProfiler("sundial")


def test_one_call_is_timed_quickly() -> None:
    def nap(seconds: float, *, value: int) -> int:
        time.sleep(seconds)
        return value

    value, seconds = quick_time(nap, 0.01, value=3)

    assert value == 3
    assert seconds >= 0.01
    assert get_timing_stats() == {}


def test_one_coroutine_is_timed_quickly() -> None:
    async def nap(seconds: float, *, func: int) -> int:
        await asyncio.sleep(seconds)
        return func

    value, seconds = asyncio.run(quick_time_async(nap, 0.01, func=3))

    assert value == 3
    assert seconds >= 0.01


def test_quick_time_says_which_of_its_two_forms_is_right() -> None:
    async def nap() -> None:
        pass

    with pytest.raises(TypeError, match=r"await quick_time_async\(.*nap"):
        quick_time(nap)
    with pytest.raises(TypeError, match="len returns cannot be awaited; use quick_time"):
        asyncio.run(quick_time_async(len, []))  # type: ignore[arg-type]
