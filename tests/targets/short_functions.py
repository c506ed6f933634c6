"""Calls three functions of a few microseconds each, in turn.

Right answer: the CPU of `tiny`, `small` and `middling` is in proportion to what
one call of each takes alone, which is measured before and after the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from clockwork import shares


def tiny(number: int) -> int:
    number = number * 5 % 9973
    number = number * 7 % 9973
    return number


def small(number: int) -> int:
    for step in range(20):
        number = (number * 5 + step) % 9973
    return number


def middling(number: int) -> int:
    for step in range(60):
        number = (number * 5 + step) % 9973
    return number


NAMES = ("tiny", "small", "middling")

# The call itself is mostly paid by the caller; `tiny` is called often so that
# its own share is worth measuring.
CALLS = {"tiny": 12, "small": 4, "middling": 2}


def mix(repeats: int) -> int:
    """Call the three in turn, `repeats` times."""
    number = 1
    for _ in range(repeats):
        for _ in range(12):
            number = tiny(number)
        for _ in range(4):
            number = small(number)
        for _ in range(2):
            number = middling(number)
    return number


def own_ns(function: Callable[[int], int]) -> float:
    """Return the CPU nanoseconds one call spends inside `function`.

    An empty function's cost is taken off: entering and leaving is the caller's.
    """
    return max(1.0, _per_call(function) - _per_call(_nothing))


def _nothing(number: int) -> int:
    return number


def _per_call(function: Callable[[int], int]) -> float:
    best = float("inf")
    for _ in range(9):
        begin = time.thread_time_ns()
        for _ in range(4_000):
            function(3)
        best = min(best, (time.thread_time_ns() - begin) / 4_000)
    return best


def run(cpu_seconds: float) -> dict[str, float]:
    """Work for about `cpu_seconds`; return the CPU nanoseconds by function."""
    functions = {"tiny": tiny, "small": small, "middling": middling}
    before = {name: own_ns(function) for name, function in functions.items()}
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        mix(200)
    after = {name: own_ns(function) for name, function in functions.items()}
    return {name: CALLS[name] * (before[name] + after[name]) / 2 for name in NAMES}


if __name__ == "__main__":
    print(shares(run(2.0)))
