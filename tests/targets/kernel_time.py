"""Spends most of its CPU time inside system calls.

Right answer: `run` returns the CPU nanoseconds of `asking` (os.stat), `reading`
(32 KB reads) and `looping` (bytecode). A thread that works in the kernel is not
a thread that waits.
"""

from __future__ import annotations

import os

from clockwork import Ledger, rounds_per_ms, shares

NAMES = ("asking", "reading", "looping")


def asking(times: int) -> None:
    for _ in range(times):
        os.stat("/")


def reading(times: int) -> None:
    zeros = os.open("/dev/zero", os.O_RDONLY)
    room = bytearray(1 << 15)
    for _ in range(times):
        os.readv(zeros, [room])
    os.close(zeros)


def looping(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def run(cpu_seconds: float) -> dict[str, int]:
    """Work for about `cpu_seconds`; return the CPU nanoseconds by function."""
    unit = rounds_per_ms()
    ledger = Ledger()
    # Long pieces: where the ledger reads the CPU clock, the kernel notices that a thread's turn
    # is over. On a busy machine it is pushed aside just there, and looks as if it spent time there.
    while sum(ledger.cpu_ns.values()) < cpu_seconds * 1e9:
        ledger.charge("asking", asking, 15_000)
        ledger.charge("reading", reading, 10_000)
        ledger.charge("looping", looping, unit * 30)
    return ledger.cpu_ns


if __name__ == "__main__":
    print(shares(run(2.0)))
