"""Spans in a recording: nested by thread and by task, on every interpreter."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import tachograph
from tachograph import _native
from tachograph._native import span


def timed(name: str) -> Any:
    return functools.partial(_native.timed, name=name)


class Recorded:
    """Records a `with` block and answers by the paths of its spans."""

    def __enter__(self) -> Recorded:
        self._block = tachograph.record(interval_ms=10)
        self.recording = self._block.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._block.__exit__(*error)
        self.spans = list(self.recording.timeline())

    def paths(self) -> list[str]:
        return sorted(span.path for span in self.spans)


def test_spans_are_nested_as_they_were_entered() -> None:
    with Recorded() as recorded:
        with span("epoch", number=1):
            with span("load"):
                pass
            with span("step"), span("forward"):
                pass
        with span("save"):
            pass

    assert recorded.paths() == ["epoch", "epoch/load", "epoch/step", "epoch/step/forward", "save"]
    assert recorded.spans[0].attributes == {"number": 1}


def test_functions_are_spans_around_what_they_call() -> None:
    @timed("inner")
    def inner(n: int) -> None:
        with span("block"):
            if n:
                inner(n - 1)

    @timed("outer")
    def outer() -> None:
        inner(1)

    with Recorded() as recorded:
        outer()

    assert recorded.paths() == [
        "outer",
        "outer/inner",
        "outer/inner/block",
        "outer/inner/block/inner",
        "outer/inner/block/inner/block",
    ]


def test_a_failed_span_is_marked_and_the_next_one_is_outside() -> None:
    with Recorded() as recorded:
        with pytest.raises(ZeroDivisionError), span("fails"):
            _ = 1 / 0
        with span("after"):
            pass

    assert [(span.path, span.failed) for span in recorded.spans] == [
        ("fails", True),
        ("after", False),
    ]


def test_threads_are_nested_apart() -> None:
    barrier = threading.Barrier(4)

    def work(name: str) -> None:
        with span(name):
            barrier.wait(10)
            with span("inside"):
                barrier.wait(10)

    with Recorded() as recorded, span("main"):
        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    expected = ["main", *(f"t{n}" for n in range(4)), *(f"t{n}/inside" for n in range(4))]
    paths = recorded.paths()
    if getattr(sys.flags, "thread_inherit_context", False):
        # Where contexts are in use, such a thread begins inside of its maker's span.
        paths = sorted(path.removeprefix("main/") for path in paths)
    assert paths == sorted(expected)


def test_tasks_that_take_turns_are_nested_apart() -> None:
    async def work(name: str) -> None:
        with span(name):
            await asyncio.sleep(0.001)
            with span("inside"):
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.001)

    async def main() -> None:
        with span("all"):
            await asyncio.gather(*(work(f"w{n}") for n in range(5)))
        with span("end"):
            pass

    with Recorded() as recorded, span("program"):
        asyncio.run(main())

    expected = ["program", "program/all", "program/end"]
    expected += [f"program/all/w{n}" for n in range(5)]
    expected += [f"program/all/w{n}/inside" for n in range(5)]
    assert recorded.paths() == sorted(expected)


def test_spans_of_a_task_carry_its_name() -> None:
    async def work() -> None:
        with span("work"):
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(asyncio.create_task(work(), name=f"worker {n}") for n in range(3)))

    with Recorded() as recorded:
        asyncio.run(main())
        with span("outside"):
            pass

    tasks = {span.task for span in recorded.spans if span.name == "work"}
    assert tasks == {"worker 0", "worker 1", "worker 2"}
    assert [span.task for span in recorded.spans if span.name == "outside"] == [None]


def test_coroutines_are_spans_with_suspended_time() -> None:
    @timed("fetch")
    async def fetch(name: str) -> None:
        with span(name):
            await asyncio.sleep(0.02)

    @timed("main")
    async def main() -> None:
        await asyncio.gather(*(fetch(f"p{n}") for n in range(3)))

    with Recorded() as recorded:
        asyncio.run(main())

    expected = ["main", *["main/fetch"] * 3, *(f"main/fetch/p{n}" for n in range(3))]
    assert recorded.paths() == sorted(expected)
    for one in recorded.spans:
        if one.name == "fetch":
            assert one.duration_s is not None
            assert 0.015 <= one.suspended_s <= one.duration_s


def test_what_the_reader_of_a_generator_does_is_not_inside_it() -> None:
    @timed("rows")
    def rows() -> Iterator[int]:
        for number in range(3):
            with span("parse"):
                pass
            with span("held"):
                yield number

    with Recorded() as recorded:
        for _ in rows():
            with span("use"):
                pass
        with span("end"):
            pass

    expected = ["end", "rows", *["rows/held"] * 3, *["rows/parse"] * 3, *["use"] * 3]
    assert recorded.paths() == sorted(expected)


def test_the_same_holds_inside_a_task_and_for_asynchronous_generators() -> None:
    @timed("rows")
    def rows() -> Iterator[int]:
        with span("parse"):
            pass
        yield 1
        yield 2

    @timed("stream")
    async def stream() -> AsyncIterator[int]:
        with span("receive"):
            await asyncio.sleep(0)
        yield 1
        yield 2

    async def main() -> None:
        for _ in rows():
            with span("use"):
                pass
        async for _ in stream():
            with span("use"):
                await asyncio.sleep(0)

    with Recorded() as recorded:
        asyncio.run(main())

    expected = ["rows", "rows/parse", "stream", "stream/receive", *["use"] * 4]
    assert recorded.paths() == expected


def test_a_span_that_ends_out_of_turn_leaves_no_trace_in_later_ones() -> None:
    with Recorded() as recorded:
        first, second = span("first"), span("second")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
        with span("later"):
            pass

    assert recorded.paths() == ["first", "first/second", "later"]


def test_named_meters_and_points_are_metrics_of_the_recording() -> None:
    meter = _native.Meter("loss")
    with Recorded() as recorded:
        meter.add(0.5)
        meter.add(0.25)
        _native.point("rate", 3.0)
    meter.add(7.0)

    metrics = {row.name: (row.count, row.last) for row in recorded.recording.metrics()}
    assert metrics == {"loss": (2, 0.25), "rate": (1, 3.0)}


PROGRAM = """
import os, sys, threading
from tachograph import _native
from tachograph._native import span

