"""Named operations that begin and end where the program says so."""

from __future__ import annotations

import sys
import time
from collections import deque
from threading import local
from typing import TYPE_CHECKING, Any

from .._data.timing import TimingMode, TimingResult, clock_of
from .._native import block
from ._ledger import entry_of_block
from ._telling import text_of

if TYPE_CHECKING:
    from types import TracebackType

    from .._native import _Block

# Results a profiler keeps: 36 MB, measured on 3.12. Statistics cover those that went, too.
MOST_RESULTS = 100_000


class _Operation:
    """A begun operation; without a block it began while the profiler was off."""

    __slots__ = ("block", "generation", "result", "stack", "task")

    block: _Block | None

    def __init__(
        self, result: TimingResult, stack: list[_Operation], task: Any, generation: int
    ) -> None:
        self.result = result
        self.stack = stack
        self.task = task
        self.generation = generation
        self.block = None


class _Stacks(local):
    """The open operations of one thread, those of each asyncio task apart."""

    def __init__(self) -> None:
        self.generation = 0
        self.of_task: dict[Any, list[_Operation]] = {}


class TimingProfiler:
    """Times operations that are started and stopped by hand, nested as they come.

    Each thread and each asyncio task has its own stack of open operations, so
    one profiler serves them all. Every operation is a span in a recording that
    is open, and counts in `get_timing_stats` under its name.

    Example:
        >>> profiler = TimingProfiler()
        >>> profiler.start("epoch")
        >>> with profiler.measure("load"):
        ...     rows = list(range(1000))
        >>> epoch = profiler.stop("epoch")
        >>> [result.function_name for result in profiler.get_results()]
        ['load', 'epoch']
    """

    def __init__(
        self, mode: str = TimingMode.WALL_CLOCK, *, max_results: int = MOST_RESULTS
    ) -> None:
        """Make a profiler with no results.

        Args:
            mode: The clock: ``"wall_clock"``, ``"process_time"``,
                ``"thread_time"`` or ``"perf_counter"``.
            max_results: How many results to keep; the oldest go first.

        Raises:
            ValueError: `mode` is not one of the four, or `max_results` is
                negative.
        """
        self.mode = mode
        self._clock = clock_of(mode)
        if max_results < 0:
            raise ValueError(f"max_results must be 0 or more, not {max_results}")
        self._results: deque[TimingResult] = deque(maxlen=max_results)
        self._enabled = True
        self._generation = 0
        self._stacks = _Stacks()

    def start(self, name: str, metadata: dict[str, Any] | None = None) -> None:
        """Begin an operation inside those that are open.

        Args:
            name: What it is called in results, statistics and recordings.
            metadata: Facts to keep with its result.
        """
        self._begin(name, metadata)

    def stop(self, name: str | None = None) -> TimingResult | None:
        """End the innermost open operation.

        Args:
            name: What it must be called; an outer operation cannot end before
                those inside it.

        Returns:
            Its result, or ``None`` when no operation is open or it began while
            the profiler was disabled.

        Raises:
            ValueError: The innermost operation has another name. It stays open.
        """
        stack = self._stack(_current_task())
        if not stack:
            return None
        innermost = stack[-1].result.function_name
        if name is not None and name != innermost:
            is_open = any(operation.result.function_name == name for operation in stack)
            raise ValueError(
                f"cannot stop {name!r}: {innermost!r} is open inside it; stop {innermost!r} first"
                if is_open
                else f"cannot stop {name!r}: it is not open; the innermost that is: {innermost!r}"
            )
        return self._end(stack[-1], None)

    def measure(self, name: str, metadata: dict[str, Any] | None = None) -> _Measured:
        """Return a block that is one operation, also when it raises.

        ``as`` gives its `TimingResult`, filled in when the block ends.
        """
        return _Measured(self, name, metadata)

    def reset(self) -> None:
        """Forget all results, and the operations that are open."""
        self._generation += 1
        self._results.clear()

    def get_results(self) -> list[TimingResult]:
        """Return the results in the order in which they ended."""
        return list(self._results.copy())

    def enable(self) -> None:
        """Measure the operations that begin from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Ignore the operations that begin from now on; open ones end as usual."""
        self._enabled = False

    def _stack(self, task: Any) -> list[_Operation]:
        stacks = self._stacks
        if stacks.generation != self._generation:
            stacks.generation = self._generation
            stacks.of_task = {}
        stack = stacks.of_task.get(task)
        if stack is None:
            stack = stacks.of_task[task] = []
        return stack

    def _begin(self, name: str, metadata: dict[str, Any] | None) -> _Operation:
        facts = dict(metadata) if metadata else {}
        result = TimingResult(name, 0.0, time.time(), None, self.mode, facts)
        task = _current_task()
        stack = self._stack(task)
        operation = _Operation(result, stack, task, self._generation)
        stack.append(operation)
        if self._enabled:
            meter = entry_of_block(name).meter
            operation.block = block(name, meter=meter, clock=self._clock, attributes=metadata)
            operation.block.__enter__()
        return operation

    def _end(self, operation: _Operation, error: BaseException | None) -> TimingResult | None:
        measured = operation.block
        if measured is not None:
            measured.__exit__(None if error is None else type(error), error, None)
        stack = operation.stack
        if operation in stack:  # with what was left open inside it
            del stack[stack.index(operation) :]
        if not stack and operation.task is not None:
            self._stacks.of_task.pop(operation.task, None)
        if measured is None:
            return None
        result = operation.result
        result.execution_time = measured.elapsed_ns / 1e9
        if operation.generation == self._generation:
            self._results.append(result)
        return result


class _Measured:
    """What `TimingProfiler.measure` returns: one operation at a time."""

    __slots__ = ("_metadata", "_name", "_operation", "_profiler")

    def __init__(self, profiler: TimingProfiler, name: str, metadata: dict[str, Any] | None):
        self._profiler = profiler
        self._name = name
        self._metadata = metadata
        self._operation: _Operation | None = None

    def __enter__(self) -> TimingResult:
        if self._operation is not None:
            raise RuntimeError(f"this block of {self._name!r} is running; call measure() again")
        self._operation = self._profiler._begin(self._name, self._metadata)
        return self._operation.result

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        operation, self._operation = self._operation, None
        if operation is None:
            return
        result = self._profiler._end(operation, error)
        if result is not None:
            result.metadata["success"] = error is None
            result.metadata["error"] = None if error is None else text_of(error)


def _current_task() -> Any:
    """Return the asyncio task that runs here, if any, without importing asyncio."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return None
    return asyncio.current_task()
