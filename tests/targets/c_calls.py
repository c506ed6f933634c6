"""Spends its CPU time in C calls that release the GIL, ones that keep it, and Python.

Right answer: `run` returns the CPU nanoseconds of `compressing` (zlib, GIL
released), `sorting` (list.sort, GIL held) and `looping` (bytecode), each on its
line, measured by the thread's CPU clock.
"""

from __future__ import annotations

import random
import zlib

from clockwork import Ledger, rounds_per_ms, shares

NAMES = ("compressing", "sorting", "looping")


def compressing(data: bytes, times: int) -> None:
    for _ in range(times):
        zlib.compress(data, 6)  # line: compressing


def sorting(numbers: list[float], times: int) -> None:
    for _ in range(times):
        sorted(numbers)  # line: sorting


def looping(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def run(cpu_seconds: float) -> dict[str, int]:
    """Work for about `cpu_seconds`; return the CPU nanoseconds by function."""
    chance = random.Random(3)
    data = bytes(chance.choices(b"abcdefgh", k=60_000))
    numbers = [chance.random() for _ in range(20_000)]
    unit = rounds_per_ms()
    ledger = Ledger()
    while sum(ledger.cpu_ns.values()) < cpu_seconds * 1e9:
        ledger.charge("compressing", compressing, data, 3)
        ledger.charge("sorting", sorting, numbers, 2)
        ledger.charge("looping", looping, unit * 6)
    return ledger.cpu_ns


if __name__ == "__main__":
    print(shares(run(2.0)))