_native.profiling(True, 1.0)
{body}
"""


def run(body: str) -> str:
    command = [sys.executable, "-X", "faulthandler", "-c", PROGRAM.format(body=body)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_program_may_end_with_open_spans_and_generators() -> None:
    body = """
def numbers():
    with span("g"):
        yield 1
kept = _native.timed(numbers, name="kept")()
next(kept)
open_block = span("open")
open_block.__enter__()
class Late:
    def __del__(self):
        with span("late"):
            pass
sys.late = Late()
thread = threading.Thread(target=lambda: span("thread").__enter__(), daemon=True)
thread.start()
print("end")
"""
    assert run(body) == "end"


def test_a_forked_child_measures_on_its_own() -> None:
    body = """
def parent_keys():
    return sorted(_native.meters())
with span("parent"):
    pid = os.fork()
    if pid == 0:
        with span("child"):
            pass
        ok = "child" in parent_keys()
        os._exit(0 if ok else 1)
    _, status = os.waitpid(pid, 0)
print(status, parent_keys())
"""
    assert run(body) == "0 ['parent']"


def test_spans_of_many_threads_are_safe_while_others_come_and_go() -> None:
    body = """
timed = _native.timed(lambda: None, name="call", meter=_native.Meter())
def work(n):
    for i in range(300):
        with span("shared") as s, span(f"own {n}", i=i):
            timed()
        assert s.name == "shared"
for _ in range(5):
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(_native.meters()["shared"].count)
"""
    assert run(body) == "12000"


def test_memory_does_not_grow_with_the_number_of_spans() -> None:
    body = """
import resource
def many(n):
    for i in range(n):
        with span("x", i=i) as s:
            pass
        with span("y" if i % 2 else "z"):
            pass
many(20000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
many(200000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4000)
"""
    assert run(body) == "True"
