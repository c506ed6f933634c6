"""Four threads that use 10, 20, 30 and 40 % of the CPU time.

Right answer: CPU of worker-10 : worker-20 : worker-30 : worker-40 = 1 : 2 : 3 : 4;
`run` returns what each thread's own CPU clock said. Threads have real names.
"""

from __future__ import annotations

import threading
import time

from clockwork import rounds_per_ms, shares

PARTS = (10, 20, 30, 40)


def work(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def worker(rounds: int, spent: dict[str, int]) -> None:
    begin = time.thread_time_ns()
    for _ in range(100):
        work(rounds // 100)
    spent[threading.current_thread().name] = time.thread_time_ns() - begin


def run(cpu_seconds: float) -> dict[str, int]:
    """Work for about `cpu_seconds` in all; return the CPU nanoseconds by thread."""
    unit = rounds_per_ms()
    spent: dict[str, int] = {}
    threads = [
        threading.Thread(
            target=worker,
            args=(int(unit * cpu_seconds * 10 * part), spent),
            name=f"worker-{part}",
        )
        for part in PARTS
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent


if __name__ == "__main__":
    print(shares(run(2.0)))
