"""One decorator for time, memory, machine and values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from .._data.combined import CombinedResult, MonitoringConfig, MonitoringSummary
from .._data.timing import clock_of
from .._types import P, R
from ._monitors.doors import WatchedBlock, checked_name, print_table, refuse_plain, watched
from ._monitors.plan import Plan, checked_interval
from ._telling import checked_precision
from .memory import checked_mode
from .validation._checks import checks_of

if TYPE_CHECKING:
    from ._shapes import Block, WithResult
    from .validation._checks import Checks

__all__ = [
    "CombinedResult",
    "MonitoringConfig",
    "MonitoringSummary",
    "debug_monitor",
    "full_monitor",
    "monitor_performance",
    "performance_monitor",
    "performance_monitor_async",
    "quick_monitor",
]


class _Options(TypedDict, total=False):
    """The fields of a `MonitoringConfig` but one, as keywords."""

    enable_timing: bool
    timing_mode: str
    timing_precision: int
    enable_memory: bool
    memory_mode: str
    track_peak_memory: bool
    use_tracemalloc: bool
    enable_system: bool
    system_sample_interval: float
    monitor_gpu: bool
    enable_validation: bool
    input_validators: Any
    output_validators: Any
    print_results: bool
    raise_on_validation_error: bool


class _AllOptions(_Options, total=False):
    """The fields of a `MonitoringConfig`, as keywords."""

    return_results: bool


def _configured(config: MonitoringConfig | None, options: dict[str, Any]) -> MonitoringConfig:
    """Return a copy of `config` with `options`, its values checked."""
    given = {name: value for name, value in options.items() if value is not None}
    known = [field.name for field in dataclasses.fields(MonitoringConfig)]
    for name in given:
        if name not in known:
            raise TypeError(f"a monitor has no option {name!r}; it has {', '.join(known)}")
    chosen = dataclasses.replace(config or MonitoringConfig(), **given)
    clock_of(chosen.timing_mode)
    checked_mode(chosen.memory_mode)
    checked_precision(chosen.timing_precision)
    checked_interval(chosen.system_sample_interval)
    return chosen


def _checks(config: MonitoringConfig, function: Any, name: str) -> Checks | None:
    if not config.enable_validation:
        return None
    return checks_of(
        function,
        name,
        config.input_validators,
        config.output_validators,
        raises=config.raise_on_validation_error,
        strict=False,
    )


def _plan(
    config: MonitoringConfig,
    name: str,
    *,
    checks: Checks | None,
    is_async: bool = False,
    is_block: bool = False,
) -> Plan:
    detailed = config.memory_mode == "detailed"
    return Plan(
        name,
        "combined",
        timing_mode=config.timing_mode if config.enable_timing else None,
        timing_precision=config.timing_precision,
        memory_mode=config.memory_mode if config.enable_memory else None,
        interval=config.system_sample_interval if config.enable_system else None,
        peak=config.track_peak_memory,
        traces=config.enable_memory and (config.use_tracemalloc or detailed),
        gpu=config.enable_system and config.monitor_gpu,
        checks=checks,
        tell=print_table if config.print_results else None,
        keeps=config.return_results or is_block,
        is_async=is_async,
        is_block=is_block,
    )


def _decorated(function: Any, config: MonitoringConfig) -> Any:
    def plan_of(decorated: Any, name: str, is_async: bool) -> Plan:
        return _plan(config, name, checks=_checks(config, decorated, name), is_async=is_async)

    return watched(
        function,
        plan_of,
        with_result=config.return_results,
        timing_mode=config.timing_mode if config.enable_timing else None,
    )


def _taken(first: Any, config: MonitoringConfig | None) -> tuple[Any, MonitoringConfig | None]:
    """Return the function and the configuration among what stands first."""
    if isinstance(first, MonitoringConfig):
        return None, first
    if first is not None and not callable(first) and not hasattr(first, "__func__"):
        raise TypeError(f"a MonitoringConfig or a function is needed, not {first!r}")
    return first, config


@overload
def performance_monitor(
    func_or_config: Callable[P, R], /, **options: Unpack[_AllOptions]
) -> Callable[P, R]: ...


@overload
def performance_monitor(
    func_or_config: None = None,
    *,
    config: None = None,
    return_results: Literal[False] = ...,
    **options: Unpack[_Options],
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def performance_monitor(
    func_or_config: MonitoringConfig | None = None,
    *,
    config: MonitoringConfig | None = None,
    return_results: Literal[True],
    **options: Unpack[_Options],
) -> WithResult[CombinedResult]: ...


@overload
def performance_monitor(
    func_or_config: MonitoringConfig | None = None,
    *,
    config: MonitoringConfig | None = None,
    return_results: bool | None = ...,
    **options: Unpack[_Options],
) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...


def performance_monitor(
    func_or_config: Any = None, *, config: MonitoringConfig | None = None, **options: Any
) -> Any:
    """Watch time, memory, machine and values of every call of the function below.

    Works on functions of every kind, bare, with a `MonitoringConfig`, or with
    its fields as keywords, which count more than the configuration. The
    function keeps its signature, its kind, its results and its exceptions; a
    call costs some microseconds more. A call is a span in a recording that is
    open.

    Args:
        func_or_config: The function, when used as ``@performance_monitor``, or
            the configuration.
        config: The configuration.
        **options: Fields of a configuration.

    Returns:
        The decorated function. It returns what it returned before, or with
        ``return_results`` the pair of that and a `CombinedResult`. A
        generator's result is filled in when the generator ends.

    Raises:
        ValidationError: When called: a validator rejected an argument or the
            result, and ``raise_on_validation_error`` is set.
        TypeError: There is no such option.
        ValueError: An option has a value it cannot have.

    Example:
        >>> @performance_monitor(enable_system=False, return_results=True)
        ... def total(rows):
        ...     return sum(rows)
        >>> value, seen = total([1, 2])
        >>> value, seen.timing_result.execution_time > 0
        (3, True)
    """
    function, given = _taken(func_or_config, config)
    chosen = _configured(given, options)
    if function is not None:
        return _decorated(function, chosen)
    return lambda decorated: _decorated(decorated, chosen)


@overload
def performance_monitor_async(
    func_or_config: Callable[P, R], /, **options: Unpack[_AllOptions]
) -> Callable[P, R]: ...


@overload
def performance_monitor_async(
    func_or_config: None = None,
    *,
    config: None = None,
    return_results: Literal[False] = ...,
    **options: Unpack[_Options],
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def performance_monitor_async(
    func_or_config: MonitoringConfig | None = None,
    *,
    config: MonitoringConfig | None = None,
    return_results: Literal[True],
    **options: Unpack[_Options],
) -> WithResult[CombinedResult]: ...


@overload
def performance_monitor_async(
    func_or_config: MonitoringConfig | None = None,
    *,
    config: MonitoringConfig | None = None,
    return_results: bool | None = ...,
    **options: Unpack[_Options],
) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...


def performance_monitor_async(
    func_or_config: Any = None, *, config: MonitoringConfig | None = None, **options: Any
) -> Any:
    """Watch an ``async`` function; see `performance_monitor`, which does the same.

    Nothing that is done for it holds the event loop up. What is measured of
    memory and machine is that of the whole process, other tasks included.

    Raises:
        TypeError: The function is not ``async``.
    """
    function, given = _taken(func_or_config, config)
    chosen = _configured(given, options)

    def decorate(decorated: Any) -> Any:
        checked = refuse_plain(decorated, "performance_monitor_async", "performance_monitor")
        return _decorated(checked, chosen)

    return decorate if function is None else decorate(function)


def monitor_performance(
    name: str = "code_block",
    config: MonitoringConfig | None = None,
    **options: Unpack[_AllOptions],
) -> Block[CombinedResult]:
    """Watch time, memory and machine of a block of code, also when it raises.

    Args:
        name: What the block is called.
        config: What to look at; everything by default.
        **options: Fields of a configuration, which count more.

    Returns:
        A context manager. ``as`` gives a `CombinedResult` that is filled in
        when the block ends. A block has no arguments and no result, so
        validators have nothing to look at.

    Raises:
        TypeError: There is no such option, or `name` is no string.
        ValueError: An option has a value it cannot have.

    Example:
        >>> with monitor_performance("load", enable_system=False) as seen:
        ...     rows = list(range(1000))
        >>> print(seen.summary())  # doctest: +SKIP
    """
    chosen = _configured(config, dict(options))
    name = checked_name(name, "monitor_performance", "performance_monitor")
    plan = _plan(chosen, name, checks=None, is_block=True)
    return WatchedBlock(plan, chosen.timing_mode if chosen.enable_timing else None)


def _preset(first: Any, print_results: bool, config: MonitoringConfig) -> Any:
    if isinstance(first, bool):  # the option, by position
        first, print_results = None, first
    chosen = dataclasses.replace(config, print_results=print_results)
    if first is None:
        return lambda function: _decorated(function, chosen)
    return _decorated(first, chosen)


@overload
def quick_monitor(
    func_or_print_results: Callable[P, R], /, print_results: bool = ...
) -> Callable[P, R]: ...


@overload
def quick_monitor(
    func_or_print_results: bool | None = None, print_results: bool = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def quick_monitor(func_or_print_results: Any = None, print_results: bool = True) -> Any:
    """Watch time and memory of every call, and print them.

    Args:
        func_or_print_results: The function, when used as ``@quick_monitor``.
        print_results: Print a table at the end of each call.
    """
    return _preset(func_or_print_results, print_results, MonitoringConfig(enable_system=False))


@overload
def full_monitor(
    func_or_print_results: Callable[P, R], /, print_results: bool = ...
) -> Callable[P, R]: ...


@overload
def full_monitor(
    func_or_print_results: bool | None = None, print_results: bool = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def full_monitor(func_or_print_results: Any = None, print_results: bool = True) -> Any:
    """Watch time, memory, machine and graphics processors of every call, and print them.

    Args:
        func_or_print_results: The function, when used as ``@full_monitor``.
        print_results: Print a table at the end of each call.
    """
    return _preset(func_or_print_results, print_results, MonitoringConfig(monitor_gpu=True))


@overload
def debug_monitor(
    func_or_print_results: Callable[P, R], /, print_results: bool = ...
) -> Callable[P, Any]: ...


@overload
def debug_monitor(
    func_or_print_results: bool | None = None, print_results: bool = ...
) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...


def debug_monitor(func_or_print_results: Any = None, print_results: bool = True) -> Any:
    """Watch everything, allocations too, and return ``(value, CombinedResult)``.

    Args:
        func_or_print_results: The function, when used as ``@debug_monitor``.
        print_results: Print a table at the end of each call.
    """
    config = MonitoringConfig(
        use_tracemalloc=True,
        monitor_gpu=True,
        system_sample_interval=0.05,
        return_results=True,
    )
    return _preset(func_or_print_results, print_results, config)
