"""Programs that end while a daemon thread is inside of something timed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from programs import TARGETS
from tachograph.decorators import clear_timing_stats, get_timing_stats, time_it


@pytest.mark.parametrize("kind", ["generator", "coroutine", "async generator"])
def test_a_program_ends_well_with_a_daemon_thread_in_a_step(kind: str) -> None:
    ended = subprocess.run(
        [sys.executable, str(TARGETS / "daemon_steps.py"), kind],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (0, "the end\n"), ended.stderr


def in_daemon_thread(work: object) -> None:
    thread = threading.Thread(target=work, daemon=True)  # type: ignore[arg-type]
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_steps_in_a_daemon_thread_pass_everything_on() -> None:
    clear_timing_stats()
    seen: list[object] = []

    @time_it
    def conversation() -> Iterator[object]:
        got = yield "first"
        seen.append(got)
        try:
            yield "second"
        except KeyError as error:
            seen.append(error.args)
        try:
            yield "third"
        finally:
            seen.append("closed")

    @time_it
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("inside")

    def work() -> None:
        talk = conversation()
        seen.append(next(talk))
        seen.append(talk.send("hello"))  # type: ignore[attr-defined]
        seen.append(talk.throw(KeyError("oops")))  # type: ignore[attr-defined]
        talk.close()  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="inside"):
            list(broken())

    in_daemon_thread(work)

    assert seen == ["first", "hello", "second", ("oops",), "third", "closed"]
    for function in (conversation, broken):
        stats = get_timing_stats(function)
        assert stats is not None
        assert stats.call_count == 1


def test_coroutines_in_a_daemon_thread_return_and_are_timed() -> None:
    import asyncio

    clear_timing_stats()
    results: list[object] = []

    @time_it
    async def answer() -> int:
        await asyncio.sleep(0.01)
        return 42

    @time_it
    async def numbers() -> AsyncIterator[int]:
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    async def main() -> None:
        results.append(await answer())
        results.append([number async for number in numbers()])

    in_daemon_thread(lambda: asyncio.run(main()))

    assert results == [42, [0, 1, 2]]
    stats = get_timing_stats("answer")
    assert stats is not None
    assert stats.mean_time >= 0.01
