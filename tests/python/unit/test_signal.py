"""`@signal`: every kind of function, and the keys of their figures."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import os
import threading
import time
import types
import warnings
import weakref
from collections.abc import AsyncGenerator, Generator, Iterator
from typing import Any

import pytest
import tachograph

HERE = __name__


@pytest.fixture(autouse=True)
def fresh_profiling() -> Iterator[None]:
    tachograph._reset_for_tests()
    tachograph.configure(profiling=True)
    yield
    tachograph._reset_for_tests()


def only_row() -> dict[str, Any]:
    (row,) = tachograph.report()["timings"].values()
    return dict(row)


@tachograph.signal
def module_level() -> int:
    return 1


class Job:
    @tachograph.signal
    def run(self) -> str:
        return "job"

    @tachograph.signal
    @staticmethod
    def still() -> int:
        return 2

    @tachograph.signal
    @classmethod
    def kind(cls) -> type:
        return cls


class AsyncJob:
    @tachograph.signal
    async def fetch(self) -> int:
        return 1


class OtherJob:
    @tachograph.signal
    def run(self) -> str:
        return "other"


def test_a_decorated_function_keeps_signature_name_and_original() -> None:
    def area(width: float, *, height: float = 2.0) -> float:
        """Multiply."""
        return width * height

    timed = tachograph.signal(tags=["geometry"])(area)

    assert timed(3, height=4) == 12
    assert inspect.signature(timed) == inspect.signature(area)
    assert (timed.__name__, timed.__qualname__) == (area.__name__, area.__qualname__)
    assert (timed.__doc__, timed.__module__) == ("Multiply.", HERE)
    assert inspect.unwrap(timed) is area


def test_results_and_exceptions_pass_as_they_are() -> None:
    pair = (1, 2)
    error = LookupError("mine")

    @tachograph.signal
    def work(fail: bool) -> tuple[int, int]:
        if fail:
            raise error
        return pair

    assert work(False) is pair
    with pytest.raises(LookupError) as caught:
        work(True)
    assert caught.value is error
    assert only_row()["count"] == 2


def test_wrong_arguments_are_the_functions_own_error() -> None:
    with pytest.raises(TypeError, match=r"module_level\(\) takes 0 positional arguments"):
        module_level(1)  # type: ignore[call-arg]


def test_methods_static_methods_and_class_methods_are_bound_as_usual() -> None:
    job = Job()

    assert (job.run(), Job.run(job), Job.still(), job.still()) == ("job", "job", 2, 2)
    assert Job.kind() is Job is job.kind()
    timings = tachograph.report()["timings"]
    assert timings[f"{HERE}.Job.run"]["count"] == 2
    assert timings[f"{HERE}.Job.still"]["count"] == 2
    assert timings[f"{HERE}.Job.kind"]["count"] == 2


def test_methods_of_the_same_name_have_keys_of_their_own() -> None:
    Job().run()
    OtherJob().run()
    OtherJob().run()

    timings = tachograph.report()["timings"]

    assert timings[f"{HERE}.Job.run"]["count"] == 1
    assert timings[f"{HERE}.OtherJob.run"]["count"] == 2
    assert timings[f"{HERE}.run"]["count"] == 3


def test_a_bare_name_finds_a_nested_function() -> None:
    @tachograph.signal
    def work() -> None:
        pass

    work()
    timings = tachograph.report()["timings"]

    (key,) = timings
    assert key == f"{HERE}.test_a_bare_name_finds_a_nested_function.<locals>.work"
    assert timings[f"{HERE}.work"] == timings[key]
    assert timings.get(f"{HERE}.work") == timings[key]
    assert f"{HERE}.work" in timings and f"{HERE}.play" not in timings
    assert timings.get(f"{HERE}.play") is None
    with pytest.raises(KeyError, match="play"):
        timings[f"{HERE}.play"]


def test_an_inherited_method_belongs_to_the_module_of_the_class() -> None:
    module = types.ModuleType("assembled")
    made = type("Assembled", (Job,), {"__module__": module.__name__})

    made().run()
    Job().run()

    timings = tachograph.report()["timings"]
    assert timings["assembled.Assembled.run"]["count"] == 1
    assert timings["assembled.run"]["count"] == 1
    assert timings[f"{HERE}.Job.run"]["count"] == 1
    assert tachograph.report()["timings_by_module"]["assembled"]["count"] == 1


def test_a_coroutine_of_an_inherited_method_belongs_to_the_class_too() -> None:
    made = type("Assembled", (AsyncJob,), {"__module__": "assembled"})

    assert asyncio.run(made().fetch()) == 1
    assert tachograph.report()["timings"]["assembled.Assembled.fetch"]["count"] == 1


def test_a_coroutine_function_stays_one_and_its_body_is_timed() -> None:
    @tachograph.signal
    async def fetch(x: int) -> int:
        await asyncio.sleep(0.03)
        return x

    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(fetch(5)) == 5
    assert only_row()["max_ms"] >= 29


def test_tasks_that_take_turns_are_timed_each_for_itself() -> None:
    @tachograph.signal
    async def wait(seconds: float) -> None:
        with tachograph.span("inside"):
            await asyncio.sleep(seconds)

    async def main() -> None:
        await asyncio.gather(wait(0.08), wait(0.01), wait(0.04))

    asyncio.run(main())

    entries = tachograph.report()["timeline"]
    calls = [entry["duration_ms"] for entry in entries if not entry.get("span")]
    inside = [entry["duration_ms"] for entry in entries if entry.get("span")]
    for durations in (calls, inside):
        # Tasks that are held up may end in another order, but each after its time.
        assert len(durations) == 3
        ends = zip((9, 39, 79), sorted(durations), strict=True)
        assert [low <= took for low, took in ends] == [True] * 3


def test_a_generator_is_timed_from_its_first_value_to_its_end() -> None:
    @tachograph.signal
    def numbers() -> Generator[int, str, str]:
        time.sleep(0.02)
        got = yield 1
        assert got == "sent"
        try:
            yield 2
        except LookupError:
            yield 3
        return "returned"

    assert inspect.isgeneratorfunction(numbers)
    stream = numbers()
    assert tachograph.report()["timings"] == {}
    assert (next(stream), stream.send("sent"), stream.throw(LookupError())) == (1, 2, 3)
    with pytest.raises(StopIteration) as end:
        next(stream)
    assert end.value.value == "returned"
    assert only_row()["count"] == 1 and only_row()["max_ms"] >= 19


def test_a_generator_that_is_dropped_ends() -> None:
    closed = []

    @tachograph.signal
    def numbers() -> Generator[int, None, None]:
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    stream = numbers()
    next(stream)
    stream.close()
    other = numbers()
    next(other)
    del other
    gc.collect()

    assert closed == [True, True]
    assert only_row()["count"] == 2
    assert tachograph.report()["errors_total"] == 0


def test_an_asynchronous_generator_stays_one_and_is_timed_to_its_end() -> None:
    @tachograph.signal
    async def numbers() -> AsyncGenerator[int, None]:
        yield 1
        await asyncio.sleep(0.02)
        yield 2

    async def collect() -> list[int]:
        return [n async for n in numbers()]

    assert inspect.isasyncgenfunction(numbers)
    assert asyncio.run(collect()) == [1, 2]
    assert only_row()["count"] == 1 and only_row()["max_ms"] >= 19


def test_every_level_of_a_recursion_is_a_call() -> None:
    @tachograph.signal
    def countdown(n: int) -> int:
        return n if n == 0 else countdown(n - 1)

    assert countdown(5) == 0
    assert only_row()["count"] == 6


def test_calls_of_many_threads_are_all_counted() -> None:
    def work() -> None:
        for _ in range(500):
            module_level()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    report = tachograph.report()
    assert report["timings"][f"{HERE}.module_level"]["count"] == 4000
    assert report["calls_total"] == 4000


def test_whatever_can_be_called_can_be_a_signal() -> None:
    class Adder:
        def __call__(self, left: int, right: int) -> int:
            return left + right

    assert tachograph.signal(Adder())(1, 2) == 3
    assert tachograph.signal(functools.partial(Adder(), 1))(2) == 3
    assert tachograph.signal(len)("ab") == 2
    assert tachograph.signal(lambda: 5)() == 5
    assert tachograph.signal(tachograph.signal(divmod))(7, 2) == (3, 1)

    counts = {key: row["count"] for key, row in tachograph.report()["timings"].items()}
    assert counts["builtins.len"] == 1 and counts["builtins.divmod"] == 2
    assert tachograph.report()["timings"][f"{HERE}.<lambda>"]["count"] == 1


def test_a_signal_is_collected_with_its_class() -> None:
    class Temporary:
        @tachograph.signal
        def run(self) -> None:
            pass

    # Its name says that it is a method, so its calls remember the class.
    Temporary.run.__wrapped__.__qualname__ = "Temporary.run"  # type: ignore[attr-defined]
    method = tachograph.signal(Temporary.run.__wrapped__)  # type: ignore[attr-defined]
    Temporary.run = method  # type: ignore[method-assign]
    Temporary().run()
    gone = weakref.ref(Temporary)
    del Temporary, method
    gc.collect()

    assert gone() is None


def test_a_forked_child_begins_with_figures_of_its_own() -> None:
    module_level()

    child = os.fork()
    if child == 0:
        try:
            for _ in range(3):
                module_level()
            with tachograph.span("child"):
                pass
            timings = tachograph.report()["timings"]
            good = timings[f"{HERE}.module_level"]["count"] >= 3 and timings["child"]["count"] == 1
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert only_row()["count"] == 1


def test_switched_off_a_signal_is_a_plain_call() -> None:
    tachograph.configure(enabled=False, slow_signal_ms=0.001)

    @tachograph.signal(extra_factory=lambda args, kwargs: 1 / 0)
    def work() -> int:
        return 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert work() == 1

    report = tachograph.report()
    assert report["calls_total"] == 0 and report["timings"] == {}
    assert report["slow_signals_recent"] == []


def test_calls_are_counted_without_profiling() -> None:
    tachograph.configure(profiling=False)

    for _ in range(3):
        module_level()

    report = tachograph.report()
    assert report["calls_total"] == 3
    assert report["timings"] == {}


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (ValueError, "exception_level .* not 'LOUD'", {"exception_level": "LOUD"}),
        (TypeError, r"write \['io'\]", {"tags": "io"}),
        (TypeError, "tags must be words, not 5", {"tags": [5]}),
        (TypeError, "extra_factory must be callable, not 5", {"extra_factory": 5}),
    ],
)
def test_bad_arguments_are_refused_and_named(
    error: type[Exception], message: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(error, match=message):
        tachograph.signal(**arguments)


def test_what_cannot_be_called_cannot_be_decorated() -> None:
    with pytest.raises(TypeError, match="decorates functions, not 'work'"):
        tachograph.signal("work")  # type: ignore[call-overload]
