"""Works on a fixed beat: a fifth of each period in `short_part`, the rest in `long_part`.

Right answer: short_part : long_part = 1 : 4. A sampler whose own period equals
the beat and does not jitter sees only one of them.
"""

from __future__ import annotations

import time

from clockwork import shares

NAMES = ("short_part", "long_part")


def short_part(until: int) -> None:
    number = 0
    while time.perf_counter_ns() < until:
        number = number * 5 % 9973


def long_part(until: int) -> None:
    number = 0
    while time.perf_counter_ns() < until:
        number = number * 5 % 9973


def run(seconds: float, period_ms: float) -> dict[str, int]:
    """Keep the beat for `seconds`; return the CPU nanoseconds by function."""
    period = int(period_ms * 1e6)
    spent = {"short_part": 0, "long_part": 0}
    clock = time.thread_time_ns
    start = time.perf_counter_ns()
    for beat in range(int(seconds * 1e9 / period)):
        begin = start + beat * period
        first = clock()
        short_part(begin + period // 5)
        second = clock()
        long_part(begin + period)
        spent["short_part"] += second - first
        spent["long_part"] += clock() - second
    return spent


if __name__ == "__main__":
    print(shares(run(2.0, 10.0)))
