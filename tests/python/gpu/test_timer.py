"""The timer on a device's own clock, against a stand-in driver that works on the real clock.

The stand-in's streams take exactly as long as they are told, so a time by its
events is right to a microsecond; what the program itself does between launches
comes on top.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

Program = Callable[..., str]

BEGIN = """
import time
from machine import cuda, launch
from tachograph.profiler import CUDATimer, Profiler, synchronize_and_time
cuda.stand_in_make_context(0)
"""


def test_work_that_goes_on_after_the_call_is_in_the_time(program: Program) -> None:
    program(
        BEGIN
        + """
timer = CUDATimer()
with timer.measure("kernel") as block:
    launch(30)
result = timer.get_result("kernel")
assert (result.clock, timer.clock) == ("cuda", "cuda")
# Both events are inside of the block, and the kernel is between them.
assert 30 <= result.cuda_time_ms <= result.wall_time_ms * 1.000001, result
assert block.elapsed_ms == result.cuda_time_ms == timer.get_elapsed("kernel")
assert result.wall_time_ms >= 30
assert timer.get_stats("kernel")["count"] == 1
assert abs(timer.get_stats("kernel")["mean"] - result.cuda_time_ms) < 1e-6
"""
    )


def test_work_that_was_launched_before_is_not_in_the_time(program: Program) -> None:
    program(
        BEGIN
        + """
timer = CUDATimer()
before = time.perf_counter()
launch(300)
with timer.measure("nothing"):
    pass
around_ms = (time.perf_counter() - before) * 1000
result = timer.get_result("nothing")
# What came before took 300 ms of the time around both.
assert result.cuda_time_ms <= result.wall_time_ms * 1.000001, result
assert result.wall_time_ms <= around_ms - 300, (result, around_ms)
"""
    )


def test_without_synchronize_a_block_never_waits(program: Program) -> None:
    program(
        BEGIN
        + """
timer = CUDATimer(synchronize=False)
before = time.perf_counter()
for _ in range(3):
    with timer.measure("kernel") as block:
        launch(100)
assert cuda.stand_in_waits() == 0
# Those of a kernel that ended meanwhile, on a machine that was held up, are given back.
assert 2 <= cuda.stand_in_live_events() <= 6
result = timer.get_result("kernel")
around_ms = (time.perf_counter() - before) * 1000
# The last one waited for the two before it, which is not its own time.
assert result.clock == "cuda" and 100 <= result.cuda_time_ms <= around_ms - 200, result
stats = timer.get_stats("kernel")
assert stats["count"] == 3 and stats["min"] >= 100
assert cuda.stand_in_live_events() == 0, "events must be given back"
"""
    )


def test_blocks_inside_of_each_other_share_the_devices_time(program: Program) -> None:
    program(
        BEGIN
        + """
for synchronize in (True, False):
    timer = CUDATimer(synchronize=synchronize)
    with timer.measure("outer"):
        with timer.measure("inner"):
            launch(20)
        launch(10)
    outer, inner = timer.get_stats("outer"), timer.get_stats("inner")
    assert 30 <= outer["total"] and 20 <= inner["total"]
    # Three numbers, each kept to a whole nanosecond.
    assert abs(outer["self"] - (outer["total"] - inner["total"])) < 2e-6
    assert inner["inside"] == "outer" and outer["inside"] is None
"""
    )


def test_start_and_stop_use_the_device_too(program: Program) -> None:
    program(
        BEGIN
        + """
timer = CUDATimer()
timer.start("kernel")
launch(15)
result = timer.stop("kernel")
assert result.clock == "cuda"
assert 15 <= result.cuda_time_ms <= result.wall_time_ms * 1.000001
assert timer.get_elapsed("kernel") == result.cuda_time_ms
timer.start("again")
timer.clear()
assert timer.results == {} and cuda.stand_in_live_events() <= 1
"""
    )


def test_calls_of_a_function_are_warmed_up_and_repeated(program: Program) -> None:
    program(
        BEGIN
        + """
calls = []
def work():
    calls.append(1)
    launch(5)
result = CUDATimer(warmup=2, repeat=4).time_iterations("work", work)
assert len(calls) == 6 and result.iterations == 4 and result.clock == "cuda"
assert result.cuda_time_per_iter_ms >= 5
assert synchronize_and_time(lambda: launch(10)) >= 10
"""
    )


def test_torchs_current_stream_is_timed(program: Program) -> None:
    program(
        """
