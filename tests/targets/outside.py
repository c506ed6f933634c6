"""A program that is read from outside; runs on CPython 3.9 and newer, alone.

`python outside.py KIND [ARGUMENT]` prints its process id and then does, until its
standard input closes:

    deep N     calls itself N deep and burns CPU there: N frames of `deeper`, then `burn`
    calls      calls and returns as fast as it can; what may be called on a line is
               written behind it, so every stack that is seen is possible or not
    threads N  N threads that all burn CPU
    waits      three threads: one sleeps, one waits for a lock, one burns CPU
    native     sorts in C with a Python callback, and compresses in C
    locals     stands still with known local variables
    tasks      an event loop with tasks that wait for each other
    busy-task  a task `worker` that burns CPU and holds a coroutine that nobody awaits
    exec       replaces itself by a program that sleeps, after half a second
    ends FILE  ends half a second after something was written to FILE
"""

from __future__ import annotations

import os
import sys
import threading
import time
import zlib
from collections.abc import Iterator


def burn() -> int:
    total = 0
    for number in range(2000):
        total += number * number % 7
    return total


def deeper(left: int) -> int:
    if left > 1:
        return deeper(left - 1)  # -> deeper
    while True:
        burn()  # -> burn


def leaf_a(number: int) -> int:
    return number * 3 % 101


def leaf_b(number: int) -> int:
    return number * 5 % 103


def left(number: int) -> int:
    number = leaf_a(number)  # -> leaf_a
    number = leaf_b(number)  # -> leaf_b
    return number


def right(number: int) -> int:
    number = leaf_b(number)  # -> leaf_b
    number = left(number)  # -> left
    return number


def produced(count: int) -> Iterator[int]:
    for number in range(count):
        number = leaf_a(number)  # -> leaf_a
        yield number


def relayed(count: int) -> Iterator[int]:
    yield from produced(count)  # -> produced


def summed(count: int) -> int:
    total = 0
    for number in relayed(count):  # -> relayed
        total += right(number)  # -> right
    return total


def key(number: int) -> int:
    return leaf_b(number)  # -> leaf_b


def sorted_by_key() -> int:
    return sorted(range(8), key=key)[0]  # -> key


def calls() -> None:
    while True:
        summed(5)  # -> summed
        sorted_by_key()  # -> sorted_by_key
        right(3)  # -> right


def burner() -> None:
    while True:
        burn()


def sleeper() -> None:
    while True:
        time.sleep(1000)


def waiter(lock: threading.Lock) -> None:
    lock.acquire()


def waits() -> None:
    lock = threading.Lock()
    lock.acquire()
    for name, work, arguments in (
        ("sleeping-1", sleeper, ()),
        ("waiting-1", waiter, (lock,)),
        ("burning-1", burner, ()),
    ):
        threading.Thread(target=work, name=name, args=arguments, daemon=True).start()
    ready()


def key_by_digit(number: int) -> int:
    return number % 7


def native() -> None:
    data = bytes(range(256)) * 4000
    numbers = list(range(3000))
    while True:
        zlib.compress(data, 9)
        numbers.sort(key=key_by_digit)


def locals_here() -> None:
    number, large, real, text = 42, -(10**30), 2.5, "héllo"
    nothing, yes, items, pairs = None, True, [1, 2, 3], {"a": 1}
    many, raw = (1, 2), b"bytes"
    ready()
    _ = (number, large, real, text, nothing, yes, items, pairs, many, raw)


def tasks() -> None:
    import asyncio

    async def read_stream() -> None:
        await asyncio.sleep(1000)

    async def download() -> None:
        await read_stream()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        made = [loop.create_task(download(), name=f"fetch-{number}") for number in range(3)]
        loop.call_later(0.05, loop.run_in_executor, None, ready)  # when all of them wait
        await asyncio.gather(*made)

    asyncio.run(main())


def busy_task() -> None:
    import asyncio

    async def never_awaited() -> None: ...

    async def work() -> None:
        threading.Thread(target=ready, daemon=True).start()
        passed_on = never_awaited()
        while True:
            isinstance(passed_on, str) or burn()

    async def main() -> None:
        await asyncio.get_running_loop().create_task(work(), name="worker")

    asyncio.run(main())


def ready() -> None:
    """Tell that everything is in place, and wait until standard input closes."""
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    kind = sys.argv[1]
    argument = int(sys.argv[2]) if sys.argv[2:] and sys.argv[2].isdigit() else 0
    prepare = {"waits": waits, "tasks": tasks, "busy-task": busy_task, "locals": locals_here}
    if kind in prepare:
        prepare[kind]()
        return
    threading.Thread(target=ready, daemon=True).start()
    if kind == "deep":
        deeper(argument)  # -> deeper
    elif kind == "calls":
        calls()  # -> calls
    elif kind == "native":
        native()
    elif kind == "threads":
        for number in range(argument):
            threading.Thread(target=burner, name=f"burning-{number}", daemon=True).start()
        time.sleep(1000)
    elif kind == "exec":
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            burn()
        os.execvp("sleep", ["sleep", "1000"])
    elif kind == "ends":
        while not (os.path.exists(sys.argv[2]) and os.path.getsize(sys.argv[2])):
            burn()
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            burn()


if __name__ == "__main__":
    main()  # -> main
