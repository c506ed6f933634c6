"""How the calls of one function, or one block, are watched."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ..._native import gpu_watch

if TYPE_CHECKING:
    from ..._data.combined import CombinedResult
    from ..validation._checks import Checks

__all__ = ["Part", "Plan", "checked_interval"]

Part = Literal["memory"] | Literal["system"] | Literal["combined"]

# The machine's memory changes slowly; where nobody asks for a course, the
# shared sampler needs no more.
SELDOM = 1.0


def checked_interval(seconds: float) -> float:
    """Return `seconds`; what is no time between samples is a ``ValueError``."""
    if not isinstance(seconds, (int, float)) or not 0.001 <= seconds < math.inf:
        raise ValueError(f"a sampling interval is 0.001 seconds or more, not {seconds!r}")
    return min(float(seconds), 1e5)


class Plan:
    """What is looked at, and what is made of it.

    Args:
        name: What results call it.
        part: Which result is handed out.
        timing_mode: The clock of a timing result; ``None``: there is none.
        timing_precision: Decimals of the seconds that are printed.
        memory_mode: How memory is looked at; ``None``: it is not.
        interval: Seconds between samples of the system; ``None``: it is not
            looked at.
        peak: Ask the kernel for the peak of the memory.
        traces: Record where memory is allocated.
        gpu: Look at graphics processors.
        gc_before: Collect garbage first.
        gc_after: Collect garbage before the end is measured.
        checks: What validators are asked.
        tell: Told of every result.
        keeps: The result is handed out.
        is_async: Calls run in an event loop.
        is_block: It is a block of code and has no arguments.
    """

    __slots__ = (
        "checks",
        "counts_collections",
        "gc_after",
        "gc_before",
        "gpu",
        "interval",
        "is_async",
        "is_block",
        "keeps",
        "memory_mode",
        "name",
        "part",
        "peak",
        "samples",
        "system",
        "tell",
        "timing_mode",
        "timing_precision",
        "traces",
    )

    def __init__(
        self,
        name: str,
        part: Part,
        *,
        timing_mode: str | None = None,
        timing_precision: int | None = None,
        memory_mode: str | None = None,
        interval: float | None = None,
        peak: bool = True,
        traces: bool = False,
        gpu: bool = False,
        gc_before: bool = False,
        gc_after: bool = False,
        checks: Checks | None = None,
        tell: Callable[[CombinedResult], object] | None = None,
        keeps: bool = False,
        is_async: bool = False,
        is_block: bool = False,
    ) -> None:
        self.name = name
        self.part = part
        self.timing_mode = timing_mode
        self.timing_precision = timing_precision
        self.memory_mode = memory_mode
        self.system = interval is not None
        self.interval = SELDOM if interval is None else checked_interval(interval)
        # Without time for one sample there is still the window's own reading.
        self.samples = self.system or memory_mode == "continuous"
        self.peak = peak and (memory_mode is not None or self.system)
        self.traces = traces
        self.gpu = gpu
        self.gc_before = gc_before
        self.gc_after = gc_after
        self.checks = checks
        self.tell = tell
        self.keeps = keeps or tell is not None
        # Asking for them takes a tenth of what a whole call may cost.
        is_thorough = part == "memory" or memory_mode in ("detailed", "continuous")
        self.counts_collections = self.keeps and memory_mode is not None and is_thorough
        self.is_async = is_async
        self.is_block = is_block
        if gpu:
            gpu_watch()
