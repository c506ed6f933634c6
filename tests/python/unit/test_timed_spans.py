"""Whatever is timed is a span in a recording that is open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator

import pytest
import tachograph
from made_profiles import spin
from tachograph.decorators import TimingProfiler, quick_time, quick_time_async, time_it, timer


class Train:
    @time_it
    def step(self, ok: bool) -> None:
        with timer("forward", print_result=False):
            spin(0.02)
        if not ok:
            raise LookupError


@time_it
def epoch() -> None:
    Train().step(ok=True)


@time_it(return_result=True)
def handed_out() -> None:
    pass


@time_it
async def fetch() -> None:
    # The loop sleeps while it waits: a pause of the program before that changes nothing.
    asyncio.get_running_loop().call_soon(time.sleep, 0.02)
    await asyncio.sleep(0)


@time_it
def numbers() -> Generator[int, None, None]:
    yield 1
    time.sleep(0.01)
    yield 2


def test_timed_calls_and_blocks_are_spans_inside_each_other() -> None:
    with tachograph.record(interval_ms=1) as recording:
        epoch()

    assert [span.path for span in recording.timeline()] == [
        "epoch",
        "epoch/Train.step",
        "epoch/Train.step/forward",
    ]
    narrowed = recording.within("Train.step/forward").functions()
    assert "spin" in {row.function for row in narrowed}


def test_a_call_that_raises_is_a_failed_span() -> None:
    with tachograph.record() as recording, pytest.raises(LookupError):
        Train().step(ok=False)

    failed = {span.name: span.failed for span in recording.timeline()}
    assert failed == {"Train.step": True, "forward": False}


def test_a_call_whose_result_is_handed_out_is_one_span() -> None:
    with tachograph.record() as recording:
        handed_out()

    assert [span.name for span in recording.timeline()] == ["handed_out"]


def test_spans_of_coroutines_and_generators_know_how_long_they_waited() -> None:
    with tachograph.record() as recording:
        asyncio.run(fetch())
        for _ in numbers():
            time.sleep(0.01)

    suspended = {span.name: span.suspended_s for span in recording.timeline()}
    assert set(suspended) == {"fetch", "numbers"}
    assert suspended["fetch"] >= 0.02
    assert suspended["numbers"] >= 2 * 0.01


def test_operations_of_a_profiler_are_spans_with_their_facts() -> None:
    own = TimingProfiler()
    with tachograph.record() as recording:
        own.start("epoch", {"number": 3, "name": "first"})
        with own.measure("load"):
            pass
        own.stop("epoch")

    outer, inner = recording.timeline()
    assert (outer.name, outer.attributes) == ("epoch", {"number": 3, "name": "first"})
    assert inner.path == "epoch/load"


def test_quickly_timed_calls_are_spans_too() -> None:
    async def nap() -> None:
        await asyncio.sleep(0)

    with tachograph.record() as recording:
        quick_time(sorted, [2, 1])
        asyncio.run(quick_time_async(nap))

    names = [span.name for span in recording.timeline()]
    assert names == ["sorted", nap.__qualname__]


def test_the_clock_of_a_timer_does_not_change_its_span() -> None:
    with tachograph.record() as recording:
        before = time.thread_time()
        with timer("nap", mode="thread_time", print_result=False) as result:
            time.sleep(0.02)
        around = time.thread_time() - before

    (span,) = recording.timeline()
    assert span.end_s is not None
    assert span.end_s - span.start_s >= 0.02
    assert result.execution_time <= around
