"""Greenlets that switch all the time.

Right answer: every stack of `ping` goes through `ping_outer`, every one of
`pong` through `pong_outer`; never both on one stack.
"""

from __future__ import annotations

import time
from typing import Any

from clockwork import spin


def run(seconds: float) -> int:
    """Switch for `seconds` of CPU time; return the number of switches."""
    import greenlet

    end = time.thread_time() + seconds
    switches = 0

    def ping() -> None:
        spin(200)

    def pong() -> None:
        spin(200)

    def ping_outer() -> None:
        nonlocal switches
        while time.thread_time() < end:
            ping()
            switches += 1
            two.switch()

    def pong_outer() -> None:
        while True:
            pong()
            one.switch()

    one: Any = greenlet.greenlet(ping_outer)
    two: Any = greenlet.greenlet(pong_outer)
    one.switch()
    return switches
