"""Spends 10, 20 and 70 % of its CPU time in `ten`, `twenty` and `seventy`.

Right answer: CPU of ten : twenty : seventy = 1 : 2 : 7, whatever the machine's
speed; `run` returns what the thread's CPU clock said.
"""

from __future__ import annotations

from clockwork import Ledger, rounds_per_ms, shares


def ten(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def twenty(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def seventy(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


NAMES = ("ten", "twenty", "seventy")


def run(cpu_seconds: float, unit: int | None = None) -> dict[str, int]:
    """Work for about `cpu_seconds`; return the CPU nanoseconds by function."""
    unit = unit or rounds_per_ms()
    ledger = Ledger()
    # One cycle is 37 ms: a number no usual sampling period divides.
    for _ in range(max(1, round(cpu_seconds / 0.037))):
        ledger.charge("ten", ten, int(unit * 3.7))
        ledger.charge("twenty", twenty, int(unit * 7.4))
        ledger.charge("seventy", seventy, int(unit * 25.9))
    return ledger.cpu_ns


if __name__ == "__main__":
    print(shares(run(2.0)))
