"""Phases: how they nest, and which one holds a run up."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tachograph.profiler import MetricsCollector

# A program's shape: each block is a name and the blocks inside of it.
Shape = list[tuple[str, "Shape"]]
SHAPES: some.SearchStrategy[Shape] = some.recursive(
    some.just([]),
    lambda inner: some.lists(some.tuples(some.sampled_from("abcd"), inner), max_size=4),
    max_leaves=20,
)


@settings(deadline=None, max_examples=60)
@given(SHAPES)
def test_own_times_add_up_to_the_outermost_phases(shape: Shape) -> None:
    collector = MetricsCollector()

    def run(blocks: Shape) -> int:
        took_ns = 0
        for name, inner in blocks:
            with collector.measure_time(name) as block:
                run(inner)
            took_ns += block.elapsed_ns
        return took_ns

    outermost_ns = run(shape)

    timing = collector.generate_report()["timing"]
    own_ms = sum(phase["self"] for phase in timing.values())
    assert own_ms == pytest.approx(outermost_ns / 1e6, abs=1e-6)
    assert all(phase["self"] <= phase["total"] + 1e-9 for phase in timing.values())


def test_an_exception_goes_through_and_its_phase_counts() -> None:
    collector = MetricsCollector()
    with pytest.raises(KeyError), collector.measure_time("forward"):
        raise KeyError("x")
    with collector.measure_time("after"):
        pass

    timing = collector.generate_report()["timing"]

    assert timing["forward"]["count"] == 1
    assert timing["after"]["inside"] is None


def test_a_phase_inside_another_is_known_as_such() -> None:
    collector = MetricsCollector()
    with collector.measure_time("iteration"):
        time.sleep(0.01)
        with collector.measure_time("forward"):
            time.sleep(0.02)

    timing = collector.generate_report()["timing"]

    assert timing["forward"]["inside"] == "iteration"
    assert timing["iteration"]["inside"] is None
    iteration, forward = timing["iteration"], timing["forward"]
    assert iteration["self"] == pytest.approx(iteration["total"] - forward["total"], abs=1e-6)
    assert forward["self"] == forward["total"]


def test_a_phase_inside_itself_counts_its_own_time_once() -> None:
    collector = MetricsCollector()
    took_ms: list[float] = []

    def walk(depth: int) -> None:
        with collector.measure_time("walk") as block:
            time.sleep(0.002)
            if depth:
                walk(depth - 1)
        took_ms.append(block.elapsed_ms)

    with collector.measure_time("whole"):
        walk(3)

    timing = collector.generate_report()["timing"]
    assert timing["walk"]["count"] == 4
    assert timing["walk"]["inside"] == "whole"
    assert timing["walk"]["total"] == pytest.approx(sum(took_ms))
    # The outermost of them has the others in it, and is the last to end.
    assert timing["walk"]["self"] == pytest.approx(took_ms[-1])
    assert timing["whole"]["total"] > took_ms[-1]


def test_collectors_do_not_nest_in_each_other() -> None:
    outer, inner = MetricsCollector(), MetricsCollector()
    with outer.measure_time("a"), inner.measure_time("b"), outer.measure_time("c"):
        time.sleep(0.001)

    assert inner.generate_report()["timing"]["b"]["inside"] is None
    assert outer.generate_report()["timing"]["c"]["inside"] == "a"


def test_a_block_cannot_be_entered_twice_at_once() -> None:
    collector = MetricsCollector()
    block = collector.measure_time("forward")
    with block, pytest.raises(RuntimeError, match="already running"):
        block.__enter__()
    with block:
        time.sleep(0.01)
    assert block.elapsed_ms >= 10
    assert collector.generate_report()["timing"]["forward"]["count"] == 2


def test_the_bottleneck_is_not_the_phase_around_it() -> None:
    collector = MetricsCollector()
    for _ in range(5):
        with collector.measure_time("iteration"):
            with collector.measure_time("load") as load:
                time.sleep(0.002)
            with collector.measure_time("backward"):
                # However long the others were held up, this takes longer.
                time.sleep(0.02 + load.elapsed_ms / 1000)
        waited = collector.generate_report()["timing"]["iteration"]["self"]
        with collector.measure_time("backward"):
            time.sleep(waited / 1000)

    analysis = collector.analyze_bottlenecks()

    assert analysis["bottleneck"] == "backward"
    assert 0 < analysis["share"] < 1
    assert analysis["share"] == analysis["phases"]["backward"]["share"]
    assert analysis["why"].startswith("backward takes")
    assert [reason["kind"] for reason in analysis["reasons"]] == ["share", "trend", "variance"]
    assert sum(phase["share"] for phase in analysis["phases"].values()) == pytest.approx(1)
    assert str(analysis).startswith("tachograph · bottleneck · backward")


def test_threads_count_together_and_nest_apart() -> None:
    collector = MetricsCollector()

    def work() -> None:
        for _ in range(1000):
            with collector.measure_time("outer"), collector.measure_time("inner"):
                collector.record("value", 1.0)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    report = collector.generate_report()
    assert report["metrics"]["value"]["count"] == 8000
    assert report["timing"]["outer"]["count"] == report["timing"]["inner"]["count"] == 8000
    assert report["timing"]["outer"]["inside"] is None
    assert report["timing"]["inner"]["inside"] == "outer"


def test_tasks_that_take_turns_nest_apart() -> None:
    collector = MetricsCollector()

    async def request(name: str) -> None:
        with collector.measure_time(name):
            for _ in range(3):
                with collector.measure_time(f"{name} step"):
                    await asyncio.sleep(0.001)

    async def main() -> None:
        await asyncio.gather(request("a"), request("b"))

    asyncio.run(main())

    timing = collector.generate_report()["timing"]
    assert (timing["a step"]["inside"], timing["b step"]["inside"]) == ("a", "b")
    assert timing["a"]["inside"] is None and timing["b"]["inside"] is None
    assert timing["b step"]["count"] == 3


def test_a_loop_inside_a_phase_has_its_phases_inside_too() -> None:
    collector = MetricsCollector()

    async def fetch() -> None:
        with collector.measure_time("fetch"):
            await asyncio.sleep(0.001)

    async def main() -> None:
        await asyncio.gather(fetch(), fetch(), fetch())

    with collector.measure_time("request"):
        asyncio.run(main())

    timing = collector.generate_report()["timing"]
    assert timing["fetch"]["count"] == 3
    assert timing["fetch"]["inside"] == "request"
    assert timing["request"]["inside"] is None


def test_a_task_begins_inside_the_phase_that_made_it() -> None:
    collector = MetricsCollector()

    async def child() -> None:
        with collector.measure_time("child"):
            await asyncio.sleep(0.002)

    async def main() -> None:
        with collector.measure_time("parent"):
            await asyncio.create_task(child())
        with collector.measure_time("after"):
            pass

    asyncio.run(main())

    timing = collector.generate_report()["timing"]
    assert timing["child"]["inside"] == "parent"
    assert timing["after"]["inside"] is None


def test_phases_left_out_of_turn_leave_nothing_behind() -> None:
    collector = MetricsCollector()
    first, second = collector.measure_time("first"), collector.measure_time("second")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    with collector.measure_time("after"):
        time.sleep(0.001)

    timing = collector.generate_report()["timing"]
    assert timing["second"]["inside"] == "first"
    assert timing["after"]["inside"] is None


def test_a_block_that_was_not_entered_cannot_be_left() -> None:
    block = MetricsCollector().measure_time("forward")
    with pytest.raises(RuntimeError, match='phase "forward" is not running'):
        block.__exit__(None, None, None)


def test_a_generator_that_is_dropped_ends_its_phase() -> None:
    collector = MetricsCollector()

    def rows() -> Iterator[int]:
        with collector.measure_time("rows"):
            yield 1
            yield 2

    for _ in rows():
        break
    with collector.measure_time("after"):
        pass

    timing = collector.generate_report()["timing"]
    assert timing["rows"]["count"] == 1 and timing["after"]["inside"] is None


def test_another_thread_can_ask_how_long_a_phase_has_been_running() -> None:
    collector = MetricsCollector()
    seen = []
    with collector.measure_time("wait") as block:
        thread = threading.Thread(target=lambda: seen.append(block.elapsed_ms))
        time.sleep(0.005)
        thread.start()
        thread.join()

    assert 5 <= seen[0] <= block.elapsed_ms
