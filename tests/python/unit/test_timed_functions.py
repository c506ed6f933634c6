"""Timed functions keep their kind, their face, their results and their errors."""

from __future__ import annotations

import asyncio
import copy
import functools
import gc
import inspect
import pickle
import threading
import traceback
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest
from tachograph import _native
from tachograph._native import Ended, Meter


def timed(function: Any, **options: Any) -> Any:
    return _native.timed(function, name="f", **options)


def add(a: int, /, b: int = 2, *, c: int = 3) -> tuple[int, int, int]:
    """Give back what came."""
    return a, b, c


timed_add = timed(add)
timed_add.__qualname__ = "timed_add"


def test_results_are_passed_as_they_are() -> None:
    assert timed_add(1) == (1, 2, 3)
    assert timed_add(1, 5, c=6) == (1, 5, 6)
    assert timed_add(*[1], b=4) == (1, 4, 3)


def test_every_call_is_counted() -> None:
    meter = Meter()
    function = timed(add, meter=meter)
    for _ in range(5):
        function(1)

    assert meter.summary().count == 5


def test_the_face_of_a_function_stays() -> None:
    function = timed(add)

    assert (function.__name__, function.__doc__) == ("add", "Give back what came.")
    assert (function.__module__, function.__qualname__) == (__name__, "add")
    assert function.__wrapped__ is add
    assert inspect.signature(function) == inspect.signature(add)
    assert function.__code__ is add.__code__
    assert inspect.isroutine(function)
    assert repr(function).startswith("<timed <function add at")


def test_attributes_of_a_function_are_its_own() -> None:
    def marked() -> None: ...

    marked.mark = 1  # type: ignore[attr-defined]
    function = timed(marked)
    function.mark = 2

    assert (function.mark, marked.mark) == (2, 1)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="absent"):
        _ = function.absent


def test_a_timed_function_is_pickled_by_name_and_copied_as_itself() -> None:
    assert pickle.loads(pickle.dumps(timed_add)) is timed_add
    assert copy.deepcopy(timed_add) is timed_add


def test_errors_pass_with_the_traceback_they_have() -> None:
    def fail() -> None:
        raise LookupError("here")

    seen: list[Ended] = []
    with pytest.raises(LookupError, match="here") as caught:
        timed(fail, after=seen.append)()

    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames == ["test_errors_pass_with_the_traceback_they_have", "fail"]
    assert (seen[0].failed, seen[0].error) == (True, caught.value)


def test_wrong_arguments_fail_as_without_timing() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        timed_add()


class Thing:
    @timed
    def method(self, x: int) -> tuple[Thing, int]:
        return self, x

    @timed
    @classmethod
    def class_inside(cls, x: int) -> tuple[type, int]:
        return cls, x

    @classmethod
    @timed
    def class_outside(cls, x: int) -> tuple[type, int]:
        return cls, x

    @timed
    @staticmethod
    def static_inside(x: int) -> int:
        return x

    @staticmethod
    @timed
    def static_outside(x: int) -> int:
        return x


def test_methods_bind() -> None:
    thing = Thing()

    assert thing.method(1) == Thing.method(thing, 1) == (thing, 1)
    bound = thing.method
    assert bound(x=2) == (thing, 2)
    assert inspect.ismethod(bound)
    assert str(inspect.signature(bound)) == "(x: 'int') -> 'tuple[Thing, int]'"


def test_class_and_static_methods_work_in_both_orders() -> None:
    for owner in (Thing, Thing()):
        assert owner.class_inside(1) == owner.class_outside(1) == (Thing, 1)
        assert owner.static_inside(1) == owner.static_outside(1) == 1


def test_callables_that_are_no_functions_can_be_timed() -> None:
    class Callme:
        def __call__(self, x: int) -> int:
            return x + 1

    assert timed(functools.partial(add, 9))() == (9, 2, 3)
    assert timed(Callme())(1) == 2
    assert timed(len)([1, 2]) == 2
    with pytest.raises(TypeError, match="only a function can be timed, not int"):
        timed(7)


def test_recursion_counts_every_level() -> None:
    meter = Meter()

    @functools.partial(timed, meter=meter)
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    assert fibonacci(10) == 55
    assert meter.summary().count == 177


