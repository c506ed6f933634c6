"""Works half of the time and sleeps the other half.

Right answer: CPU time is all in `busy`; of the wall time `busy` and `asleep`
have about a half each, and `run` returns what the clocks said.
"""

from __future__ import annotations

import time

from clockwork import Ledger, rounds_per_ms, shares

NAMES = ("busy", "asleep")


def busy(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def asleep(seconds: float) -> None:
    time.sleep(seconds)  # line: asleep


def run(seconds: float) -> Ledger:
    """Work and sleep for about `seconds`; return CPU and wall time by function."""
    unit = rounds_per_ms()
    ledger = Ledger()
    while sum(ledger.wall_ns.values()) < seconds * 1e9:
        ledger.charge("busy", busy, unit * 23)
        ledger.charge("asleep", asleep, 0.023)
    return ledger


if __name__ == "__main__":
    answer = run(2.0)
    print(shares(answer.cpu_ns), shares(answer.wall_ns))
