"""Named asyncio tasks that use 1, 2 and 3 parts of the loop's CPU time.

Right answer: CPU of task-one : task-two : task-three = 1 : 2 : 3; `run` returns
what the CPU clock said. A fourth task, without a name of its own, only sleeps.
"""

from __future__ import annotations

import asyncio
import time

from clockwork import rounds_per_ms, shares

PARTS = {"task-one": 1, "task-two": 2, "task-three": 3}


def crunch(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


async def inner(rounds: int) -> None:
    crunch(rounds)


async def worker(rounds: int, steps: int, spent: dict[str, int]) -> None:
    name = asyncio.current_task().get_name()  # type: ignore[union-attr]
    for _ in range(steps):
        begin = time.thread_time_ns()
        await inner(rounds)
        spent[name] = spent.get(name, 0) + time.thread_time_ns() - begin
        await asyncio.sleep(0)


async def sleeper(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def main(cpu_seconds: float) -> dict[str, int]:
    unit = rounds_per_ms()
    spent: dict[str, int] = {}
    # Each step takes 2, 4 or 6 ms of CPU.
    steps = max(1, int(cpu_seconds * 1000 / 12))
    resting = asyncio.create_task(sleeper(cpu_seconds / 4))
    workers = [
        asyncio.create_task(worker(unit * 2 * part, steps, spent), name=name)
        for name, part in PARTS.items()
    ]
    await asyncio.gather(resting, *workers)
    return spent


def run(cpu_seconds: float) -> dict[str, int]:
    """Work for about `cpu_seconds`; return the CPU nanoseconds by task."""
    return asyncio.run(main(cpu_seconds))


if __name__ == "__main__":
    print(shares(run(2.0)))
