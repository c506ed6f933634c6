"""Threads that wait in a raw `poll()` and count how often a signal cut it short.

Right answer: no wait of 50 ms or more is ever interrupted by the recorder, and
of waits of 2 to 4 ms less than one in fifty. Python's own calls retry after
EINTR, so the C library is called directly.
"""

from __future__ import annotations

import ctypes
import errno
import threading
import time

from clockwork import spin


class Waits:
    """What became of the waits of one kind."""

    def __init__(self) -> None:
        self.done = 0
        self.interrupted = 0


def wait_raw(waits: Waits, wait_ms: tuple[int, ...], until: float, fewest: int) -> None:
    """Wait `wait_ms` in turn until the clock shows `until`, and `fewest` times at least."""
    poll = ctypes.CDLL(None, use_errno=True).poll
    poll.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int]
    turn = 0
    while time.monotonic() < until or waits.done < fewest:
        ctypes.set_errno(0)
        answer = poll(None, 0, wait_ms[turn % len(wait_ms)])
        turn += 1
        waits.done += 1
        if answer == -1 and ctypes.get_errno() == errno.EINTR:
            waits.interrupted += 1


def run(
    seconds: float,
    wait_ms: tuple[int, ...],
    threads: int = 4,
    *,
    busy: bool = True,
    fewest: int = 1,
) -> Waits:
    """Wait in `threads` threads for `seconds`, beside one busy thread.

    On a machine that is busy they go on until there were `fewest` waits in all.
    """
    each_fewest = -(-fewest // threads)
    until = time.monotonic() + seconds
    each = [Waits() for _ in range(threads)]
    waiting = [
        threading.Thread(
            target=wait_raw, args=(waits, wait_ms, until, each_fewest), name=f"waiter-{index}"
        )
        for index, waits in enumerate(each)
    ]
    for thread in waiting:
        thread.start()
    while busy and any(thread.is_alive() for thread in waiting):
        spin(20_000)
    for thread in waiting:
        thread.join()
    total = Waits()
    total.done = sum(waits.done for waits in each)
    total.interrupted = sum(waits.interrupted for waits in each)
    return total


if __name__ == "__main__":
    for kinds in ((50, 80), (2, 3, 4)):
        result = run(1.0, kinds)
        print(kinds, result.interrupted, "of", result.done)
