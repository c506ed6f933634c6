"""Rows of the tables that a recording answers with. Weights are nanoseconds or counts."""

from __future__ import annotations

from .plain import dataclass

__all__ = [
    "FunctionRow",
    "LineRow",
    "MetricRow",
    "Note",
    "Place",
    "RecordedSpan",
    "SpanRow",
    "TaskRow",
    "ThreadRow",
]


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


@dataclass(frozen=True, slots=True)
class SpanRow:
    """What all spans of one name inside the same spans amount to.

    A span inside another of the same name, at any distance, belongs to that
    one's row, and its time counts once.

    Attributes:
        name: Their name.
        path: The names around them and their own, with ``/`` between: what
            ``recording.within()`` takes.
        parent: The path of the row around it; ``None`` for an outermost one.
        depth: How many rows are around it.
        count: How many there are.
        failed: How many ended with an exception.
        open: How many had not ended when the recording did; they count with
            the time they had by then.
        total_ns: How long they took together.
        self_ns: The same without the time in which a span inside them was open.
        mean_ns: How long one took, on average.
        p50_ns: Half of them took at most this long.
        p95_ns: 95 of 100 took at most this long.
        max_ns: The longest.
        suspended_ns: How much of the total a coroutine or generator was suspended.
        cpu_ns: CPU time that was sampled inside them.
        allocated_bytes: Memory allocated inside them on their thread, when the
            heap was recorded.
        live_bytes: What of it was never freed: what they leaked or left behind.
        peak_bytes: The most that was live in the whole program while one was open.
        functions: The functions that did most of it, heaviest first, at most
            five; ``recording.within(row.path).functions()`` has all.
    """

    name: str
    path: str
    parent: str | None
    depth: int
    count: int
    failed: int
    open: int
    total_ns: int
    self_ns: int
    mean_ns: int
    p50_ns: int
    p95_ns: int
    max_ns: int
    suspended_ns: int
    cpu_ns: int
    allocated_bytes: int
    live_bytes: int
    peak_bytes: int
    functions: tuple[FunctionRow, ...]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """What all values of one metric amount to.

    Attributes:
        name: What was measured.
        count: How many values there are.
        mean: Their mean.
        min: The smallest.
        max: The largest.
        last: The latest.
    """

    name: str
    count: int
    mean: float
    min: float
    max: float
    last: float


@dataclass(frozen=True, slots=True)
class RecordedSpan:
    """One span of a recording.

    Attributes:
        name: Its name.
        start_s: When it began, in seconds since the recording did.
        end_s: When it ended; ``None`` when the recording ended first.
        thread: The thread it began on.
        task: The asyncio task it ran in.
        parent: The span it was inside of.
        failed: It ended with an exception.
        suspended_s: How long it was suspended, for coroutines and generators.
        attributes: What the program attached to it.
    """

    name: str
    start_s: float
    end_s: float | None
    thread: str
    task: str | None
    parent: RecordedSpan | None
    failed: bool
    suspended_s: float
    attributes: dict[str, str | int | float | bool | None]

    @property
    def path(self) -> str:
        """The names around it and its own, with ``/`` between."""
        names = []
        span: RecordedSpan | None = self
        while span is not None:
            names.append(span.name)
            span = span.parent
        return "/".join(reversed(names))

    @property
    def duration_s(self) -> float | None:
        """How long it took, in seconds; ``None`` when it has not ended."""
        return None if self.end_s is None else self.end_s - self.start_s
