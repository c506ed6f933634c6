"""``profiler.process``: this process now, by the names psutil made common."""

from __future__ import annotations

import os
from time import perf_counter, process_time
from typing import NamedTuple

from .._native import process_figures


class ProcessMemory(NamedTuple):
    """Memory of the process, in bytes.

    Attributes:
        rss: In physical memory.
        vms: Addresses that are in use.
        shared: Of ``rss``, what other processes may share.
    """

    rss: int
    vms: int
    shared: int


class ProcessReadings:
    """The process that asks, also after a fork. Every call asks the kernel."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since = _clocks()

    @property
    def pid(self) -> int:
        """The number of this process."""
        return os.getpid()

    def memory_info(self) -> ProcessMemory:
        """Return the memory the process holds now."""
        now = process_figures()
        return ProcessMemory(now["rss_bytes"], now["virtual_bytes"], now["shared_bytes"])

    def cpu_percent(self) -> float:
        """Return CPU time by elapsed time since the call before; 100 is one core.

        The first call counts from when the profiler was made; the first one in a
        forked child says 0.0.
        """
        before, now = self._since, _clocks()
        self._since = now
        pid, elapsed, cpu = now[0], now[1] - before[1], now[2] - before[2]
        return 100.0 * cpu / elapsed if pid == before[0] and elapsed > 0 else 0.0

    def num_threads(self) -> int:
        """Return how many threads the kernel runs for the process, native ones too."""
        threads: int = process_figures()["threads"]
        return threads

    def __repr__(self) -> str:
        return f"<ProcessReadings of process {self.pid}>"


def _clocks() -> tuple[int, float, float]:
    """Return whose clocks these are, elapsed seconds and CPU seconds."""
    return os.getpid(), perf_counter(), process_time()
