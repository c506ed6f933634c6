"""How much memory functions and blocks take, and where.

The kernel keeps the peak, so it is seen however short it was. No thread is
started for a call; the course of the memory comes from one sampler that the
whole program shares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from .._data.memory import MemoryMode, MemoryResult, MemorySnapshot, MemoryStats
from .._native import peak_memory
from .._types import P, R
from ._monitors.doors import WatchedBlock, checked_name, print_table, refuse_plain, watched
from ._monitors.leaks import MemoryLeakDetector
from ._monitors.machine import memory_now
from ._monitors.plan import Plan
from ._monitors.running import MemoryMonitor
from ._monitors.totals import clear_memory_stats, get_memory_stats

if TYPE_CHECKING:
    from ._shapes import Block, WithResult
__all__ = [
    "MemoryLeakDetector",
    "MemoryMode",
    "MemoryMonitor",
    "MemoryResult",
    "MemorySnapshot",
    "MemoryStats",
    "clear_memory_stats",
    "get_current_memory",
    "get_memory_stats",
    "get_peak_memory",
    "get_peak_memory_usage",
    "memory_monitor",
    "memory_profile",
    "memory_profile_async",
    "monitor_memory",
    "profile_memory",
    "profile_memory_async",
]

_MODES = (
    MemoryMode.BASIC,
    MemoryMode.DETAILED,
    MemoryMode.PEAK_ONLY,
    MemoryMode.CONTINUOUS,
)


def checked_mode(mode: str) -> str:
    """Return `mode`; one that is not known is a ``ValueError``."""
    if mode not in _MODES:
        known = ", ".join(repr(name) for name in _MODES)
        raise ValueError(f"unknown memory mode {mode!r}; choose one of {known}")
    return mode


@overload
def memory_profile(func: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def memory_profile(
    func: None = None,
    *,
    mode: str = ...,
    track_peak: bool = ...,
    use_tracemalloc: bool = ...,
    track_tracemalloc: bool = ...,
    print_result: bool = ...,
    return_result: Literal[False] = ...,
    gc_before: bool = ...,
    gc_after: bool = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def memory_profile(
    func: None = None,
    *,
    mode: str = ...,
    track_peak: bool = ...,
    use_tracemalloc: bool = ...,
    track_tracemalloc: bool = ...,
    print_result: bool = ...,
    return_result: Literal[True],
    gc_before: bool = ...,
    gc_after: bool = ...,
) -> WithResult[MemoryResult]: ...


@overload
def memory_profile(
    func: Callable[..., Any] | None = None,
    *,
    mode: str = ...,
    track_peak: bool = ...,
    use_tracemalloc: bool = ...,
    track_tracemalloc: bool = ...,
    print_result: bool = ...,
    return_result: bool = ...,
    gc_before: bool = ...,
    gc_after: bool = ...,
) -> Callable[..., Any]: ...


def memory_profile(
    func: Any = None,
    *,
    mode: str = MemoryMode.BASIC,
    track_peak: bool = True,
    use_tracemalloc: bool = False,
    track_tracemalloc: bool = False,
    print_result: bool = False,
    return_result: bool = False,
    gc_before: bool = False,
    gc_after: bool = False,
) -> Any:
    """Watch the memory of every call of the function below.

    Works on functions of every kind, with or without arguments. The function
    keeps its signature, its kind, its results and its exceptions. What is
    measured is the memory of the whole process; calls are counted in
    `get_memory_stats`.

    Args:
        func: The function, when used as ``@memory_profile``.
        mode: See `MemoryMode`; ``"detailed"`` records allocations too.
        track_peak: Ask the kernel for the peak, which sees also the shortest.
        use_tracemalloc: Record where memory is allocated, and by which code it
            is still held at the end: see `MemoryResult`.
        track_tracemalloc: Another name of `use_tracemalloc`.
        print_result: Print a table at the end of each call.
        return_result: Return ``(value, MemoryResult)`` instead of the value. A
            generator's result is filled in when the generator ends.
        gc_before: Collect garbage before each call.
        gc_after: Collect garbage after each call, before memory is read.

    Raises:
        ValueError: `mode` is not one of the four.
        TypeError: What is decorated cannot be called.

    Example:
        >>> @memory_profile(return_result=True)
        ... def load(rows):
        ...     return len(bytearray(rows * 1_000_000))
        >>> size, memory = load(50)
        >>> memory.peak_memory > 50_000_000
        True
    """
    checked_mode(mode)
    traces = use_tracemalloc or track_tracemalloc or mode == MemoryMode.DETAILED

    def plan_of(function: Any, name: str, is_async: bool) -> Plan:
        return Plan(
            name,
            "memory",
            memory_mode=mode,
            peak=track_peak,
            traces=traces,
            gc_before=gc_before,
            gc_after=gc_after,
            tell=print_table if print_result else None,
            keeps=return_result,
            is_async=is_async,
        )

    def decorate(function: Any) -> Any:
        return watched(function, plan_of, with_result=return_result)

    return decorate if func is None else decorate(func)


@overload
def memory_profile_async(func: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def memory_profile_async(
    func: None = None, *, return_result: Literal[False] = ..., **options: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def memory_profile_async(
    func: None = None, *, return_result: Literal[True], **options: Any
) -> WithResult[MemoryResult]: ...


def memory_profile_async(func: Any = None, **options: Any) -> Any:
    """Watch the memory of an ``async`` function; see `memory_profile`.

    `memory_profile` does the same. This name refuses a function that is not
    asynchronous.

    Raises:
        TypeError: The function is not ``async``.
    """

    def decorate(function: Any) -> Any:
        checked = refuse_plain(function, "memory_profile_async", "memory_profile")
        return memory_profile(**options)(checked)

    return decorate if func is None else decorate(func)


def memory_monitor(
    name: str = "code_block",
    mode: str = MemoryMode.BASIC,
    track_peak: bool = True,
    track_tracemalloc: bool = False,
    print_result: bool = True,
    gc_before: bool = False,
    gc_after: bool = False,
    *,
    use_tracemalloc: bool = False,
) -> Block[MemoryResult]:
    """Watch the memory of a block of code, also when it raises.

    Args:
        name: What the block is called.
        mode: See `MemoryMode`.
        track_peak: Ask the kernel for the peak.
        track_tracemalloc: Record where memory is allocated.
        print_result: Print a table at the end.
        gc_before: Collect garbage first.
        gc_after: Collect garbage before the end is read.
        use_tracemalloc: Another name of `track_tracemalloc`.

    Returns:
        A context manager. ``as`` gives a `MemoryResult` that is filled in when
        the block ends.

    Raises:
        ValueError: `mode` is not one of the four.
        TypeError: `name` is no string.

    Example:
        >>> with memory_monitor("load", print_result=False) as memory:
        ...     rows = bytearray(50_000_000)
        >>> memory.memory_diff > 40_000_000
        True
    """
    checked_mode(mode)
    plan = Plan(
        checked_name(name, "memory_monitor", "memory_profile"),
        "memory",
        memory_mode=mode,
        peak=track_peak,
        traces=track_tracemalloc or use_tracemalloc or mode == MemoryMode.DETAILED,
        gc_before=gc_before,
        gc_after=gc_after,
        tell=print_table if print_result else None,
        keeps=True,
        is_block=True,
    )
    return WatchedBlock(plan)


def get_current_memory() -> MemorySnapshot:
    """Return the memory of this process now."""
    return memory_now()


def get_peak_memory_usage() -> int:
    """Return the most physical memory this process ever had, in bytes.

    A monitor that asks for peaks starts the kernel's mark anew; then it is the
    most since that moment.
    """
    return peak_memory() or memory_now().rss


get_peak_memory = get_peak_memory_usage
profile_memory = memory_profile
profile_memory_async = memory_profile_async
monitor_memory = memory_monitor
