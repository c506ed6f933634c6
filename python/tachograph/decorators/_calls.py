"""Timing the calls of a function, whatever kind of function it is.

The native wrapper measures. Python steps in only where a call's own result has
to be handed out with its value.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._data.timing import TimingResult, clock_of
from .._native import block, timed
from ._ledger import Entry, entry_of_block, entry_of_function
from ._telling import checked_precision, completing, teller

if TYPE_CHECKING:
    from .._native import Ended


class Calls:
    """How the calls of a function are to be timed."""

    def __init__(
        self,
        mode: str,
        *,
        collect_stats: bool,
        print_result: bool,
        return_result: bool = False,
        precision: int,
        log_results: bool = False,
        name: str | None = None,
    ) -> None:
        self._mode = mode
        self._clock = clock_of(mode)
        self._collect_stats = collect_stats
        self._print_result = print_result
        self._return_result = return_result
        self._precision = checked_precision(precision)
        self._log_results = log_results
        self._name = name

    def on(self, function: Any) -> Any:
        """Return `function` with every call timed, its signature and kind unchanged."""
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self.on(function.__func__))
        if not callable(function):
            raise TypeError(
                f"only a function can be timed, not {function!r}; options go by keyword, "
                "as in @time_it(mode='process_time')"
            )
        entry = entry_of_function(function) if self._name is None else entry_of_block(self._name)
        if not is_async(function) and is_async(type(function).__call__):
            function = awaited(function)  # an object that is called like a coroutine function
        label = f"{entry.bare} (async)" if is_async(function) else entry.bare
        tell = teller(
            label,
            self._mode,
            print_result=self._print_result,
            log_results=self._log_results,
            precision=self._precision,
        )
        if self._return_result:
            return self._with_result(function, entry, tell)
        return self._native(function, entry, tell)

    def _native(
        self, function: Any, entry: Entry, after: Callable[[Ended], object] | None
    ) -> Callable[..., Any]:
        meter = entry.meter if self._collect_stats else None
        wrapped: Callable[..., Any] = timed(
            function, name=entry.qualname, meter=meter, clock=self._clock, after=after
        )
        return wrapped

    def _with_result(
        self, function: Any, entry: Entry, tell: Callable[[Ended], object] | None
    ) -> Callable[..., Any]:
        """Hand out ``(value, TimingResult)``."""
        goes_by_steps = is_async(function) or inspect.isgeneratorfunction(function)
        wrapped: Callable[..., Any]
        if not goes_by_steps:
            meter = entry.meter if self._collect_stats else None

            def wrapped(*args: Any, **kwargs: Any) -> Any:
                result = self._result(entry, args, kwargs)
                measured = block(entry.qualname, meter=meter, clock=self._clock, after=tell)
                with measured:
                    value = function(*args, **kwargs)
                result.execution_time = measured.elapsed_ns / 1e9
                result.metadata.update(success=True, error=None)
                return value, result

        elif inspect.iscoroutinefunction(function):

            async def wrapped(*args: Any, **kwargs: Any) -> Any:
                result = self._result(entry, args, kwargs)
                call = self._native(function, entry, completing(result, True, tell))
                return await call(*args, **kwargs), result

        else:

            def wrapped(*args: Any, **kwargs: Any) -> Any:
                result = self._result(entry, args, kwargs)
                after = completing(result, is_async(function), tell)
                call = self._native(function, entry, after)
                return call(*args, **kwargs), result

        return functools.wraps(function)(wrapped)

    def _result(self, entry: Entry, args: Any, kwargs: Any) -> TimingResult:
        facts = {"args_count": len(args), "kwargs_count": len(kwargs)}
        return TimingResult(entry.bare, 0.0, time.time(), None, self._mode, facts)


def is_async(function: Any) -> bool:
    """Whether calls of `function` run in an event loop."""
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function that awaits what `function` returns."""

    @functools.wraps(function)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    return wrapped
