"""Spends 30 and 70 % of its CPU time in spans `prepare` and `compute` of each `round`.

Right answer: CPU within prepare : compute = 3 : 7, whatever the machine's speed;
`run` returns what the thread's CPU clock said. `prepare` runs only the function
`preparing`, `compute` only `computing`.
"""

from __future__ import annotations

import tachograph
from clockwork import Ledger, rounds_per_ms, shares


def preparing(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def computing(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


FUNCTIONS = {"prepare": "preparing", "compute": "computing"}


def run(cpu_seconds: float) -> dict[str, int]:
    """Work for about `cpu_seconds`; return the CPU nanoseconds by span."""
    unit = rounds_per_ms()
    ledger = Ledger()
    # One round is 37 ms: a number no usual sampling period divides.
    for number in range(max(1, round(cpu_seconds / 0.037))):
        with tachograph.span("round", number=number):
            with tachograph.span("prepare"):
                ledger.charge("prepare", preparing, int(unit * 11.1))
            with tachograph.span("compute"):
                ledger.charge("compute", computing, int(unit * 25.9))
    return ledger.cpu_ns


if __name__ == "__main__":
    print(shares(run(2.0)))
