"""Functions and blocks that are watched."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._data.timing import TimingMode, clock_of
from ..._native import block, timed
from .._around import around
from .._calls import awaited, is_async
from .._ledger import entry_of_block, entry_of_function, spelled
from .watched import Watched, hear

if TYPE_CHECKING:
    from types import TracebackType

    from ..._data.combined import CombinedResult
    from ..._data.timing import Clock
    from ..._native import Meter, _Block
    from .plan import Plan

__all__ = ["WatchedBlock", "print_table", "refuse_plain", "watched"]

# Makes the plan of a function from the function, its name and its kind.
PlanOf = Callable[[Any, str, bool], "Plan"]


def print_table(seen: CombinedResult) -> None:
    """Print what was seen."""
    print(seen.summary())


def watched(
    function: Any,
    plan_of: PlanOf,
    *,
    with_result: bool,
    timing_mode: str | None = None,
) -> Any:
    """Return `function` with every call watched; kind, signature and exceptions unchanged.

    Args:
        function: What is decorated.
        plan_of: Makes its plan.
        with_result: Return ``(value, result)``.
        timing_mode: The clock on which calls are counted in
            `get_timing_stats`; ``None``: they are not.
    """
    if isinstance(function, (staticmethod, classmethod)):
        inner = watched(
            function.__func__, plan_of, with_result=with_result, timing_mode=timing_mode
        )
        return type(function)(inner)
    if not callable(function):
        raise TypeError(f"only a function can be watched, not {function!r}; options go by keyword")
    entry = entry_of_function(function)
    called = function
    if not is_async(function) and is_async(type(function).__call__):
        called = awaited(function)
    plan = plan_of(function, entry.bare, is_async(called))
    clock = clock_of(timing_mode or TimingMode.WALL_CLOCK)
    meter = None if timing_mode is None else entry.meter
    return _around(called, function, plan, entry.qualname, meter, clock, with_result)


def _around(
    called: Any,
    function: Any,
    plan: Plan,
    qualname: str,
    meter: Meter | None,
    clock: Clock,
    with_result: bool,
) -> Any:
    measured = timed(called, name=qualname, meter=meter, clock=clock, after=hear)
    wrapped = around(
        measured, lambda args, kwargs: Watched(plan, args, kwargs), with_result=with_result
    )
    wrapped.__wrapped__ = function
    return wrapped


def refuse_plain(function: Any, door: str, other: str) -> Any:
    """Return `function`; one that does not run in an event loop is a ``TypeError``."""
    if isinstance(function, (staticmethod, classmethod)):
        refuse_plain(function.__func__, door, other)
        return function
    if is_async(function) or is_async(type(function).__call__):
        return function
    if callable(function) and is_async(inspect.unwrap(function)):
        return awaited(function)
    name = spelled(function)[1] if callable(function) else repr(function)
    raise TypeError(f"{door} watches `async def` functions, and {name} is none; use {other}")


class WatchedBlock:
    """A block of code that is watched; ``as`` gives its result, complete at its end.

    Can also decorate a function: then every call is watched under this name.
    """

    __slots__ = ("_block", "_clock", "_meter", "_open", "_plan")

    def __init__(self, plan: Plan, timing_mode: str | None = None) -> None:
        self._plan = plan
        self._clock = clock_of(timing_mode or TimingMode.WALL_CLOCK)
        self._meter = None if timing_mode is None else entry_of_block(plan.name).meter
        self._open: Watched | None = None
        self._block: _Block | None = None

    def __enter__(self) -> Any:
        name = self._plan.name
        if self._open is not None:
            raise RuntimeError(f"this monitor of {name!r} is running; make another")
        watching = Watched(self._plan)
        result = watching.result
        watching.begin()
        self._open = watching
        self._block = block(name, meter=self._meter, clock=self._clock, after=hear)
        self._block.__enter__()
        return result

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        watching, self._open = self._open, None
        timed_block, self._block = self._block, None
        if watching is None or timed_block is None:
            return
        timed_block.__exit__(kind, error, traceback)
        if error is None:
            watching.exhausted()
        else:
            watching.failed(error)

    def __call__(self, function: Any) -> Any:
        """Return `function` with every call watched under this name."""
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self(function.__func__))
        if not callable(function):
            raise TypeError(f"only a function can be watched, not {function!r}")
        called = function
        if not is_async(function) and is_async(type(function).__call__):
            called = awaited(function)
        name, plan = self._plan.name, self._plan
        return _around(called, function, plan, name, self._meter, self._clock, False)


def checked_name(name: object, door: str, decorator: str) -> str:
    """Return `name`; what is no name is a ``TypeError``."""
    if not isinstance(name, str):
        raise TypeError(f"{door} needs a name, not {name!r}; `{decorator}` watches functions")
    return name