def test_threads_lose_no_calls() -> None:
    meter = Meter()
    function = timed(add, meter=meter)
    threads = [
        threading.Thread(target=lambda: [function(1) for _ in range(1000)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert meter.summary().count == 8000


def test_a_timed_function_in_a_cycle_is_collected() -> None:
    class Held: ...

    def make() -> weakref.ref[Held]:
        held = Held()

        def function() -> Held:
            return held

        wrapped = timed(function, after=lambda _: wrapped, before=lambda _a, _k: {})
        held.wrapped = wrapped  # type: ignore[attr-defined]
        wrapped()
        return weakref.ref(held)

    reference = make()
    gc.collect()

    assert reference() is None


def test_the_gate_stays_shut_while_nobody_wants_to_know() -> None:
    meter = Meter()
    function = timed(add, meter=meter, gate="profiling", timeline=True, tags=("a", "b"))
    function(1)
    assert meter.summary().count == 0

    _native.timeline_clear()
    _native.profiling(True, 1.0)
    function(1)
    _native.profiling(False, 1.0)

    assert meter.summary().count == 1
    (entry,) = _native.timeline()
    assert (entry["key"], entry["tags"], "span" in entry) == ("f", ["a", "b"], False)
    _native.timeline_clear()


def test_what_comes_before_sees_the_arguments_and_attaches() -> None:
    seen: list[Any] = []

    def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        seen.append((args, kwargs))
        return {"size": args[0]}

    function = timed(add, before=before, gate="profiling", timeline=True)
    _native.timeline_clear()
    _native.profiling(True, 1.0)
    function(1, c=4)
    function(2)
    _native.profiling(False, 1.0)

    assert seen == [((1,), {"c": 4}), ((2,), {})]
    assert [entry["meta"] for entry in _native.timeline()] == [{"size": 1}, {"size": 2}]
    _native.timeline_clear()


@pytest.mark.parametrize("which", ["before", "after"])
def test_a_callback_that_fails_warns_once_and_breaks_nothing(which: str) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    function = timed(add, **{which: broken})
    with pytest.warns(RuntimeWarning, match=f"`{which}` failed for f: ZeroDivisionError: oh"):
        assert function(1) == (1, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(1) == (1, 2, 3)
        assert timed(add, **{which: broken})(1) == (1, 2, 3)


def test_a_keyboard_interrupt_in_a_callback_passes() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        timed(add, after=interrupt)(1)


@pytest.mark.parametrize("option", [{"clock": "sundial"}, {"gate": "open"}])
def test_an_unknown_word_is_named(option: dict[str, str]) -> None:
    (word,) = option.values()
    with pytest.raises(ValueError, match=word):
        timed(add, **option)


def busy(seconds: float) -> None:
    import time

    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_clocks_differ() -> None:
    import time

    def sleep_and_work() -> None:
        time.sleep(0.03)
        busy(0.01)

    seen: dict[str, Ended] = {}
    for clock in ("wall", "perf", "process", "thread"):
        timed(sleep_and_work, clock=clock, after=functools.partial(seen.__setitem__, clock))()

    assert seen["wall"].duration_ns == seen["wall"].wall_ns >= 40_000_000
    assert seen["perf"].duration_ns >= 40_000_000
    assert 10_000_000 <= seen["thread"].duration_ns < seen["thread"].wall_ns - 25_000_000
    assert seen["process"].duration_ns >= 10_000_000


async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "waited"


async def be_kept_waiting(seconds: float) -> None:
    """Be suspended while the loop sleeps, so that no less than `seconds` are spent suspended."""
    import time

    asyncio.get_running_loop().call_soon(time.sleep, seconds)
    await asyncio.sleep(0)


def test_a_coroutine_function_stays_one() -> None:
    function = timed(wait)

    assert inspect.iscoroutinefunction(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert asyncio.iscoroutinefunction(function)
    coroutine = function(0)
    assert inspect.iscoroutine(coroutine)
    assert coroutine.__qualname__ == "wait"
    assert asyncio.run(coroutine) == "waited"


def test_a_coroutine_is_timed_from_first_step_to_last() -> None:
    seen: list[Ended] = []
    asyncio.run(timed(be_kept_waiting, after=seen.append)(0.03))

    (ended,) = seen
    assert ended.wall_ns >= 30_000_000
    assert ended.running_ns + ended.suspended_ns == ended.wall_ns
    assert ended.suspended_ns >= 30_000_000


def test_coroutines_pass_results_errors_and_cancellation() -> None:
    seen: list[Ended] = []

    @functools.partial(timed, after=seen.append)
    async def give(value: Any) -> Any:
        await asyncio.sleep(0)
        if isinstance(value, BaseException):
            raise value
        return value

    async def main() -> None:
        for value in (None, (1, 2), StopAsyncIteration):
            assert await give(value) is value
        error = KeyError("gone")
        with pytest.raises(KeyError) as caught:
            await give(error)
        assert caught.value is error
        task = asyncio.create_task(timed(wait, after=seen.append)(10))
        await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert [ended.failed for ended in seen] == [False, False, False, True, True]
    assert isinstance(seen[-1].error, asyncio.CancelledError)


def test_a_coroutine_that_never_ran_is_never_told() -> None:
    seen: list[Ended] = []
    coroutine = timed(wait, after=seen.append)(0)
    coroutine.close()

    assert seen == []


def count_to(n: int) -> Generator[int, Any, str]:
    received = []
    for number in range(n):
        received.append((yield number))
    return f"{received}"


def drive(generator: Generator[Any, Any, Any]) -> tuple[list[Any], Any]:
    values = []
    while True:
        try:
            values.append(next(generator))
        except StopIteration as stop:
            return values, stop.value


def test_a_generator_function_stays_one() -> None:
    function = timed(count_to)

    assert inspect.isgeneratorfunction(function)
    assert inspect.isgenerator(function(1))
    assert drive(function(3)) == ([0, 1, 2], "[None, None, None]")


def test_a_generator_can_be_sent_values_and_errors() -> None:
    @timed
    def echo() -> Generator[Any, Any, None]:
        value = None
        while True:
            try:
                value = yield value
            except ValueError as error:
                value = f"caught {error}"

    generator = echo()
    assert next(generator) is None
    assert generator.send(5) == 5
    assert generator.throw(ValueError("x")) == "caught x"
    with pytest.raises(KeyError):
        generator.throw(KeyError("y"))


def test_a_generator_tells_running_from_suspended() -> None:
    import time

    seen: list[Ended] = []
    numbers = timed(count_to, after=seen.append)(3)
    inside = 0
    while not seen:
        before = time.perf_counter_ns()
        number = next(numbers, None)
        inside += time.perf_counter_ns() - before
        if number is not None:
            time.sleep(0.01)

    (ended,) = seen
    assert ended.suspended_ns >= 30_000_000
    # It runs inside of `next` alone.
    assert ended.running_ns <= inside


def test_a_generator_that_is_left_early_ends_when_it_is_closed() -> None:
    seen: list[Ended] = []
    function = timed(count_to, after=seen.append)
    generator = function(3)
    next(generator)
    generator.close()
    dropped = function(3)
    next(dropped)
    del dropped
    gc.collect()

    assert [ended.failed for ended in seen] == [False, False]


def test_a_generator_that_fails_is_told_as_failed() -> None:
    seen: list[Ended] = []

    @functools.partial(timed, after=seen.append)
    def fails() -> Iterator[int]:
        yield 1
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        list(fails())

    assert [str(ended.error) for ended in seen] == ["disk"]


def in_loop(main: Callable[[], Any]) -> Any:
    return asyncio.run(main())


def test_an_asynchronous_generator_passes_everything() -> None:
    seen: list[Ended] = []

    @functools.partial(timed, after=seen.append)
    async def echo(n: int) -> AsyncIterator[Any]:
        value: Any = None
        for _ in range(n):
            try:
                value = yield value
                await be_kept_waiting(0.005)
            except ValueError as error:
                value = f"caught {error}"

    async def main() -> None:
        assert inspect.isasyncgenfunction(echo)
        generator: Any = echo(3)
        assert inspect.isasyncgen(generator)
        assert await generator.asend(None) is None
        assert await generator.asend(4) == 4
        assert await generator.athrow(ValueError("x")) == "caught x"
        with pytest.raises(StopAsyncIteration):
            await generator.asend(5)
        assert [value async for value in echo(2)] == [None, None]
        early: Any = echo(3)
        await early.asend(None)
        await early.aclose()
        failing: Any = echo(3)
        await failing.asend(None)
        with pytest.raises(KeyError):
            await failing.athrow(KeyError("k"))

    in_loop(main)

    assert [ended.failed for ended in seen] == [False, False, False, True]
    assert seen[0].suspended_ns >= 2 * 5_000_000


def test_coroutines_of_other_drivers_are_timed_too() -> None:
    seen: list[Ended] = []

    class Suspend:
        def __await__(self) -> Generator[str, int, int]:
            return (yield "please")

    @functools.partial(timed, after=seen.append)
    async def ask() -> int:
        return await Suspend()

    coroutine = ask()
    assert coroutine.send(None) == "please"
    assert coroutine.cr_await is not None
    with pytest.raises(StopIteration) as stop:
        coroutine.send(7)

    assert (stop.value.value, len(seen)) == (7, 1)
