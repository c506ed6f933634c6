"""The kinds of work that make an interpreter hard to read while it runs.

Each kind is a function that does a little of it and returns; a stress program
repeats them from several threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator


def threads_start_and_die() -> None:
    for _ in range(8):
        thread = threading.Thread(target=lambda: sum(range(2_000)))
        thread.start()
    thread.join()


def countdown(number: int) -> Iterator[int]:
    while number:
        yield number
        number -= 1


def nested(depth: int) -> Iterator[int]:
    if depth:
        yield from nested(depth - 1)
    yield from countdown(5)


def generators() -> None:
    for _ in range(20):
        sum(nested(20))
    half_used = nested(30)
    next(half_used)
    half_used.close()


def raise_deep(depth: int) -> None:
    if depth == 0:
        raise KeyError(depth)
    try:
        raise_deep(depth - 1)
    finally:
        len("x")


def exceptions() -> None:
    for _ in range(20):
        try:
            raise_deep(30)
        except KeyError as error:
            str(error.__traceback__)


class Node:
    """Part of a cycle, with a finaliser that runs Python."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        sum(range(50))


def garbage() -> None:
    for _ in range(100):
        Node()
    gc.collect(0)


def made_code() -> None:
    for number in range(20):
        place: dict[str, object] = {}
        text = (
            f"def f{number}(x):\n"
            + "".join(f"    x += {i}\n" for i in range(number))
            + "    return x"
        )
        exec(compile(text, f"<stress {number}>", "exec"), place)
        place[f"f{number}"](1)  # type: ignore[operator]


def endless(depth: int = 0) -> int:
    return endless(depth + 1) + 1


def recursion_errors() -> None:
    with contextlib.suppress(RecursionError):
        endless()


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


@COMPARE
def by_value(left, right):
    return left[0] - right[0]


def callbacks_from_c() -> None:
    numbers = (ctypes.c_int * 60)(*(i * 7919 % 101 for i in range(60)))
    ctypes.CDLL(None).qsort(numbers, 60, ctypes.sizeof(ctypes.c_int), by_value)
    sorted(range(200), key=lambda number: -number)


async def hop(depth: int) -> int:
    await asyncio.sleep(0)
    return await hop(depth - 1) if depth else 1


async def many_hops() -> None:
    await asyncio.gather(*(hop(5) for _ in range(20)))


def event_loops() -> None:
    asyncio.run(many_hops())


def forks() -> None:
    child = os.fork()
    if child == 0:
        sum(range(1_000))
        os._exit(0)
    os.waitpid(child, 0)


def subprocesses() -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)


LIGHT: list[Callable[[], None]] = [
    threads_start_and_die,
    generators,
    exceptions,
    garbage,
    made_code,
    recursion_errors,
    callbacks_from_c,
]
HEAVY: list[Callable[[], None]] = [event_loops, forks, subprocesses]
