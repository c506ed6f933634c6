"""Rows of the tables that a recording answers with. Weights are nanoseconds or counts."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FunctionRow", "LineRow", "Note", "Place", "TaskRow", "ThreadRow"]


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """What fell on one function.

    Attributes:
        function: Qualified name.
        file: Source file, or the object file of a native function.
        line: The line it starts on; 0 when unknown.
        kind: ``"python"``, ``"native"``, ``"kernel"`` or ``"label"``.
        own: It is the program's own code, not a library's.
        self_weight: What fell on the function itself.
        total_weight: What fell on it and on everything it called.
    """

    function: str
    file: str
    line: int
    kind: str
    own: bool
    self_weight: int
    total_weight: int


@dataclass(frozen=True, slots=True)
class LineRow:
    """What fell on one line of code.

    Attributes:
        file: Source file.
        line: The line.
        function: The function it belongs to.
        self_weight: What fell on the line itself, native code it called included.
        total_weight: What fell on it and on everything it called.
        text: The line without its indentation, when the recording holds it.
    """

    file: str
    line: int
    function: str
    self_weight: int
    total_weight: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a function.

    Attributes:
        function: Qualified name.
        file: Source file.
        line: The line; 0 when unknown.
    """

    function: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """What one thread was up to.

    Attributes:
        thread_id: The id the operating system knows it by.
        name: Its name; ``Thread-<id>`` when it has none.
        samples: How often it was seen.
        cpu_ns: Time on a processor.
        wall_ns: Elapsed time that was sampled; 0 in mode ``"cpu"``.
        running_ns: Elapsed time on a processor.
        gil_wait_ns: Elapsed time waiting for the interpreter lock.
        idle_ns: Elapsed time waiting for something else.
        waiting_at: Where it waited most.
    """

    thread_id: int
    name: str
    samples: int
    cpu_ns: int
    wall_ns: int
    running_ns: int
    gil_wait_ns: int
    idle_ns: int
    waiting_at: Place | None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """What the asyncio tasks of one name took.

    Attributes:
        name: Their name.
        samples: How often one of them was seen.
        cpu_ns: Time on a processor.
        wall_ns: Elapsed time that was sampled; 0 in mode ``"cpu"``.
    """

    name: str
    samples: int
    cpu_ns: int
    wall_ns: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader of the recording should know.

    Attributes:
        time: When it was noticed, in seconds since the start.
        warning: It puts a number in doubt.
        text: A sentence.
    """

    time: float
    warning: bool
    text: str
