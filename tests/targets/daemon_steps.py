"""Ends while a daemon thread is in a step of a timed coroutine or generator."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator

from tachograph.decorators import time_it

begun = threading.Event()


def work() -> None:
    begun.set()
    while True:
        sum(range(1000))


@time_it
def generator() -> Iterator[int]:
    yield 1
    work()


@time_it
async def coroutine() -> None:
    await asyncio.sleep(0)
    work()


@time_it
async def async_generator() -> AsyncIterator[int]:
    yield 1
    work()


async def consume() -> None:
    async for _ in async_generator():
        pass


KINDS = {
    "generator": lambda: list(generator()),
    "coroutine": lambda: asyncio.run(coroutine()),
    "async generator": lambda: asyncio.run(consume()),
}

threading.Thread(target=KINDS[sys.argv[1]], daemon=True).start()
begun.wait(10)
time.sleep(0.05)
print("the end")
