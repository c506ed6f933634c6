"""What the memory profiler shows: live memory as plain Python objects."""

from __future__ import annotations

from .._native import Picture
from .heap_rows import LeakRow, ResidentMemory
from .plain import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from .._types import Format, MemoryMeasure

__all__ = [
    "AllocationSample",
    "FramePointerHealth",
    "HeapSnapshot",
    "MemProfStats",
    "StackFrame",
]


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A place on a stack.

    Attributes:
        address: Where the machine code of a native frame is, inside of its
            object file; 0 for Python.
        function: Qualified name.
        file: Source file, or the object file of a native frame.
        line: The line that was running; 0 when unknown.
        is_python: It is Python code.
    """

    address: int
    function: str
    file: str
    line: int
    is_python: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line > 0 else self.file
        return f"{self.function} ({place})" if place else self.function


@dataclass(frozen=True, slots=True)
class AllocationSample:
    """One sampled block of memory.

    Attributes:
        address: Where it is; 0 for what was live at the peak.
        size: Its size in bytes.
        weight: Bytes between two samples, on average: the sampling rate.
        estimated_bytes: How many bytes this sample stands for. The sum over
            samples is an unbiased estimate, whatever the mix of sizes; a block
            much larger than the rate stands for itself.
        timestamp_ns: When it was allocated, since profiling started.
        lifetime_ns: How long it lived; ``None`` while it is live.
        stack: Who allocated it, innermost call first.
        gc_epoch: Not used; 0.
    """

    address: int
    size: int
    weight: int
    estimated_bytes: int
    timestamp_ns: int
    lifetime_ns: int | None
    stack: list[StackFrame]
    gc_epoch: int = 0

    @property
    def is_live(self) -> bool:
        """Whether it is not freed."""
        return self.lifetime_ns is None


@dataclass(frozen=True, slots=True)
class FramePointerHealth:
    """How complete native stacks are.

    Stacks are unwound with unwind information, not with frame pointers; one
    that ends early lacks it.

    Attributes:
        shallow_stack_warnings: Native stacks that ended early.
        total_native_stacks: Native stacks that were taken.
        avg_native_depth: Native frames of one, on average.
        min_native_depth: Native frames of the shortest.
    """

    shallow_stack_warnings: int = 0
    total_native_stacks: int = 0
    avg_native_depth: float = 0.0
    min_native_depth: int = 0

    @property
    def truncation_rate(self) -> float:
        """The share of native stacks that ended early."""
        total = self.total_native_stacks
        return self.shallow_stack_warnings / total if total else 0.0

    @property
    def confidence(self) -> str:
        """``"high"`` below 5 % cut stacks, ``"medium"`` below 20 %, else ``"low"``."""
        rate = self.truncation_rate
        return "high" if rate < 0.05 else "medium" if rate < 0.2 else "low"

    @property
    def recommendation(self) -> str | None:
        """What to do about it; ``None`` when there is nothing to do."""
        if self.confidence == "high":
            return None
        return (
            f"{self.truncation_rate:.0%} of the native stacks end early: a library has no unwind "
            "information; build it with -fasynchronous-unwind-tables -fno-omit-frame-pointer"
        )


@dataclass(frozen=True, slots=True)
class MemProfStats:
    """Figures of the memory profiler.

    Attributes:
        total_samples: Blocks sampled since ``start()``.
        live_samples: Those that are not freed.
        freed_samples: Those that are.
        unique_stacks: Distinct stacks that allocated.
        estimated_heap_bytes: Live bytes the samples stand for.
        heap_map_load_percent: How full the table of live blocks is, 0 to 100.
        collisions: Blocks that shared their place in that table.
        sampling_rate_bytes: Bytes between two samples, on average.
        shallow_stack_warnings: Native stacks that ended early.
        death_during_birth: Always 0: a block is in the table before it is handed out.
        zombie_races_detected: Always 0, for the same reason.
        dropped_samples: Samples for which there was no room; sums lack them.
        effective_rate_bytes: The rate these losses amount to. Larger than
            ``sampling_rate_bytes`` also after more than half a million samples
            were live at once: then fewer are taken, and each stands for more.
        profiler_bytes: Memory that the recorder itself holds.
    """

    total_samples: int
    live_samples: int
    freed_samples: int
    unique_stacks: int
    estimated_heap_bytes: int
    heap_map_load_percent: float
    collisions: int
    sampling_rate_bytes: int
    shallow_stack_warnings: int = 0
    death_during_birth: int = 0
    zombie_races_detected: int = 0
    dropped_samples: int = 0
    effective_rate_bytes: int = 0
    profiler_bytes: int = 0


@dataclass(repr=False)
class HeapSnapshot:
    """Live memory at one moment.

    ``samples`` is made when it is first looked at. Answers and exports work on
    the picture behind it; once ``samples`` has been changed, on ``samples``.

    Attributes:
        samples: Sampled blocks that are live, in the order they were allocated.
        total_samples: Blocks sampled since ``start()``, live or freed.
        live_samples: Those that are live.
        estimated_heap_bytes: Live bytes the samples stand for.
        timestamp_ns: When it was taken, since profiling started.
        frame_pointer_health: How complete native stacks are.
    """

    samples: list[AllocationSample]
    total_samples: int
    live_samples: int
    estimated_heap_bytes: int
    timestamp_ns: int
    frame_pointer_health: FramePointerHealth

    @classmethod
    def _of(
        cls,
        picture: Picture,
        *,
        rate: int,
        total_samples: int,
        timestamp_ns: int,
        health: FramePointerHealth,
    ) -> HeapSnapshot:
        """Return the snapshot of a picture; its samples are made on first use."""
        snapshot = cls.__new__(cls)
        snapshot.live_samples, snapshot.estimated_heap_bytes = picture.totals()
        snapshot.total_samples = total_samples
        snapshot.timestamp_ns = timestamp_ns
        snapshot.frame_pointer_health = health
        snapshot.__dict__["_recorded"] = picture
        snapshot.__dict__["_rate"] = rate
        return snapshot

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            recorded = self.__dict__.get("_recorded")
            if name != "samples" or recorded is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            from .heap_columns import samples_of

            self.samples = samples_of(recorded, self.__dict__["_rate"])
            # Compared with `samples` before an answer, to notice a change.
            self.__dict__["_unchanged"] = self.samples.copy()
            return self.samples

    def __repr__(self) -> str:
        return (
            f"HeapSnapshot(samples=<{self.live_samples} samples>, "
            f"total_samples={self.total_samples}, live_samples={self.live_samples}, "
            f"estimated_heap_bytes={self.estimated_heap_bytes}, "
            f"timestamp_ns={self.timestamp_ns}, "
            f"frame_pointer_health={self.frame_pointer_health!r})"
        )

    @property
    def _picture(self) -> Picture:
        recorded: Picture | None = self.__dict__.get("_recorded")
        changed = "samples" in self.__dict__ and self.samples != self.__dict__.get("_unchanged")
        if recorded is not None and not changed:
            return recorded
        from .heap_columns import picture_of

        return picture_of(self.samples, self.timestamp_ns)

    @property
    def at_peak(self) -> HeapSnapshot | None:
        """What was live when most memory was: one sample per stack, ``address`` 0.

        ``None`` for a snapshot that was made by hand.
        """
        peak = self._picture.at_peak()
        if peak is None:
            return None
        return HeapSnapshot._of(
            peak,
            rate=self.__dict__["_rate"],
            total_samples=self.total_samples,
            timestamp_ns=self.__dict__["_peak_time_ns"],
            health=self.frame_pointer_health,
        )

    @property
    def notes(self) -> list[str]:
        """What could not be seen, or only roughly, and why: one sentence each."""
        return list(self.__dict__.get("_notes", ()))

    @property
    def rss(self) -> ResidentMemory | None:
        """What the resident size of the process is made of; ``None`` where unknown."""
        return ResidentMemory._of(self._picture.explanation())

    def top_allocators(self, n: int = 10) -> list[dict[str, Any]]:
        """Return the lines of code that hold most memory, the heaviest first.

        Native code counts for the line of Python that called it.

        Returns:
            At most `n` dicts with ``function``, ``file``, ``line``,
            ``estimated_bytes`` and ``sample_count``.
        """
        return [
            {
                "function": function,
                "file": file,
                "line": line,
                "estimated_bytes": live,
                "sample_count": samples,
            }
            for (function, file, line, _, _), (_, live, _, _), (_, _, samples), _, _ in (
                self._picture.sites("live")[: max(n, 0)]
            )
        ]

    def leaks(self) -> list[LeakRow]:
        """Return the lines of code whose live bytes keep growing, the fastest first.

        Judged by when the live blocks were allocated, over the time since
        profiling started; less than a second shows no trend.
        """
        return [LeakRow._of(row) for row in self._picture.leaks()]

    def to_speedscope(self) -> dict[str, Any]:
        """Return the snapshot as Speedscope reads it, ready for ``json.dump``."""
        import json

        document: dict[str, Any] = json.loads(self._picture.export("speedscope", "live"))
        return document

    def to_collapsed(self) -> str:
        """Return one line per distinct stack: function names, then live bytes."""
        return self._picture.export("collapsed", "live").decode()

    def save(
        self,
        path: str | PathLike[str],
        format: Format | None = None,
        *,
        measure: MemoryMeasure = "live",
    ) -> None:
        """Write the snapshot to a file.

        Args:
            path: The file. It appears whole or not at all.
            format: ``"speedscope"``, ``"collapsed"``, ``"svg"`` or ``"tacho"``.
                By default the extension of ``path`` says it, and an unknown
                one means Speedscope.
            measure: ``"live"`` bytes or ``"blocks"``.

        Raises:
            ValueError: Unknown format or measure.
            OSError: The file cannot be written; the snapshot stays as it is.
        """
        self._picture.save(path, format, measure)
