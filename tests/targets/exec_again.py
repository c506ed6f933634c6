"""Replaces itself by another program while it is being recorded.

Right answer: the other program runs and says so. A pending signal survives
`exec`, its handler does not; a profiler's signal that kills by default kills
the new program.

Arguments: interval in ms, trigger, busy milliseconds before the exec.
"""

from __future__ import annotations

import os
import sys
import time

import tachograph
from clockwork import spin

SURVIVOR = "import sys; sys.stdout.write('survived')"


def main(interval_ms: str, trigger: str, busy_ms: str) -> None:
    tachograph.start(interval_ms=int(interval_ms), trigger=trigger)
    end = time.monotonic() + int(busy_ms) / 1000
    while time.monotonic() < end:
        spin(2_000)
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", SURVIVOR])


if __name__ == "__main__":
    main(*sys.argv[1:])
