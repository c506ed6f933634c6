"""Recursion: to a known depth, and until the interpreter refuses.

Right answer: every full stack has `depth` frames of `descend` above one
`at_the_bottom`; a `RecursionError` stays an ordinary exception.
"""

from __future__ import annotations

import sys

from clockwork import spin


def at_the_bottom(rounds: int) -> int:
    return spin(rounds)


def descend(depth: int, rounds: int) -> int:
    if depth <= 1:
        return at_the_bottom(rounds)
    return descend(depth - 1, rounds)


def endless(depth: int) -> int:
    return endless(depth + 1) + 1


def run(depth: int, rounds: int) -> None:
    """Do `rounds` rounds of work below `depth` frames of `descend`."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, depth + 1000))
    try:
        descend(depth, rounds)
    finally:
        sys.setrecursionlimit(before)


def overflow(times: int) -> int:
    """Provoke `RecursionError` so many times; return how often it came."""
    caught = 0
    for _ in range(times):
        try:
            endless(0)
        except RecursionError:
            caught += 1
    return caught
