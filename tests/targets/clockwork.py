"""Work of a stated size, and the ledger that says what it really took.

Targets size their work by the CPU clock before they start, then do a fixed
number of rounds: a busy machine makes them slower, not different. The ledger
measures each piece by the thread's own CPU clock, so the right answer is known
to a fraction of a per cent whatever the calibration was worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def spin(rounds: int) -> int:
    """Do `rounds` rounds of arithmetic in this frame."""
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def rounds_per_ms() -> int:
    """Return how many rounds of `spin` take one millisecond of CPU."""
    rounds = 20_000
    best = min(_cpu_ns(rounds) for _ in range(7))
    return max(1, rounds * 1_000_000 // best)


def _cpu_ns(rounds: int) -> int:
    begin = time.thread_time_ns()
    spin(rounds)
    return max(1, time.thread_time_ns() - begin)


def cpu_ns(work: Callable[..., object], *arguments: object) -> int:
    """Run `work` and return the CPU nanoseconds it took of this thread."""
    begin = time.thread_time_ns()
    work(*arguments)
    return time.thread_time_ns() - begin


class Ledger:
    """Nanoseconds by name, as the calling thread's clocks saw them."""

    def __init__(self) -> None:
        self.cpu_ns: dict[str, int] = {}
        self.wall_ns: dict[str, int] = {}

    def charge(self, name: str, work: Callable[..., object], *arguments: object) -> None:
        """Run `work` and book what it took under `name`."""
        wall = time.perf_counter_ns()
        cpu = time.thread_time_ns()
        work(*arguments)
        self.cpu_ns[name] = self.cpu_ns.get(name, 0) + time.thread_time_ns() - cpu
        self.wall_ns[name] = self.wall_ns.get(name, 0) + time.perf_counter_ns() - wall


def shares(parts: dict[str, int] | dict[str, float]) -> dict[str, float]:
    """Return each part as a share of the whole, 0 to 1."""
    whole = sum(parts.values())
    return {name: part / whole for name, part in parts.items()} if whole else {}
