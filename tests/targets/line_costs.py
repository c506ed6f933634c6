"""Times a loop plainly, while its lines are counted, and as the line table tells it.

Right answer: what the table tells lies nearer to the plain time than to the
watched one, because what counting takes is measured and left out. Prints the
three in seconds, the fastest of many short runs each. What counting takes is
measured once in a process, so this is a program of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import tachograph


def busy(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
        total = abs(total) + len("text")
    return total


def plain() -> float:
    begin = time.perf_counter()
    busy(300)
    return time.perf_counter() - begin


def watched() -> float:
    with tachograph.lines(busy):
        return plain()


def told() -> float:
    with tachograph.lines(busy) as table:
        busy(300)
    return sum(row.time for row in table.rows)


def fastest(work: Callable[[], float]) -> float:
    return min(work() for _ in range(60))


if __name__ == "__main__":
    print(fastest(plain), fastest(watched), fastest(told))
