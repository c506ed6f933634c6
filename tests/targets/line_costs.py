"""Times a loop plainly, while its lines are counted, and as the line table tells it.

Right answer: what the table tells lies nearer to the plain time than to the
watched one, because what counting takes is measured and left out. Prints the
three in seconds, the fastest of many short runs each. What counting takes is
measured once in a process, so this is a program of its own.

With `far` the loop stands far down in its file, where the interpreter makes an
object for the number of each line. With `refused` no place is left for the
first table that is opened, so that what counting takes is measured later.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from types import FunctionType

import tachograph

# Numbers above 256 are made each time, from 3.15 on those above 1024.
FAR = 5_000


def busy(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
        total = abs(total) + len("text")
    return total


def stand_far_down() -> None:
    assert isinstance(busy, FunctionType)
    busy.__code__ = busy.__code__.replace(co_firstlineno=FAR)


def be_refused() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    for place in (2, 3, 4):
        monitoring.use_tool_id(place, "someone else")
    with contextlib.suppress(tachograph.TachographError):
        tachograph.lines(busy).start()
    for place in (2, 3, 4):
        monitoring.free_tool_id(place)


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
    if "far" in sys.argv:
        stand_far_down()
    if "refused" in sys.argv:
        be_refused()
    print(fastest(plain), fastest(watched), fastest(told))
