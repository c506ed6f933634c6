"""Calls three functions of one to ten microseconds each, in turn.

Right answer: the CPU of `brief`, `small` and `middling` is in proportion to what
one call of each takes alone: `own_ns()`, asked before and after `run()`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from clockwork import shares


def brief(number: int) -> int:
    for step in range(16):
        number = (number * 5 + step) % 9973
    return number


def small(number: int) -> int:
    for step in range(48):
        number = (number * 5 + step) % 9973
    return number


def middling(number: int) -> int:
    for step in range(144):
        number = (number * 5 + step) % 9973
    return number


NAMES = ("brief", "small", "middling")
CALLS = {"brief": 6, "small": 3, "middling": 1}


def mix(repeats: int) -> int:
    """Call the three in turn, `repeats` times."""
    number = 1
    for _ in range(repeats):
        for _ in range(6):
            number = brief(number)
        for _ in range(3):
            number = small(number)
        number = middling(number)
    return number


def run(cpu_seconds: float) -> None:
    """Call them for about `cpu_seconds`."""
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        mix(200)


def own_ns() -> dict[str, float]:
    """Return the CPU nanoseconds of the calls of one round, by function.

    Half of what a call itself costs is the function's, half the caller's: that
    is 1 or 2 % of `brief`.
    """
    functions = {"brief": brief, "small": small, "middling": middling}
    best = dict.fromkeys((*functions, "nothing"), float("inf"))
    # In turn, so that all of them meet the machine in the same mood.
    for _ in range(15):
        for name, function in (*functions.items(), ("nothing", _nothing)):
            best[name] = min(best[name], _per_call(function))
    return {name: CALLS[name] * (best[name] - best["nothing"] / 2) for name in NAMES}


def truth(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Return the mean of two answers of `own_ns()`."""
    return {name: (before[name] + after[name]) / 2 for name in NAMES}


def _nothing(number: int) -> int:
    return number


def _per_call(function: Callable[[int], int]) -> float:
    begin = time.thread_time_ns()
    for _ in range(500):
        function(3)
    return (time.thread_time_ns() - begin) / 500


if __name__ == "__main__":
    for _ in range(4):
        print(shares(own_ns()))
