"""Timed coroutines, on every interpreter: their kind, their time, their result."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tachograph.decorators import (
    clear_timing_stats,
    get_timing_stats,
    time_it,
    time_it_async,
    timer,
)

EITHER = pytest.mark.parametrize("decorate", [time_it, time_it_async], ids=["time_it", "async"])
NAP = 0.03


@pytest.fixture(autouse=True)
def no_measurements() -> Iterator[None]:
    clear_timing_stats()
    yield
    clear_timing_stats()


def busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@EITHER
def test_a_coroutine_is_timed_from_its_first_step_to_its_last(decorate: Callable[..., Any]) -> None:
    @decorate()
    async def fetch(number: int) -> int:
        await asyncio.sleep(NAP)
        return number

    async def run() -> int:
        waiting = fetch(3)
        time.sleep(NAP)  # before its first step: not its time
        before = time.perf_counter()
        number: int = await waiting
        around.append(time.perf_counter() - before)
        return number

    around: list[float] = []
    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(run()) == 3
    stats = get_timing_stats("fetch")
    assert stats.call_count == 1
    assert NAP * 0.99 <= stats.mean_time <= around[0]


@EITHER
def test_the_bare_decorator_does_for_coroutines(decorate: Callable[..., Any]) -> None:
    @decorate
    async def fetch(number: int, *, twice: bool = False) -> int:
        await asyncio.sleep(0)
        return 2 * number if twice else number

    assert asyncio.run(fetch(3, twice=True)) == 6
    assert "twice: 'bool' = False" in str(inspect.signature(fetch))


@EITHER
def test_tasks_that_interleave_have_their_own_times(decorate: Callable[..., Any]) -> None:
    @decorate(return_result=True)
    async def fetch(number: int) -> int:
        await asyncio.sleep(NAP * number)
        return number

    async def run() -> list[Any]:
        return await asyncio.gather(*(fetch(n) for n in range(5)))

    results = asyncio.run(run())

    assert [value for value, _ in results] == list(range(5))
    for value, result in results:
        assert NAP * value * 0.99 <= result.execution_time
    assert get_timing_stats("fetch").call_count == 5


def test_running_and_suspended_time_are_told_apart() -> None:
    @time_it(return_result=True)
    async def work() -> str:
        busy(NAP)
        await asyncio.sleep(2 * NAP)
        busy(NAP)
        return "done"

    value, result = asyncio.run(work())

    facts = result.metadata
    assert value == "done"
    assert facts["running_time"] >= 2 * NAP
    assert facts["suspended_time"] >= 2 * NAP * 0.99
    whole = facts["running_time"] + facts["suspended_time"]
    assert whole == pytest.approx(result.execution_time, rel=1e-6)
    assert (facts["success"], facts["error"], facts["async"]) == (True, None, True)
    assert (facts["args_count"], facts["kwargs_count"]) == (0, 0)


def test_thread_time_of_a_coroutine_is_that_of_its_own_steps() -> None:
    @time_it(mode="thread_time", return_result=True)
    async def wait() -> None:
        await asyncio.sleep(0)

    async def run() -> Any:
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        before = time.thread_time()
        while time.thread_time() - before < NAP:
            pass
        return await waiting

    assert asyncio.run(run())[1].execution_time < NAP


def test_a_coroutine_prints_that_it_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    @time_it_async(print_result=True)
    async def fetch() -> None:
        pass

    asyncio.run(fetch())

    assert re.match(r"fetch \(async\) executed in \d+\.\d+", capsys.readouterr().out)


@EITHER
def test_an_exception_of_a_coroutine_passes_and_is_counted(decorate: Callable[..., Any]) -> None:
    error = LookupError("mine")

    @decorate
    async def fail() -> None:
        await asyncio.sleep(0)
        raise error

    with pytest.raises(LookupError) as raised:
        asyncio.run(fail())

    assert raised.value is error
    assert get_timing_stats("fail").call_count == 1


def test_a_cancelled_coroutine_is_counted_and_stays_cancelled() -> None:
    @time_it
    async def wait() -> None:
        await asyncio.sleep(60)

    async def run() -> bool:
        task = asyncio.create_task(wait())
        await asyncio.sleep(NAP)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(run())
    assert get_timing_stats("wait").call_count == 1


def test_a_timed_coroutine_can_be_a_task_with_a_time_limit() -> None:
    @time_it
    async def wait() -> None:
        await asyncio.sleep(60)

    async def run() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), NAP)
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0))

    asyncio.run(run())

    assert get_timing_stats("wait").min_time >= NAP * 0.99


def test_recursion_of_coroutines_counts_every_call() -> None:
    @time_it
    async def countdown(n: int) -> int:
        await asyncio.sleep(0)
        return 0 if n == 0 else 1 + await countdown(n - 1)

    assert asyncio.run(countdown(50)) == 50
    assert get_timing_stats("countdown").call_count == 51


def test_a_wrapper_around_a_coroutine_function_is_awaited() -> None:
    def plain_decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def around(*args: Any) -> Any:
            return function(*args)

        return around

    @time_it_async()
    @plain_decorator
    async def fetch(number: int) -> int:
        await asyncio.sleep(NAP)
        return number

    assert asyncio.run(fetch(4)) == 4
    assert get_timing_stats("fetch").mean_time >= NAP * 0.99


@EITHER
def test_an_object_that_is_called_like_a_coroutine_function(decorate: Callable[..., Any]) -> None:
    class Fetcher:
        async def __call__(self, number: int) -> int:
            await asyncio.sleep(NAP)
            return number

    assert asyncio.run(decorate(Fetcher())(5)) == 5
    assert get_timing_stats("Fetcher").mean_time >= NAP * 0.99


def test_async_methods_of_every_kind_can_be_timed() -> None:
    class Client:
        @time_it
        async def get(self) -> str:
            return "plain"

        @time_it_async()
        @classmethod
        async def make(cls) -> str:
            return cls.__name__

        @time_it
        @staticmethod
        async def ping() -> str:
            return "static"

    async def run() -> list[str]:
        return [await Client().get(), await Client.make(), await Client.ping()]

    assert asyncio.run(run()) == ["plain", "Client", "static"]
    assert {s.call_count for s in get_timing_stats().values()} == {1}


def test_a_timer_in_a_coroutine_does_not_disturb_its_neighbours() -> None:
    async def work(name: str, naps: int) -> None:
        with timer(name, print_result=False):
            await asyncio.sleep(NAP * naps)

    async def run() -> None:
        await asyncio.gather(work("long", 3), work("short", 1), work("long", 3))

    asyncio.run(run())

    long, short = get_timing_stats("long"), get_timing_stats("short")
    assert (long.call_count, short.call_count) == (2, 1)
    assert long.min_time >= 3 * NAP * 0.99
    assert short.min_time >= NAP * 0.99
