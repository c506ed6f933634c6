"""Timed generators, plain and asynchronous, on every interpreter."""

from __future__ import annotations

import asyncio
import gc
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from typing import Any

import pytest
from tachograph.decorators import clear_timing_stats, get_timing_stats, time_it, time_it_async

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


def test_a_generator_is_timed_from_its_first_value_to_its_end() -> None:
    @time_it
    def numbers() -> Generator[int, None, str]:
        for number in range(3):
            busy(NAP / 3)
            yield number
        return "end"

    made = numbers()
    time.sleep(2 * NAP)  # not begun: not its time
    assert get_timing_stats("numbers") is None
    before = time.perf_counter()
    assert list(made) == [0, 1, 2]
    around = time.perf_counter() - before

    assert inspect.isgeneratorfunction(numbers)
    stats = get_timing_stats("numbers")
    assert stats.call_count == 1
    assert NAP <= stats.mean_time <= around


def test_a_generator_passes_values_errors_and_its_result() -> None:
    @time_it
    def echo() -> Generator[str, str, int]:
        heard = []
        try:
            while (word := (yield f"heard {len(heard)}")) != "stop":
                heard.append(word)
        except ValueError:
            heard.append("error")
        return len(heard)

    talk = echo()
    assert (next(talk), talk.send("a")) == ("heard 0", "heard 1")
    with pytest.raises(StopIteration) as ended:
        talk.throw(ValueError())
    assert ended.value.value == 2

    def delegate() -> Generator[str, str, int]:
        return (yield from echo())

    again = delegate()
    next(again)
    with pytest.raises(StopIteration) as ended:
        again.send("stop")
    assert ended.value.value == 0
    assert get_timing_stats("echo").call_count == 2


def test_a_generators_result_is_filled_in_when_it_ends() -> None:
    @time_it(return_result=True)
    def numbers() -> Generator[int, None, None]:
        busy(NAP)
        yield 1
        yield 2

    made, result = numbers()
    assert next(made) == 1
    assert result.execution_time == 0.0
    time.sleep(NAP)
    assert list(made) == [2]

    assert result.execution_time >= 2 * NAP
    assert result.metadata["running_time"] >= NAP
    assert result.metadata["suspended_time"] >= NAP
    assert result.metadata["success"]


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_a_generator_that_is_left_early_is_counted_once(how: str) -> None:
    cleaned = []

    @time_it
    def numbers() -> Generator[int, None, None]:
        try:
            yield 1
            yield 2
        finally:
            cleaned.append(True)

    left = numbers()
    assert next(left) == 1
    if how == "closed":
        left.close()
        left.close()
    del left
    gc.collect()

    assert cleaned == [True]
    assert get_timing_stats("numbers").call_count == 1


@EITHER
def test_an_async_generator_passes_values_both_ways(decorate: Callable[..., Any]) -> None:
    closed = []

    @decorate()
    async def echo() -> AsyncGenerator[str, str]:
        word = "nothing"
        try:
            while True:
                try:
                    word = yield f"heard {word}"
                except ValueError:
                    word = "an error"
        finally:
            closed.append(True)

    async def talk() -> list[str]:
        said = echo()
        answers = [await said.asend(None), await said.asend("a")]
        answers.append(await said.athrow(ValueError()))
        await said.aclose()
        return answers

    assert inspect.isasyncgenfunction(echo)
    assert asyncio.run(talk()) == ["heard nothing", "heard a", "heard an error"]
    assert closed == [True]
    assert get_timing_stats("echo").call_count == 1


def test_an_async_generator_is_timed_from_its_first_value_to_its_end() -> None:
    @time_it(return_result=True)
    async def numbers() -> AsyncGenerator[int, None]:
        for number in range(3):
            await asyncio.sleep(NAP / 3)
            yield number

    async def run() -> tuple[list[int], Any]:
        made, result = numbers()
        return [number async for number in made], result

    values, result = asyncio.run(run())

    assert values == [0, 1, 2]
    assert result.execution_time >= NAP * 0.99
    assert result.metadata["async"] is True
    assert get_timing_stats("numbers").call_count == 1
