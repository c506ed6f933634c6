"""Times a loop plainly, while its lines are counted, and as the line table tells it.

Right answer: what the table tells lies nearer to the plain time than to the
watched one, because what counting takes is measured and left out. Prints the
three in seconds, for the loop near the top of its file and for a copy far down,
where the interpreter makes an object for the number of each line. Each is the
fastest of many short runs that take turns, so that all of them meet the machine
in the same mood. What counting takes is measured once in a process, so this is a
program of its own.

With `refused` no place is left for the first table that is opened, so that what
counting takes is measured later.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from types import FunctionType
from typing import NamedTuple

import tachograph

# Numbers above 256 are made each time, from 3.15 on those above 1024.
FAR = 5_000
ROUNDS = 100

Work = Callable[[int], int]


class Costs(NamedTuple):
    """Seconds that a loop takes, that it takes while watched, and that its table tells."""

    plain: float
    watched: float
    told: float

    @property
    def told_share(self) -> float:
        """The share of what counting takes that is in the lines' times."""
        return (self.told - self.plain) / (self.watched - self.plain)


def ask(*how: str) -> tuple[Costs, Costs]:
    """Run this program; return what it printed: near the top, and far down."""
    program = [sys.executable, __file__, *how]
    printed = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    near, far = (Costs(*map(float, line.split())) for line in printed.splitlines())
    return near, far


def busy(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
        total = abs(total) + len("text")
    return total


def far_down(work: Work) -> Work:
    assert isinstance(work, FunctionType)
    return FunctionType(work.__code__.replace(co_firstlineno=FAR), globals())


def be_refused() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    for place in (2, 3, 4):
        monitoring.use_tool_id(place, "someone else")
    with contextlib.suppress(tachograph.TachographError):
        tachograph.lines(busy).start()
    for place in (2, 3, 4):
        monitoring.free_tool_id(place)


def plain(work: Work) -> float:
    begin = time.perf_counter()
    work(300)
    return time.perf_counter() - begin


def watched(work: Work) -> float:
    with tachograph.lines(work):
        return plain(work)


def told(work: Work) -> float:
    with tachograph.lines(work) as table:
        work(300)
    return sum(row.time for row in table.rows)


def main() -> None:
    if "refused" in sys.argv:
        be_refused()
    works = (busy, far_down(busy))
    rounds = [
        [way(work) for work in works for way in (plain, watched, told)] for _ in range(ROUNDS)
    ]
    fastest = [min(times) for times in zip(*rounds, strict=True)]
    print(*fastest[:3])
    print(*fastest[3:])


if __name__ == "__main__":
    main()
