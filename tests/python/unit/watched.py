"""What the tests of monitors share: all doors, known loads, a clean slate."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from tachograph.decorators import (
    clear_memory_stats,
    clear_timing_stats,
    full_monitor,
    memory_profile,
    performance_monitor,
    quick_monitor,
    system_monitor,
)

MB = 1_000_000
# The kernel counts pages in batches, one for each processor.
UNCERTAIN = MB

ALL_DOORS = [
    memory_profile,
    system_monitor,
    performance_monitor,
    quick_monitor(print_results=False),
    full_monitor(print_results=False),
]


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    clear_memory_stats()
    clear_timing_stats()
    yield
    clear_memory_stats()
    clear_timing_stats()


def hold(size: int) -> None:
    """Hold `size` bytes of physical memory for a moment."""
    block = bytearray(size)
    block[:: os.sysconf("SC_PAGESIZE")] = b"x" * len(block[:: os.sysconf("SC_PAGESIZE")])


def doze(seconds: float) -> None:
    """Sleep in pieces, in each of which the sampler has its turn.

    A machine that stands still for a while makes one of them longer, and the
    others none the fewer.
    """
    for _ in range(round(seconds / 0.02)):
        time.sleep(0.02)


def burn(cpu_seconds: float) -> None:
    """Use `cpu_seconds` of this thread's CPU clock."""
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        pass
