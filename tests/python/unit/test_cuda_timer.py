"""The timer of named pieces of work, on the wall clock, and the profiler over it."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import pytest
import tachograph
from tachograph.profiler import CUDATimer, Profiler, Reporter, get_logger, synchronize_and_time


def test_a_block_is_timed_in_milliseconds() -> None:
    timer = CUDATimer()
    with timer.measure("sleep"):
        time.sleep(0.02)

    assert timer.get_elapsed("sleep") >= 20


def test_results_say_which_clock_they_are_from() -> None:
    timer = CUDATimer()
    timer.start("op")

    result = timer.stop("op")

    assert (result.clock, timer.clock) == ("cpu", "cpu")
    assert result.cuda_time_ms == result.wall_time_ms
    assert (result.name, result.iterations) == ("op", 1)


def test_blocks_can_be_inside_of_each_other() -> None:
    timer = CUDATimer()
    with timer.measure("whole"):
        with timer.measure("part"):
            time.sleep(0.01)
        with timer.measure("part"):
            time.sleep(0.02)

    assert timer.get_elapsed("whole") >= 30
    assert 20 <= timer.get_elapsed("part") < timer.get_elapsed("whole")
    assert timer.get_stats("part")["count"] == 2
    assert timer.get_stats("part")["inside"] == "whole"


def test_started_timers_may_overlap() -> None:
    timer = CUDATimer()
    begin = time.perf_counter()
    timer.start("a")
    timer.start("b")
    time.sleep(0.005)
    a = timer.stop("a")
    first_ms = (time.perf_counter() - begin) * 1000
    time.sleep(0.005)
    b = timer.stop("b")

    assert 5 <= a.wall_time_ms <= first_ms
    assert b.wall_time_ms >= 10
    with timer.measure("after"):
        pass
    assert timer.get_stats("after")["inside"] is None


def test_starting_again_begins_anew() -> None:
    timer = CUDATimer()
    begin = time.perf_counter()
    timer.start("op")
    time.sleep(0.05)
    timer.start("op")

    took_ms = timer.stop("op").wall_time_ms

    assert took_ms <= (time.perf_counter() - begin) * 1000 - 50
    assert timer.get_stats("op")["count"] == 1
    with pytest.raises(ValueError, match="Timer 'op' was not started"):
        timer.stop("op")


def test_what_was_not_started_or_measured_is_named() -> None:
    timer = CUDATimer()
    with pytest.raises(ValueError, match="Timer 'x' was not started"):
        timer.stop("x")
    with pytest.raises(ValueError, match="Timer 'x' was not measured; measured so far: nothing"):
        timer.get_elapsed("x")
    with timer.time("forward"):
        pass
    with pytest.raises(ValueError, match="measured so far: 'forward'"):
        timer.get_stats("x")
    assert timer.get_result("x") is None


def test_the_older_names_stand_beside_the_new_ones() -> None:
    timer = CUDATimer(device=1, enabled=False)
    assert (timer.device, timer.enabled) == (1, False)
    with timer.time("op1"):
        pass
    timer.start("op2")
    timer.stop("op2")

    assert list(timer.results) == ["op1", "op2"]
    result = timer.get_result("op1")
    assert result is not None
    assert 0 < result.cuda_time_ms == result.wall_time_ms
    assert "op2" in timer.summary()
    timer.clear()
    assert timer.results == {}
    assert timer.summary() == "No timing results recorded."


def test_a_function_is_called_as_often_as_the_options_say() -> None:
    timer = CUDATimer(warmup=2, repeat=5)
    calls = []

    result = timer.time_iterations("op", lambda: calls.append(1))

    assert len(calls) == 7
    assert (result.iterations, timer.get_stats("op")["count"]) == (5, 5)
    assert result.wall_time_per_iter_ms == pytest.approx(result.wall_time_ms / 5)
    assert timer.get_result("op") == result
    assert timer.get_elapsed("op") == result.cuda_time_per_iter_ms


def test_a_call_can_ask_for_other_counts() -> None:
    timer = CUDATimer()
    calls = []

    result = timer.time_iterations("op", lambda: calls.append(1), iterations=4, warmup=1)

    assert (len(calls), result.iterations) == (5, 4)


def test_a_later_block_is_the_latest_result() -> None:
    timer = CUDATimer()
    timer.time_iterations("op", lambda: None, iterations=3)
    with timer.measure("op"):
        time.sleep(0.01)

    assert timer.get_elapsed("op") >= 10


def test_a_function_that_fails_passes_its_error_on() -> None:
    timer = CUDATimer(warmup=0)

    def fail() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        timer.time_iterations("op", fail)


def test_counts_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="warmup must be >= 0, not -1"):
        CUDATimer(warmup=-1)
    with pytest.raises(ValueError, match="repeat must be >= 1, not 0"):
        CUDATimer(repeat=0)
    with pytest.raises(ValueError, match="iterations must be >= 1, not 0"):
        CUDATimer().time_iterations("op", lambda: None, iterations=0)


def test_threads_keep_their_timers_apart() -> None:
    timer = CUDATimer()
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        for _ in range(50):
            timer.start("op")
            timer.stop("op")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert timer.get_stats("op")["count"] == 200


def test_another_thread_may_stop_a_timer() -> None:
    timer = CUDATimer()
    timer.start("op")
    thread = threading.Thread(target=timer.stop, args=("op",))
    thread.start()
    thread.join()

    assert timer.get_elapsed("op") > 0


def test_measurements_are_spans_of_a_recording(tmp_path: Path) -> None:
    timer = CUDATimer()
    with tachograph.record(tmp_path / "run.tacho") as recording:
        with timer.measure("forward"):
            time.sleep(0.002)
        timer.start("backward")
        timer.stop("backward")

    phases = tachograph.profiler.compare_runs(recording, recording)["phases"]
    assert {"forward", "backward"} <= set(phases)


def test_one_call_is_timed() -> None:
    assert synchronize_and_time(lambda: time.sleep(0.01)) >= 10


def test_a_profiled_block_has_its_timing_and_its_memory() -> None:
    profiler = Profiler()
    with profiler.profile("op") as result:
        assert result.timing is None
        result.custom_metrics["rows"] = 3
        time.sleep(0.01)

    assert result.timing is not None
    assert result.timing.wall_time_ms >= 10
    assert result.memory is not None and result.memory.peak_mb > 1
    assert result.custom_metrics == {"rows": 3}
    assert profiler.get_result("op") is result
    profiler.clear()
    assert profiler.get_result("op") is None


def test_iterations_are_aggregated_without_their_warmup() -> None:
    profiler = Profiler(warmup_iterations=2)
    for step in range(5):
        profiler.start_iteration(step, batch_size=32)
        for _ in range(2):
            with profiler.profile("forward"):
                time.sleep(0.002)
        with profiler.profile("backward"):
            time.sleep(0.002)
        one = profiler.end_iteration(loss=0.5)
        assert one is not None
        assert 4 <= one.forward_time_ms < one.total_time_ms
        assert one.loss == 0.5
        # Without a device it is the memory of this process, interpreter and all.
        assert one.memory_peak_mb >= one.memory_allocated_mb > 1

    together = profiler.get_aggregated_metrics()
    assert together is not None and together.count == 3
    assert profiler.end_iteration() is None
    assert "backward" in profiler.summary()
    text = profiler.compare_with_baseline(together.mean_time_ms * 2, name="new")
    assert "speedup 2.00x (+100.0 %)" in text and "new" in text


def test_blocks_of_an_iteration_are_inside_of_it() -> None:
    profiler = Profiler(warmup_iterations=0)
    profiler.start_iteration(0, batch_size=32)  # never ended: does not count
    with tachograph.record() as recording:
        for step in range(3):
            profiler.start_iteration(step, batch_size=32)
            with profiler.profile("load"):
                time.sleep(0.001)
            profiler.end_iteration(loss=0.5)

    report = Reporter(profiler)._report()
    assert report["timing"]["load"]["inside"] == "iteration"
    assert report["timing"]["iteration"]["count"] == report["timing"]["load"]["count"] == 3
    iteration, load = report["timing"]["iteration"], report["timing"]["load"]
    assert iteration["self"] == pytest.approx(iteration["total"] - load["total"], abs=1e-6)
    assert report["metrics"]["loss"]["count"] == 3
    assert "samples/s" in profiler.summary()
    assert [row.path for row in recording.spans()] == ["iteration", "iteration/load"]


def test_a_profiler_that_is_not_enabled_measures_no_blocks() -> None:
    profiler = Profiler(enabled=False)
    with profiler.profile("op") as result:
        pass

    assert result.timing is None and profiler.get_result("op") is None
    assert profiler.compare_with_baseline(10.0) == "No metrics collected for comparison."


def test_an_error_in_a_profiled_block_is_passed_on() -> None:
    profiler = Profiler()
    with pytest.raises(KeyError), profiler.profile("op"):
        raise KeyError("x")

    result = profiler.get_result("op")
    assert result is not None and result.timing is not None


def test_functions_are_timed_by_the_profiler_too() -> None:
    result = Profiler().time_function("op", lambda: None, iterations=3, warmup=1)
    assert result.iterations == 3


def test_a_logger_gets_one_handler_only() -> None:
    first, again = get_logger("tachograph.tests.log"), get_logger("tachograph.tests.log")
    assert first is again and len(first.handlers) == 1 and first.level == logging.INFO
