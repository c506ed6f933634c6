"""What functions and blocks do to the machine: processor, memory, disk, network, GPU.

At its two ends a monitor reads only what is cheap to read of this process.
What concerns the whole machine comes from one sampler that the program shares,
so that no call waits for a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from .._data.machine import GPUSnapshot, MonitoringResult, SystemSnapshot
from .._types import P, R
from ._monitors.doors import WatchedBlock, checked_name, print_table, refuse_plain, watched
from ._monitors.facts import get_gpu_info, get_system_info
from ._monitors.plan import Plan, checked_interval
from ._monitors.running import SystemMonitor

if TYPE_CHECKING:
    from ._shapes import Block, WithResult
__all__ = [
    "GPUSnapshot",
    "MonitoringResult",
    "SystemMonitor",
    "SystemSnapshot",
    "get_gpu_info",
    "get_system_info",
    "monitor_system",
    "monitor_system_resources",
    "monitor_system_resources_async",
    "system_monitor",
    "system_monitor_async",
]


@overload
def system_monitor(func: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def system_monitor(
    func: None = None,
    *,
    sample_interval: float = ...,
    monitor_gpu: bool = ...,
    print_result: bool = ...,
    return_result: Literal[False] = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def system_monitor(
    func: None = None,
    *,
    sample_interval: float = ...,
    monitor_gpu: bool = ...,
    print_result: bool = ...,
    return_result: Literal[True],
) -> WithResult[MonitoringResult]: ...


@overload
def system_monitor(
    func: Callable[..., Any] | None = None,
    *,
    sample_interval: float = ...,
    monitor_gpu: bool = ...,
    print_result: bool = ...,
    return_result: bool = ...,
) -> Callable[..., Any]: ...


def system_monitor(
    func: Any = None,
    *,
    sample_interval: float = 0.1,
    monitor_gpu: bool = False,
    print_result: bool = False,
    return_result: bool = False,
) -> Any:
    """Watch processor, memory, disk and network during every call of the function below.

    Works on functions of every kind, with or without arguments. CPU, memory
    and disk are those of this process; the network is the machine's.

    Args:
        func: The function, when used as ``@system_monitor``.
        sample_interval: Seconds between samples. One sampler serves the whole
            program; the shortest interval anybody asks for counts. A call that
            is shorter than that is measured by its two ends.
        monitor_gpu: Look at graphics processors too.
        print_result: Print a table at the end of each call.
        return_result: Return ``(value, MonitoringResult)`` instead of the
            value. A generator's result is filled in when the generator ends.

    Raises:
        ValueError: `sample_interval` is less than a millisecond.
        TypeError: What is decorated cannot be called.

    Example:
        >>> @system_monitor(return_result=True)
        ... def work():
        ...     return sum(range(100_000))
        >>> total, seen = work()
        >>> seen.peak_cpu > 0
        True
    """
    interval = checked_interval(sample_interval)

    def plan_of(function: Any, name: str, is_async: bool) -> Plan:
        return Plan(
            name,
            "system",
            interval=interval,
            gpu=monitor_gpu,
            tell=print_table if print_result else None,
            keeps=return_result,
            is_async=is_async,
        )

    def decorate(function: Any) -> Any:
        return watched(function, plan_of, with_result=return_result)

    return decorate if func is None else decorate(func)


@overload
def system_monitor_async(func: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def system_monitor_async(
    func: None = None, *, return_result: Literal[False] = ..., **options: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def system_monitor_async(
    func: None = None, *, return_result: Literal[True], **options: Any
) -> WithResult[MonitoringResult]: ...


def system_monitor_async(func: Any = None, **options: Any) -> Any:
    """Watch an ``async`` function; see `system_monitor`.

    `system_monitor` does the same. This name refuses a function that is not
    asynchronous.

    Raises:
        TypeError: The function is not ``async``.
    """

    def decorate(function: Any) -> Any:
        checked = refuse_plain(function, "system_monitor_async", "system_monitor")
        return system_monitor(**options)(checked)

    return decorate if func is None else decorate(func)


def monitor_system(
    name: str = "code_block",
    sample_interval: float = 0.1,
    monitor_gpu: bool = False,
    print_result: bool = True,
) -> Block[MonitoringResult]:
    """Watch processor, memory, disk and network during a block of code.

    Args:
        name: What the block is called.
        sample_interval: Seconds between samples; see `system_monitor`.
        monitor_gpu: Look at graphics processors too.
        print_result: Print a table at the end.

    Returns:
        A context manager. ``as`` gives a `MonitoringResult` that is filled in
        when the block ends, also when it raises.

    Raises:
        ValueError: `sample_interval` is less than a millisecond.
        TypeError: `name` is no string.
    """
    plan = Plan(
        checked_name(name, "monitor_system", "system_monitor"),
        "system",
        interval=sample_interval,
        gpu=monitor_gpu,
        tell=print_table if print_result else None,
        keeps=True,
        is_block=True,
    )
    return WatchedBlock(plan)


monitor_system_resources = system_monitor
monitor_system_resources_async = system_monitor_async