import time
from machine import install_torch, launch
torch = install_torch()
from tachograph.profiler import CUDATimer
timer = CUDATimer(synchronize=False)
side = torch.cuda.Stream()
launch(600)                                   # on the default stream
before = time.perf_counter()
with torch.cuda.stream(side):
    with timer.measure("side"):
        launch(10, side.cuda_stream)
        launched_ms = (time.perf_counter() - before) * 1000
# It ends 10 ms after a launch that nothing came before on its stream.
assert 10 <= timer.get_elapsed("side") <= launched_ms + 10.001, timer.get_result("side")
"""
    )


def test_a_thread_without_a_context_uses_the_programs_primary_one(program: Program) -> None:
    program(
        BEGIN
        + """
import threading
timer = CUDATimer()
def work():
    with timer.measure("elsewhere"):
        launch(10)
thread = threading.Thread(target=work)
thread.start()
thread.join()
result = timer.get_result("elsewhere")
assert result.clock == "cuda" and result.cuda_time_ms >= 10
assert cuda.stand_in_contexts() == 0
"""
    )


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        ("cuda.stand_in_leave_context(); cuda.stand_in_break(b'cuDeviceGet=3')", "no context"),
        ("cuda.stand_in_capture(None, 1)", "a graph is captured"),
        ("cuda.stand_in_break(b'cuEventCreate=2')", "out of memory"),
        ("cuda.stand_in_break(b'cuEventRecord=700')", "a kernel crashed"),
        ("cuda.stand_in_break(b'cuEventElapsedTime=400')", "an event was lost"),
        ("cuda.stand_in_break(b'cuCtxGetCurrent=4')", "the driver is shutting down"),
        ("timer.enabled = False", "switched off"),
    ],
)
def test_without_events_the_wall_clock_serves(program: Program, prepare: str, why: str) -> None:
    program(
        BEGIN
        + f"""
timer = CUDATimer()
{prepare}
with timer.measure("host"):
    time.sleep(0.01)
timer.start("loose")
loose = timer.stop("loose")
result = timer.get_result("host")
assert result.clock == loose.clock == "cpu", {why!r}
assert result.cuda_time_ms == result.wall_time_ms >= 10
"""
    )


def test_a_context_that_appears_inside_of_the_block_is_waited_for(program: Program) -> None:
    program(
        BEGIN.replace("cuda.stand_in_make_context(0)", "")
        + """
timer = CUDATimer()
assert timer.clock == "cpu"
with timer.measure("first use"):
    cuda.stand_in_make_context(0)
    launch(25)
result = timer.get_result("first use")
assert result.clock == "cpu" and result.wall_time_ms >= 25
assert timer.clock == "cuda"
"""
    )


def test_an_exception_ends_the_block_and_its_time_counts(program: Program) -> None:
    program(
        BEGIN
        + """
timer = CUDATimer()
try:
    with timer.measure("fails"):
        launch(5)
        raise KeyError("mine")
except KeyError:
    pass
assert timer.get_elapsed("fails") >= 5
"""
    )


def test_device_time_is_a_span_on_the_streams_track(program: Program) -> None:
    program(
        BEGIN
        + """
import tachograph
timer = CUDATimer()
with tachograph.record(interval_ms=50) as recording:
    with timer.measure("kernel"):
        time.sleep(0.02)
        launch(30)
rows = {row.name: row for row in recording.timeline()}
assert set(rows) == {"kernel", "kernel (GPU)"}, rows
host, device = rows["kernel"], rows["kernel (GPU)"]
assert device.thread == "default stream", device
took = device.end_s - device.start_s
assert abs(took - timer.get_elapsed("kernel") / 1e3) < 2e-6, (host, device)
# Both events are inside of the block; a millisecond is far more than the anchor is wrong by.
assert host.start_s - 0.001 < device.start_s <= device.end_s < host.end_s + 0.001, (host, device)
"""
    )


def test_the_profiler_of_iterations_tells_device_time(program: Program) -> None:
    program(
        BEGIN
        + """
profiler = Profiler(warmup_iterations=0)
profiler.start_iteration(0, batch_size=8)
with profiler.profile("forward") as block:
    launch(12)
metrics = profiler.end_iteration()
assert block.timing.clock == "cuda" and block.timing.cuda_time_ms >= 12
assert metrics.forward_time_ms == block.timing.cuda_time_ms
"""
    )


def test_a_forked_child_leaves_its_parents_events_alone(program: Program) -> None:
    program(
        BEGIN
        + """
import os
timer = CUDATimer(synchronize=False)
with timer.measure("kernel"):
    launch(5)
child = os.fork()
if child == 0:
    os._exit(0 if timer.get_result("kernel").clock == "cpu" else 1)
assert os.waitpid(child, 0)[1] == 0
assert timer.get_result("kernel").clock == "cuda"
"""
    )
