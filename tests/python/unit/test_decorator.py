"""`@profile`: every kind of function, and calls that meet."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import tachograph
from made_profiles import spin


def test_a_decorated_function_keeps_its_signature() -> None:
    @tachograph.profile(interval_ms=5)
    def area(width: float, height: float = 2.0) -> float:
        """Multiply."""
        return width * height

    assert area(3, height=4) == 12
    assert str(inspect.signature(area)) == "(width: 'float', height: 'float' = 2.0) -> 'float'"
    assert area.__doc__ == "Multiply."


def test_the_bare_decorator_works_on_methods() -> None:
    class Job:
        @tachograph.profile
        def run(self, times: int) -> int:
            return times * 2

    assert Job().run(4) == 8


def test_every_call_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "call.json"

    @tachograph.profile(output_path=path)
    def work() -> None:
        spin(0.02)

    for _ in range(3):
        work()
        path.unlink()


def test_a_call_that_fails_is_saved_too(tmp_path: Path) -> None:
    path = tmp_path / "call.json"

    @tachograph.profile(output_path=path)
    def work() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        work()
    assert path.exists()


def test_recursion_is_one_profile(tmp_path: Path) -> None:
    path = tmp_path / "call.tacho"

    @tachograph.profile(interval_ms=1, output_path=path)
    def countdown(n: int) -> int:
        spin(0.02)
        return n if n == 0 else countdown(n - 1)

    assert countdown(5) == 0
    assert tachograph.open(path).duration >= 0.1


def test_calls_in_threads_join_each_other(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    @tachograph.profile(interval_ms=1, output_path=tmp_path / "calls.json")
    def work() -> None:
        spin(0.03)

    def run() -> None:
        try:
            for _ in range(5):
                work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert (tmp_path / "calls.json").exists()


def test_a_decorated_function_runs_inside_a_session() -> None:
    @tachograph.profile(interval_ms=1)
    def work() -> None:
        spin(0.02)

    tachograph.start(interval_ms=1)
    work()
    with tachograph.record(interval_ms=1):
        work()
    profile = tachograph.stop()

    assert profile.samples


def test_a_session_can_be_run_inside_a_decorated_function() -> None:
    @tachograph.profile
    def work() -> int:
        assert not tachograph.is_active()
        tachograph.start(interval_ms=1)
        spin(0.05)
        return tachograph.stop().sample_count

    assert work() > 0


def test_a_coroutine_function_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "call.json"

    @tachograph.profile(output_path=path)
    async def fetch(number: int) -> int:
        await asyncio.sleep(0.01)
        assert not path.exists()
        return number

    async def fetch_all() -> list[int]:
        return await asyncio.gather(*(fetch(n) for n in range(10)))

    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(fetch_all()) == list(range(10))
    assert path.exists()


def test_a_generator_passes_values_both_ways() -> None:
    @tachograph.profile
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
    assert inspect.isgeneratorfunction(echo)


def test_an_async_generator_passes_values_both_ways() -> None:
    closed = []

    @tachograph.profile
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
        answers = [await said.asend(None), await said.asend("a")]  # type: ignore[arg-type]
        answers.append(await said.athrow(ValueError()))
        await said.aclose()
        return answers

    assert asyncio.run(talk()) == ["heard nothing", "heard a", "heard an error"]
    assert closed == [True]
    assert inspect.isasyncgenfunction(echo)


def test_a_generator_that_is_dropped_ends_its_profile(tmp_path: Path) -> None:
    path = tmp_path / "call.json"

    @tachograph.profile(output_path=path)
    def numbers() -> Generator[int, None, None]:
        yield 1
        yield 2

    dropped = numbers()
    next(dropped)
    dropped.close()

    assert path.exists()
