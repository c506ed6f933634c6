"""A sample and its frames: what a profile mostly consists of."""

from __future__ import annotations

from collections.abc import Sequence

from .plain import dataclass

__all__ = ["Frame", "Sample"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A place on a stack.

    Attributes:
        function_name: Qualified name of the function.
        filename: Source file, or the object file of a native frame.
        lineno: The line that was running; 0 when unknown.
        is_native: It is machine code, not Python.
    """

    function_name: str
    filename: str
    lineno: int
    is_native: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at one thread.

    Attributes:
        timestamp_ns: Nanoseconds since profiling started.
        thread_id: The id the operating system knows the thread by.
        thread_name: Its name, if it has one.
        frames: The stack, outermost call first.
        task_name: The asyncio task that was running, if any.
        weight_ns: The time this look stands for; ``None`` means one interval.
    """

    timestamp_ns: int
    thread_id: int
    thread_name: str | None
    frames: Sequence[Frame]
    task_name: str | None = None
    weight_ns: int | None = None
