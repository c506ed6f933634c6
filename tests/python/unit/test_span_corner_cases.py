"""Spans and timed functions in the corners of a program: odd endings, odd callables, its exit."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Generator
from typing import Any

import pytest
from tachograph import Recording, record, signal, span
from tachograph._native import Meter, timed


def as_timed(function: Callable[..., Any]) -> Any:
    return timed(function, name=function.__name__, meter=Meter())


def paths(recording: Recording) -> list[str]:
    return [row.path for row in recording.spans()]


class TestSignals:
    def test_a_method_that_fails_while_nobody_profiles_keeps_its_exception(self) -> None:
        class Service:
            @signal
            def call(self) -> None:
                raise LookupError("not here")

        for _ in range(2):
            with pytest.raises(LookupError, match="not here"):
                Service().call()


class TestGenerators:
    def test_one_that_ends_elsewhere_leaves_the_span_it_ends_in(self) -> None:
        @as_timed
        def numbers() -> Generator[int, None, None]:
            yield 1
            yield 2

        with record() as recording:
            with span("begun in"):
                running = numbers()
                next(running)
            with span("ended in"):
                assert list(running) == [2]
                with span("after"):
                    pass

        assert paths(recording) == [
            "begun in",
            "begun in/numbers",
            "ended in",
            "ended in/after",
        ]


class TestOrder:
    def test_what_follows_spans_that_ended_in_the_wrong_order_is_inside_the_one_around(
        self,
    ) -> None:
        def held(name: str, values: int) -> Generator[int, None, None]:
            with span(name):
                yield from range(values)

        with record() as recording:
            with span("outer"):
                for _ in zip(held("first", 1), held("second", 3), strict=False):
                    pass
                with span("later"):
                    pass
            with span("next"):
                pass

        assert paths(recording) == [
            "outer",
            "outer/first",
            "outer/first/second",
            "outer/later",
            "next",
        ]


class TestAwaitables:
    def test_a_generator_that_is_a_coroutine_stays_one(self) -> None:
        @as_timed
        @types.coroutine
        def step() -> Generator[None, None, int]:
            yield
            return 3

        async def main() -> int:
            result: int = await step()
            return result

        assert asyncio.run(main()) == 3

    def test_a_marked_function_may_return_any_awaitable(self) -> None:
        mark = vars(inspect).get("markcoroutinefunction")
        if mark is None:
            pytest.skip("there is no mark before 3.12")

        def answer() -> asyncio.Future[int]:
            future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            future.set_result(4)
            return future

        measured = as_timed(mark(answer))

        async def main() -> int:
            result: int = await measured()
            return result

        assert inspect.iscoroutinefunction(measured)
        assert asyncio.run(main()) == 4


class TestAttributes:
    def test_an_interrupt_while_one_is_shown_is_not_lost(self) -> None:
        class Interrupted:
            def __repr__(self) -> str:
                raise KeyboardInterrupt

        with record(), pytest.raises(KeyboardInterrupt):
            span("load", source=Interrupted())


class TestExit:
    @pytest.mark.parametrize("door", ["signal", "timed", "told", "span"])
    def test_a_daemon_thread_inside_a_timed_call_does_not_abort_the_program(
        self, door: str
    ) -> None:
        program = """
            import sys, threading, time
            import tachograph
            from tachograph._native import Meter, timed

            def work():
                for _ in range(100):
                    pass

            def in_span():
                with tachograph.span("block"):
                    work()

            door = {
                "signal": tachograph.signal(work),
                "timed": timed(work, name="work", meter=Meter()),
                "told": timed(work, name="work", meter=Meter(), after=lambda ended: None),
                "span": in_span,
            }[sys.argv[1]]

            def for_ever():
                while True:
                    door()

            tachograph.configure(profiling=True)
            for _ in range(3):
                threading.Thread(target=for_ever, daemon=True).start()
            time.sleep(0.05)
        """
        command = [sys.executable, "-c", textwrap.dedent(program), door]

        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

        assert (ended.returncode, ended.stderr) == (0, "")
