"""Questions a user asks of a recording, in plain calls.

``stop()`` imports this, so what one answer needs is imported by that answer.
"""

from __future__ import annotations

from .._native import Recording as NativeRecording
from ..exceptions import TachographError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from typing import Any

    from .._doors.window import Window
    from .._types import At, Format, Measure
    from .heap_rows import AllocationRow, LeakRow, ResidentMemory
    from .profile import Profile
    from .readings import Energy, MemoryGrowth, SeriesRow
    from .rows import (
        FunctionRow,
        LineRow,
        MetricRow,
        Note,
        RecordedSpan,
        SpanRow,
        TaskRow,
        ThreadRow,
    )

__all__ = ["Recording", "open"]

_FOREVER_NS = (1 << 63) - 1
_PLAIN_WIDTH = 110


class Recording:
    """What was recorded; made by ``record()`` and ``open()``.

    While ``record()`` is running only ``duration`` and ``sample_count`` answer,
    and change. Afterwards nothing changes any more.

    Example:
        >>> with tachograph.record() as recording:
        ...     total = sum(i * i for i in range(1_000_000))
        >>> print(recording.summary())
        >>> recording.functions()[0].function
    """

    __slots__ = ("_finished", "_window")

    def __init__(self) -> None:
        raise TypeError("a Recording is made by tachograph.record() or tachograph.open()")

    @classmethod
    def _of(cls, source: NativeRecording | Window) -> Recording:
        """Return a recording that is finished, or will be with its window."""
        recording = cls.__new__(cls)
        recording._finished = source if isinstance(source, NativeRecording) else None
        recording._window = None if isinstance(source, NativeRecording) else source
        return recording

    _finished: NativeRecording | None
    _window: Window | None

    @property
    def _native(self) -> NativeRecording:
        if self._finished is None:
            window = self._window
            if window is None or window.is_open:
                raise TachographError(
                    "the recording is still running; leave the `with` block first"
                )
            self._finished = window.finish()
        return self._finished

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._native,)

    def __repr__(self) -> str:
        state = "" if self._live() is None else ", running"
        return f"<Recording: {self.duration:.3f} s, {self.sample_count} samples{state}>"

    @property
    def duration(self) -> float:
        """How long the recording is, in seconds."""
        figures = self._live()
        return (self._native.duration_ns if figures is None else figures[2]) / 1e9

    @property
    def sample_count(self) -> int:
        """How many samples were taken."""
        figures = self._live()
        return self._native.sample_count if figures is None else figures[0]

    def _live(self) -> tuple[int, int, int, float, int] | None:
        """Figures of a recording that is still running."""
        return None if self._window is None else self._window.stats()

    @property
    def meta(self) -> dict[str, Any]:
        """The facts: start, command, interpreter, machine, settings and what came of them."""
        import json

        meta: dict[str, Any] = json.loads(self._native.meta())
        return meta

    @property
    def loss(self) -> dict[str, int]:
        """What is missing, by kind; all zeros when nothing is."""
        import json

        loss: dict[str, int] = json.loads(self._native.loss())
        return loss

    @property
    def notes(self) -> list[Note]:
        """What a reader should know, in order of time."""
        from .rows import Note

        return [Note(time / 1e9, warning, text) for time, warning, text in self._native.notes()]

    @property
    def mode(self) -> str:
        """``"cpu"`` or ``"wall"``: which time the samples stand for."""
        return self._native.mode

    @property
    def profile(self) -> Profile:
        """The samples as plain objects, as ``stop()`` returns them."""
        from .profile import Profile

        return Profile._of(self._native)

    def summary(self, *, color: bool = False, width: int | None = None) -> str:
        """Return one screen of text that answers where the time went.

        Args:
            color: Use terminal colours.
            width: Columns to fill; by default those of the terminal. Fewer than
                60 are not used, nor more than 160.

        Raises:
            ValueError: ``width`` is less than 1.
        """
        if width is not None and width < 1:
            raise ValueError(f"width must be >= 1, not {width}")
        return self._native.summary(
            color=color, width=_terminal_width() if width is None else width, unicode=_is_unicode()
        )

    def functions(self, *, measure: Measure | None = None) -> list[FunctionRow]:
        """Return where the time went by function, heaviest ``self_weight`` first.

        A function that is several times on one stack counts once in its total.

        Args:
            measure: ``"cpu"`` or ``"wall"`` nanoseconds, ``"samples"``, bytes that
                are ``"live"``, ``"allocated"`` or were live at the ``"peak"``, or
                ``"blocks"`` allocated; by default the time that was sampled.
        """
        from .rows import FunctionRow

        return [FunctionRow(*row) for row in self._native.functions(measure)]

    def lines(self, *, measure: Measure | None = None) -> list[LineRow]:
        """Return where the time went by line of code, heaviest ``self_weight`` first.

        Args:
            measure: As for ``functions()``.
        """
        from .rows import LineRow

        return [LineRow(*row) for row in self._native.lines(measure)]

    def threads(self) -> list[ThreadRow]:
        """Return what each thread was up to, the busiest first."""
        from .rows import Place, ThreadRow

        return [
            ThreadRow(*row[:-1], None if row[-1] is None else Place(*row[-1]))
            for row in self._native.threads()
        ]

    def tasks(self) -> list[TaskRow]:
        """Return what each asyncio task took, the longest first."""
        from .rows import TaskRow

        return [TaskRow(*row) for row in self._native.tasks()]

    def spans(self) -> list[SpanRow]:
        """Return what the spans of each name amount to, with the functions they ran.

        A row comes before those inside it, so printing ``"  " * row.depth``
        before each name shows the tree.
        """
        from .rows import FunctionRow, SpanRow

        rows = self._native.spans()
        paths = [place[1] for place, *_ in rows]
        return [
            SpanRow(
                name,
                path,
                None if parent is None else paths[parent],
                depth,
                *counts,
                *times,
                *memory,
                tuple(FunctionRow(*function) for function in functions),
            )
            for (name, path, parent, depth), counts, times, memory, functions in rows
        ]

    def timeline(self) -> Iterator[RecordedSpan]:
        """Iterate over every single span, in the order they began."""
        from .rows import RecordedSpan

        made: list[RecordedSpan] = []
        for (
            name,
            start,
            end,
            thread,
            task,
            parent,
            failed,
            suspended,
            given,
        ) in self._native.timeline():
            span = RecordedSpan(
                name,
                start / 1e9,
                None if end is None else end / 1e9,
                thread,
                task,
                None if parent is None else made[parent],
                failed,
                suspended / 1e9,
                dict(given),
            )
            made.append(span)
            yield span

    def metrics(self) -> list[MetricRow]:
        """Return what the values that the program recorded amount to, by name."""
        from .rows import MetricRow

        return [MetricRow(*row) for row in self._native.metrics()]

    def allocations(self, *, at: At = "peak") -> list[AllocationRow]:
        """Return who allocated memory, by line of code, the heaviest first.

        Native code counts for the line of Python that called it. Sizes are
        unbiased estimates from samples. Of a part of a recording, what was
        allocated in that part.

        Args:
            at: ``"peak"`` (live when most memory was), ``"live"`` (never
                freed), ``"total"`` (all that was allocated) or ``"freed"``
                (allocated and freed again: churn).

        Raises:
            ValueError: ``at`` is another word.

        Example:
            >>> for row in recording.within("epoch").allocations(at="live"):
            ...     print(row.function, row.line, row.bytes)
        """
        from .heap_rows import AllocationRow

        measures = {"peak": "peak", "live": "live", "total": "allocated", "freed": "allocated"}
        if at not in measures:
            raise ValueError(f"at must be 'peak', 'live', 'total' or 'freed', not {at!r}")
        rows = [AllocationRow._of(row, at) for row in self._native.allocations(measures[at])]
        if at == "freed":
            rows = sorted((row for row in rows if row.bytes), key=lambda row: -row.bytes)
        return rows

    def leaks(self) -> list[LeakRow]:
        """Return the lines of code whose live bytes keep growing, the fastest first.

        Only what was still live at the end counts, by when it was allocated: a
        cache that warms up, a buffer that is emptied now and then and a bounded
        queue are not called leaks. Less than a second shows no trend.
        """
        from .heap_rows import LeakRow

        return [LeakRow._of(row) for row in self._native.leaks()]

    @property
    def peak_memory(self) -> tuple[float, int]:
        """When most sampled memory was live, in seconds, and how many bytes it was."""
        time_ns, size = self._native.memory_peak()
        return time_ns / 1e9, size

    def memory_timeline(self) -> list[tuple[float, int]]:
        """Return how many sampled bytes were live from each moment that changed it.

        Each entry is a time in seconds since the start, and bytes.
        """
        return [(time_ns / 1e9, size) for time_ns, size in self._native.memory_timeline()]

    @property
    def rss(self) -> ResidentMemory | None:
        """What the resident size was made of at the end; ``None`` when not recorded."""
        from .heap_rows import ResidentMemory

        return ResidentMemory._of(self._native.resident_memory())

    def series(self, name: str | None = None, *, scope: str | None = None) -> list[SeriesRow]:
        """Return the series of readings: process, machine, devices, and own metrics.

        Args:
            name: Only series of this name, such as ``"memory"``.
            scope: Only those of ``"process"``, ``"machine"``, ``"device"`` or
                ``"thread"``.
        """
        from .readings import SeriesRow

        rows = []
        for whose, count, values in self._native.series():
            number, called, of, track, os_id, unit, is_total = whose
            if name not in (None, called) or scope not in (None, of):
                continue
            points = [(time / 1e9, value) for time, value in self._native.points(number)]
            rows.append(SeriesRow(called, of, track, os_id, unit, is_total, count, *values, points))
        return rows

    def energy(self) -> Energy | None:
        """Return the energy that the process used; ``None`` without ``machine=True``.

        Of a part, such as ``within("epoch")``, it is the energy of that part: the
        readings are integrated over its spans.
        """
        from .readings import Energy

        found = self._native.energy()
        if found is None:
            return None
        joules, of_devices, measured, method = found
        return Energy(joules, of_devices, "measured" if measured else "modelled", method)

    def memory_growth(self, *, live: bool = False) -> MemoryGrowth | None:
        """Return whether memory grew without end, with the evidence.

        Args:
            live: Judge the sampled blocks that were live, not the memory held.

        Returns:
            ``None`` when there are no readings: record with ``machine=True``, or with
            ``heap=True`` for live blocks.
        """
        from .readings import MemoryGrowth

        found = self._native.memory_growth(live)
        if found is None:
            return None
        leaking, figures, points, reason = found
        return MemoryGrowth(leaking, *figures, points, reason)

    @property
    def peak_rss(self) -> int | None:
        """The most memory the process held, in bytes; ``None`` without readings."""
        return self._native.peak_memory()

    def within(self, span: str) -> Recording:
        """Return the part inside the spans of one name.

        It holds the samples that were taken while such a span was open, on its
        thread or in its asyncio task, and those of the spans that began inside
        it. Times keep counting from the start of the recording.

        Args:
            span: A name, or a path: ``"epoch/forward"`` means the spans called
                ``forward`` with one called ``epoch`` around them, at any distance.

        Raises:
            ValueError: No span is called so; the message lists those there are.
            TypeError: It is not a name.

        Example:
            >>> recording.within("forward").functions()[0].function
            >>> recording.within("forward").save("forward.svg")
        """
        if not isinstance(span, str):
            raise TypeError(f"within() needs the name or the path of a span, not {span!r}")
        return Recording._of(self._native.within(span))

    def between(self, start: float, end: float) -> Recording:
        """Return the part from ``start`` up to ``end``, in seconds since the start.

        Raises:
            ValueError: ``end`` comes before ``start``, or one is no time.
            TypeError: One is not a number.
        """
        try:
            is_stretch = 0 <= start <= end
        except TypeError:
            raise TypeError(f"between() needs seconds, not {start!r} and {end!r}") from None
        if not is_stretch:
            raise ValueError(f"between() needs 0 <= start <= end, not {start!r} and {end!r}")
        return Recording._of(self._native.between(_nanoseconds(start), _nanoseconds(end)))

    def save(
        self,
        path: str | PathLike[str],
        format: Format | None = None,
        *,
        measure: Measure | None = None,
    ) -> None:
        """Write the recording to a file.

        Args:
            path: The file. It appears whole or not at all.
            format: ``"tacho"`` (the recording itself), ``"speedscope"``,
                ``"collapsed"`` or ``"svg"``. By default the extension of
                ``path`` says it, and an unknown one means Speedscope.
            measure: What an export shows; by default the time that was
                sampled, and counts for collapsed stacks.

        Raises:
            ValueError: Unknown format or measure.
            OSError: The file cannot be written; the recording stays as it is.
        """
        self._native.save(path, format, measure)


def open(path: str | PathLike[str]) -> Recording:
    """Return the recording in a file that tachograph wrote.

    The file of a program that was killed is read as far as it goes.

    Raises:
        RecordingError: The file is missing, is not a recording, or is damaged.
    """
    return Recording._of(NativeRecording.open(path))


def _rebuild(native: NativeRecording) -> Recording:
    return Recording._of(native)


def _nanoseconds(seconds: float) -> int:
    return min(_FOREVER_NS, round(min(seconds, 1e10) * 1e9))


def _terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size((_PLAIN_WIDTH, 40)).columns


def _is_unicode() -> bool:
    """Whether what we print can hold bars and dots beyond ASCII."""
    import os
    import sys

    # Python writes UTF-8 in the plain C locale too; one who asks for it wants ASCII.
    if os.environ.get("LC_ALL") in ("C", "POSIX"):
        return False
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return "utf" in encoding.lower()
