"""What a watched call costs beside refunc's decorators, which join a thread in each.

Run with `python benches/monitors/watched_calls.py`. The function does nothing, so
all of it is the monitor's. refunc is named by its figures where it is not
installed: it needs psutil, numpy and pandas, and a call takes a fifth of a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from figures import Figure, Row, at_most, verdicts

# What refunc's decorators took for one call around a no-op, in microseconds;
# measured with CPython 3.11 on Linux.
REFUNC = {
    "performance_monitor": 203_000.0,
    "memory_profile": 101_000.0,
    "system_monitor": 102_000.0,
    "quick_monitor": 102_000.0,
    "event loop held up": 101_000.0,
}
CALLS = 200


def no_op() -> None:
    """Do nothing."""


def per_call_us(work: Callable[[], object], rounds: int) -> Figure:
    """Return the median over rounds of the microseconds of one call.

    By the clock of the calling thread: nothing in a call waits, and other
    programs on the machine do not count.
    """
    values = []
    for _ in range(rounds):
        start = time.thread_time_ns()
        for _ in range(CALLS):
            work()
        values.append((time.thread_time_ns() - start) / CALLS / 1e3)
    return Figure.of(values)


def held_up_us(calls: int) -> Figure:
    """Return how long one watched coroutine keeps the loop from other tasks."""
    from tachograph.decorators import performance_monitor_async

    @performance_monitor_async(monitor_gpu=True, return_results=True)
    async def watched() -> None:
        await asyncio.sleep(0)

    async def main() -> list[float]:
        await watched()
        gaps = []
        for _ in range(calls):
            task = asyncio.ensure_future(watched())
            longest, before = 0.0, time.thread_time_ns()
            while not task.done():
                await asyncio.sleep(0)
                now = time.thread_time_ns()
                longest, before = max(longest, (now - before) / 1e3), now
            gaps.append(longest)
        return gaps

    return Figure.of(asyncio.run(main()))


def rows(rounds: int) -> list[Row]:
    """Measure every door around a no-op; print each and judge it."""
    from tachograph.decorators import (
        full_monitor,
        memory_monitor,
        memory_profile,
        monitor_performance,
        performance_monitor,
        quick_monitor,
        system_monitor,
    )

    everything: dict[str, Any] = {"monitor_gpu": True, "return_results": True}
    checked = performance_monitor(
        **everything, enable_validation=True, output_validators=lambda value: value is None
    )

    def block() -> None:
        with monitor_performance("block", monitor_gpu=True):
            pass

    def memory_block() -> None:
        with memory_monitor("block", print_result=False):
            pass

    measured = {
        "performance_monitor, everything on, results returned": (
            performance_monitor(**everything)(no_op),
            "performance_monitor",
        ),
        "the same with a validator": (checked(no_op), "performance_monitor"),
        "performance_monitor": (performance_monitor(no_op), "performance_monitor"),
        "full_monitor, not printed": (full_monitor(False)(no_op), "performance_monitor"),
        "quick_monitor, not printed": (quick_monitor(False)(no_op), "quick_monitor"),
        "memory_profile": (memory_profile(no_op), "memory_profile"),
        "system_monitor": (system_monitor(no_op), "system_monitor"),
        "with monitor_performance, everything on": (block, "performance_monitor"),
        "with memory_monitor": (memory_block, "memory_profile"),
    }
    found = []
    print(f"{'':54}{'µs':>10}{'refunc':>12}{'ratio':>12}")
    for name, (work, peer) in measured.items():
        with contextlib.redirect_stdout(io.StringIO()):
            for _ in range(CALLS):
                work()
        figure = per_call_us(work, rounds)
        print(
            f"{name:54}{figure.value:10.2f}{REFUNC[peer]:12.0f}{REFUNC[peer] / figure.value:11.0f}x"
        )
        if "validator" not in name:
            # A block is made anew each time, with its configuration.
            limit = 50.0 if name.startswith("with ") else 20.0
            found.append(at_most(f"{name}, µs", figure, limit))
    held = held_up_us(20 * rounds)
    theirs = REFUNC["event loop held up"]
    print(f"{'event loop held up':54}{held.value:10.2f}{theirs:12.0f}{theirs / held.value:11.0f}x")
    found.append(at_most("event loop held up, µs", held, 100.0))
    return found


def main() -> int:
    """Measure, and print what was promised."""
    found = rows(15 if "--quick" in sys.argv else 61)
    print(f"\n{verdicts(found)}")
    return 1 if any(row.verdict == "MISS" for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
