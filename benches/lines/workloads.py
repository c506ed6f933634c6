"""Functions whose lines are counted, and how many lines one round of each has.

Every tool gets a copy of its own: counting must not add up.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

Work = Callable[[int], object]


def tight(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


def branchy(n: int) -> int:
    even = odd = 0
    for i in range(n):
        if i & 1:
            odd += i
        else:
            even += i
    return even - odd


def helper(x: int) -> int:
    y = x + 1
    return y * 2


def calls(n: int) -> int:
    total = 0
    for i in range(n):
        total += helper(i)
    return total


def heavy(n: int) -> int:
    total = 0
    for i in range(n):
        total += sum(range(200))
        total += len(sorted(range(i % 50, 0, -1)))
    return total


def unrelated(n: int) -> int:
    """Nobody watches this one."""
    total = 0
    for i in range(n):
        total += helper(i)
        if total > 1_000_000:
            total -= i
    return total


def failing() -> None:
    raise ValueError


def unrelated_exceptions(n: int) -> None:
    """Nobody watches this one, which is left by an exception each time."""
    for _ in range(n):
        try:
            failing()
        except ValueError:
            continue


# Lines that begin in one round of the loop.
LINES = {tight: 2, branchy: 3, calls: 2, heavy: 3}


def copy(function: Work) -> Work:
    """Return the same function with a code object of its own."""
    assert isinstance(function, FunctionType)
    code = function.__code__.replace(co_name=function.__code__.co_name)
    return FunctionType(code, function.__globals__, function.__name__)
