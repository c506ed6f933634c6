"""Threads that all want the GIL all the time.

Right answer: each gets the CPU its own clock says, and together they get what
one core gives (all cores, where there is no GIL).
"""

from __future__ import annotations

import threading
import time

from clockwork import spin


def fighter(until: float, spent: dict[str, int]) -> None:
    begin = time.thread_time_ns()
    while time.monotonic() < until:
        spin(500)
    spent[threading.current_thread().name] = time.thread_time_ns() - begin


def run(seconds: float, threads: int = 4) -> dict[str, int]:
    """Fight for `seconds`; return the CPU nanoseconds by thread."""
    spent: dict[str, int] = {}
    until = time.monotonic() + seconds
    all_threads = [
        threading.Thread(target=fighter, args=(until, spent), name=f"fighter-{index}")
        for index in range(threads)
    ]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    return spent
