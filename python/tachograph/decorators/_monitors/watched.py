"""One call or block that is watched."""

from __future__ import annotations

import contextlib
import gc
from _thread import _local
from typing import TYPE_CHECKING, Any

from ..._data.combined import CombinedResult
from ..._data.late import made_later
from ..._native import MonitorWindow
from .._telling import text_of
from .results import Found, empty, fill, late
from .totals import count

if TYPE_CHECKING:
    from ..._data.validation import ValidationResult
    from ..._native import Ended, Measured
    from .plan import Plan
    from .traces import Traces

__all__ = ["Watched", "hear"]


class _Last(_local):
    """How the last measured stretch of time of this thread ended."""

    ended: Ended | None = None


_last = _Last()


def hear(ended: Ended) -> None:
    """Note how a stretch of time ended; whoever watches it looks at once."""
    _last.ended = ended


class Watched:
    """One call or block that is watched: `begin`, then one of the three ends.

    Nothing here waits or starts a thread; a call in an event loop does not
    hold the loop up.
    """

    __slots__ = (
        "_args", "_arguments", "_collections", "_kwargs", "_measured", "_plan", "_result",
        "_traces", "_validation", "_window",
    )  # fmt: skip

    def __init__(
        self, plan: Plan, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> None:
        self._plan = plan
        self._args = args
        self._kwargs = {} if kwargs is None else kwargs
        self._result: Any = None
        self._validation: ValidationResult | None = None
        self._collections: list[dict[str, int]] | None = None
        self._traces: Traces | None = None

    @property
    def result(self) -> Any:
        """What is seen of it; all zeroes until its end."""
        if self._result is None:
            self._result = empty(self._plan)
        return self._result

    def begin(self) -> None:
        """Begin to watch, after the arguments were looked at."""
        plan = self._plan
        if plan.checks is not None:
            self._validation = plan.checks.new_result()
            self._arguments = plan.checks.check_inputs(self._validation, self._args, self._kwargs)
        if plan.gc_before:
            gc.collect()
        if plan.traces:
            from . import traces

            self._traces = traces.Traces()
        if plan.counts_collections:
            self._collections = gc.get_stats()
        self._window = MonitorWindow(peak=plan.peak, io=plan.system, series_interval=plan.interval)

    def returned(self, value: Any) -> None:
        """End it, and look at what it returned."""
        self._close()
        plan = self._plan
        if plan.checks is None or self._validation is None:
            self._finish(None)
            return
        try:
            plan.checks.check_output(self._validation, value, self._arguments)
        finally:
            self._finish(None)

    def yielded(self, value: Any) -> None:
        """Look at a value of a generator."""
        plan = self._plan
        if plan.checks is not None and self._validation is not None:
            plan.checks.check_output(self._validation, value, self._arguments)

    def exhausted(self) -> None:
        """End a generator or a block."""
        self._close()
        self._finish(None)

    def failed(self, error: BaseException) -> None:
        """End it with an exception."""
        self._close()
        self._finish(error)

    def _close(self) -> None:
        if self._plan.gc_after:
            gc.collect()
        self._measured: Measured = self._window.close()
        if self._traces is not None:
            self._traces.end()

    def _finish(self, error: BaseException | None) -> None:
        plan = self._plan
        measured = self._measured
        if plan.memory_mode is not None:
            count(plan.name, measured.rss_peak, measured.rss_end - measured.rss_start)
        if not plan.keeps and self._result is None:
            return
        ended = _last.ended
        if ended is None:  # it was not timed: rather no result than a broken call
            return
        _last.ended = None
        collected = self._collections
        found = Found(
            plan,
            measured,
            ended,
            None if error is None else text_of(error),
            (len(self._args), len(self._kwargs)),
            self._validation,
            None if collected is None else (collected, gc.get_stats()),
            self._traces,
        )
        if self._result is None:
            self._result = late(found)
        else:
            fill(self._result, found)
        if plan.tell is not None:
            _tell(plan, made_later(CombinedResult, found.combined))


def _tell(plan: Plan, seen: CombinedResult) -> None:
    """Tell of a result; what goes wrong with that is not the caller's fault."""
    try:
        if plan.tell is not None:
            plan.tell(seen)
    except Exception as error:
        import warnings

        text = f"the result of {plan.name} could not be printed: {error}; the call goes on"
        with contextlib.suppress(RuntimeWarning):  # a program may turn warnings into errors
            warnings.warn(text, RuntimeWarning, stacklevel=1)
