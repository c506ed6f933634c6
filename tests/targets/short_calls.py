"""Makes a short system call and a little arithmetic in turn, every few microseconds.

Right answer: CPU of `ask` : `reckon` as each takes alone.
A sampler whose signals take microseconds to arrive sees `ask` almost only.
"""

from __future__ import annotations

import os
import time

NAMES = ("ask", "reckon")
ROUNDS = 20_000


def ask() -> None:
    os.stat("/")


def reckon() -> int:
    return sum(range(60))


def _alone() -> dict[str, int]:
    """Return the CPU time that each function takes by itself."""
    took = {}
    for name, function in (("ask", ask), ("reckon", reckon)):
        begin = time.thread_time_ns()
        for _ in range(ROUNDS):
            function()
        took[name] = time.thread_time_ns() - begin
    return took


def run(seconds: float) -> None:
    """Alternate for `seconds` of CPU time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(200):
            ask()
            reckon()


def truth() -> dict[str, int]:
    """Return how the two share the time; the least of five timings, as an
    interruption can only add to one."""
    timings = [_alone() for _ in range(5)]
    return {name: min(timing[name] for timing in timings) for name in NAMES}
