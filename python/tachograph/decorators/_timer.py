"""A block of code with a name and a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .._data.timing import TimingMode, TimingResult, clock_of
from .._native import block
from ._calls import Calls
from ._ledger import entry_of_block
from ._telling import checked_precision, sentence, text_of

if TYPE_CHECKING:
    from types import TracebackType

    from .._native import _Block
    from .._types import P, R


def timer(
    name: str = "code_block",
    mode: str = TimingMode.WALL_CLOCK,
    collect_stats: bool = True,
    print_result: bool = True,
    precision: int = 6,
) -> TimedBlock:
    """Time a block of code, also when it raises.

    The block is a span in a recording that is open. What ``timer`` returns can
    also decorate a function: then every call is timed under `name`.

    Args:
        name: What the block is called in statistics and recordings.
        mode: The clock: ``"wall_clock"``, ``"process_time"``,
            ``"thread_time"`` or ``"perf_counter"``.
        collect_stats: Add the time to what `get_timing_stats` tells.
        print_result: Print a line at the end of the block.
        precision: Decimals of the printed seconds.

    Returns:
        A context manager. ``as`` gives a `TimingResult` that is filled in when
        the block ends.

    Raises:
        ValueError: `mode` is not one of the four, or `precision` is negative.
        TypeError: `name` is no string; a function is timed with `time_it`.

    Example:
        >>> with timer("load", print_result=False) as loaded:
        ...     rows = list(range(1000))
        >>> loaded.metadata["success"]
        True
    """
    return TimedBlock(name, mode, collect_stats, print_result, precision)


class TimedBlock:
    """What `timer` returns."""

    __slots__ = ("_clock", "_collect", "_mode", "_name", "_open", "_precision", "_print", "_result")

    def __init__(
        self, name: str, mode: str, collect_stats: bool, print_result: bool, precision: int
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a timer needs a name, not {name!r}; `time_it` times functions")
        self._name = name
        self._mode = mode
        self._clock = clock_of(mode)
        self._collect = collect_stats
        self._print = print_result
        self._precision = checked_precision(precision)
        self._open: _Block | None = None

    def __enter__(self) -> TimingResult:
        name = self._name
        if self._open is not None:
            raise RuntimeError(f"this timer of {name!r} is running; make another, timer({name!r})")
        meter = entry_of_block(name).meter if self._collect else None
        self._result = TimingResult(name, 0.0, time.time(), None, self._mode, {})
        self._open = block(name, meter=meter, clock=self._clock)
        self._open.__enter__()
        return self._result

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        ended, self._open = self._open, None
        if ended is None:
            return
        ended.__exit__(kind, error, traceback)
        result = self._result
        result.execution_time = seconds = ended.elapsed_ns / 1e9
        result.metadata["success"] = error is None
        result.metadata["error"] = None if error is None else text_of(error)
        if self._print:
            print(sentence(self._name, seconds, self._mode, self._precision, error is not None))

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return `function` with every call timed under this timer's name."""
        calls = Calls(
            self._mode,
            collect_stats=self._collect,
            print_result=self._print,
            precision=self._precision,
            name=self._name,
        )
        decorated: Callable[P, R] = calls.on(function)
        return decorated
