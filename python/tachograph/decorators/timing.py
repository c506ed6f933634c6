"""How long functions and blocks take, and how that varies.

Measuring and counting happen in native code. A timed call costs a fraction of a
microsecond, its statistics a fixed amount of memory whatever the number of calls.
Every timed call is also a span in a recording that is open.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from .._data.timing import TimingMode, TimingResult, TimingStats
from .._native import block
from .._types import P, R
from ._calls import Calls, awaited, is_async
from ._ledger import clear_timing_stats, get_timing_stats, spelled
from ._timer import timer
from ._timing_profiler import TimingProfiler

if TYPE_CHECKING:
    from ._shapes import WithResult

__all__ = [
    "TimingMode",
    "TimingProfiler",
    "TimingResult",
    "TimingStats",
    "clear_timing_stats",
    "get_timing_stats",
    "measure_time",
    "measure_time_async",
    "profiler",
    "quick_time",
    "quick_time_async",
    "time_block",
    "time_it",
    "time_it_async",
    "timer",
]


@overload
def time_it(func: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def time_it(
    func: None = None,
    *,
    mode: str = ...,
    collect_stats: bool = ...,
    print_result: bool = ...,
    return_result: Literal[False] = ...,
    precision: int = ...,
    log_results: bool = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def time_it(
    func: None = None,
    *,
    mode: str = ...,
    collect_stats: bool = ...,
    print_result: bool = ...,
    return_result: Literal[True],
    precision: int = ...,
    log_results: bool = ...,
) -> WithResult[TimingResult]: ...


@overload
def time_it(
    func: Callable[P, Any] | None = None,
    *,
    mode: str = ...,
    collect_stats: bool = ...,
    print_result: bool = ...,
    return_result: bool = ...,
    precision: int = ...,
    log_results: bool = ...,
) -> Callable[..., Any]: ...


def time_it(
    func: Any = None,
    *,
    mode: str = TimingMode.WALL_CLOCK,
    collect_stats: bool = True,
    print_result: bool = False,
    return_result: bool = False,
    precision: int = 6,
    log_results: bool = False,
) -> Any:
    """Time every call of the function below.

    Works on functions, methods, coroutine functions, generators and async
    generators, with or without arguments. The function keeps its signature,
    its kind, its results and its exceptions. A coroutine or generator is timed
    from its first step to its last. Calls that raise are counted too.

    Args:
        func: The function, when used as ``@time_it``.
        mode: The clock: ``"wall_clock"``, ``"process_time"``,
            ``"thread_time"`` or ``"perf_counter"``.
        collect_stats: Add each call to what `get_timing_stats` tells.
        print_result: Print a line at the end of each call.
        return_result: Return ``(value, TimingResult)`` instead of the value. A
            generator's result is filled in when the generator ends.
        precision: Decimals of the seconds that are printed or logged.
        log_results: Log a line at the end of each call, to the logger
            ``tachograph.timing``: a failure as a warning, the rest as
            information.

    Raises:
        ValueError: `mode` is not one of the four, or `precision` is negative.
        TypeError: What is decorated cannot be called.

    Example:
        >>> @time_it(mode="process_time")
        ... def fit(rows):
        ...     return sorted(rows)
        >>> fit([2, 1])
        [1, 2]
        >>> get_timing_stats("fit").call_count
        1
    """
    calls = Calls(
        mode,
        collect_stats=collect_stats,
        print_result=print_result,
        return_result=return_result,
        precision=precision,
        log_results=log_results,
    )
    return calls.on if func is None else calls.on(func)


@overload
def time_it_async(mode: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def time_it_async(
    mode: str = ...,
    collect_stats: bool = ...,
    print_result: bool = ...,
    return_result: Literal[False] = ...,
    precision: int = ...,
    *,
    log_results: bool = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def time_it_async(
    mode: str = ...,
    collect_stats: bool = ...,
    print_result: bool = ...,
    *,
    return_result: Literal[True],
    precision: int = ...,
    log_results: bool = ...,
) -> WithResult[TimingResult]: ...


@overload
def time_it_async(
    mode: str = ...,
    collect_stats: bool = ...,
    print_result: bool = ...,
    return_result: bool = ...,
    precision: int = ...,
    *,
    log_results: bool = ...,
) -> Callable[..., Any]: ...


def time_it_async(
    mode: Any = TimingMode.WALL_CLOCK,
    collect_stats: bool = True,
    print_result: bool = False,
    return_result: bool = False,
    precision: int = 6,
    *,
    log_results: bool = False,
) -> Any:
    """Time every call of the ``async`` function below; see `time_it`.

    `time_it` does the same. This name says that the function must be
    asynchronous, and refuses one that is not.

    Raises:
        TypeError: The function is neither ``async`` nor a wrapper around one
            that is.
    """
    function = mode if callable(mode) else None
    calls = Calls(
        TimingMode.WALL_CLOCK if function is not None else mode,
        collect_stats=collect_stats,
        print_result=print_result,
        return_result=return_result,
        precision=precision,
        log_results=log_results,
    )

    def decorate(decorated: Any) -> Any:
        return calls.on(_asynchronous(decorated))

    return decorate if function is None else decorate(function)


def _asynchronous(function: Any) -> Any:
    """Return `function` as one of an event loop; a plain function is a ``TypeError``."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_asynchronous(function.__func__))
    if is_async(function) or is_async(type(function).__call__):
        return function
    if callable(function) and is_async(inspect.unwrap(function)):
        return awaited(function)  # a decorator put a plain function around an async one
    name = spelled(function)[1] if callable(function) else repr(function)
    raise TypeError(f"time_it_async times `async def` functions, and {name} is none; use time_it")


def quick_time(func: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> tuple[R, float]:
    """Call a function once and return its result and the seconds it took.

    Nothing is added to the statistics.

    Raises:
        TypeError: The function is a coroutine function, which has to be
            awaited.
    """
    name = spelled(func)[1]
    if inspect.iscoroutinefunction(func):
        raise TypeError(f"{name} has to be awaited; use `await quick_time_async({name}, ...)`")
    measured = block(name, clock="perf")
    with measured:
        result = func(*args, **kwargs)
    return result, measured.elapsed_ns / 1e9


async def quick_time_async(
    func: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
) -> tuple[R, float]:
    """Await a function once and return its result and the seconds it took.

    Nothing is added to the statistics.

    Raises:
        TypeError: The function returns something that cannot be awaited.
    """
    name = spelled(func)[1]
    measured = block(name, clock="perf")
    with measured:
        returned = func(*args, **kwargs)
        if not inspect.isawaitable(returned):
            raise TypeError(f"what {name} returns cannot be awaited; use quick_time")
        result = await returned
    return result, measured.elapsed_ns / 1e9


# One profiler for the whole program.
profiler = TimingProfiler()

measure_time = time_it
measure_time_async = time_it_async
time_block = timer
