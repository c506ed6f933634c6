"""Rows of the tables about memory. Sizes are bytes, estimated from samples."""

from __future__ import annotations

from .plain import dataclass
from .rows import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._native import _ChangeRow, _LeakRow, _ResidentRow, _SiteRow

__all__ = ["AllocationRow", "LeakRow", "ResidentMemory", "SiteChange"]


@dataclass(frozen=True, slots=True)
class AllocationRow:
    """What one line of code did to memory; native code counts where it is called.

    Attributes:
        function: Qualified name.
        file: Source file, or the object file of a native function.
        line: The line that allocated; 0 when unknown.
        kind: ``"python"``, ``"native"`` or ``"label"``.
        own: It is the program's own code, not a library's.
        bytes: What the table was asked for.
        allocated_bytes: All it allocated.
        live_bytes: What of it is not freed.
        peak_bytes: What of it was live when most memory was.
        freed_bytes: What of it was freed again: churn.
        blocks: How many blocks it allocated.
        live_blocks: How many of them are not freed.
        samples: Samples behind these figures.
        median_lifetime_ns: Half of the freed bytes lived at most this long;
            ``None`` when none were freed.
        caller: For a library's line, the own line that most of its bytes were
            allocated for; ``None`` when it is own code itself.
    """

    function: str
    file: str
    line: int
    kind: str
    own: bool
    bytes: int
    allocated_bytes: int
    live_bytes: int
    peak_bytes: int
    freed_bytes: int
    blocks: int
    live_blocks: int
    samples: int
    median_lifetime_ns: int | None
    caller: Place | None = None

    @classmethod
    def _of(cls, row: _SiteRow, at: str) -> AllocationRow:
        place, (allocated, live, peak, freed), counts, lifetime, line = row
        caller = None if line is None else Place(*line)
        size = {"total": allocated, "live": live, "peak": peak, "freed": freed}[at]
        return cls(*place, size, allocated, live, peak, freed, *counts, lifetime, caller)


@dataclass(frozen=True, slots=True)
class LeakRow:
    """A line of code whose live bytes keep growing.

    Attributes:
        function: Qualified name.
        file: Source file, or the object file of a native function.
        line: The line that allocated; 0 when unknown.
        live_bytes: What it holds.
        bytes_per_second: How fast that grows.
        confidence: ``"high"`` or ``"medium"``.
        samples: Live blocks behind the verdict.
    """

    function: str
    file: str
    line: int
    live_bytes: int
    bytes_per_second: float
    confidence: str
    samples: int

    @classmethod
    def _of(cls, row: _LeakRow) -> LeakRow:
        (function, file, line, _, _), live, rate, confidence, samples = row
        return cls(function, file, line, live, rate, confidence, samples)


@dataclass(frozen=True, slots=True)
class SiteChange:
    """What one line of code holds in two snapshots.

    Attributes:
        function: Qualified name.
        file: Source file, or the object file of a native function.
        line: The line that allocated; 0 when unknown.
        before_bytes: What it held in the first one.
        after_bytes: What it holds in the second one.
        before_blocks: The same in blocks.
        after_blocks: The same in blocks.
    """

    function: str
    file: str
    line: int
    before_bytes: int
    after_bytes: int
    before_blocks: int
    after_blocks: int

    @property
    def change_bytes(self) -> int:
        """How much more it holds; negative for less."""
        return self.after_bytes - self.before_bytes

    @classmethod
    def _of(cls, row: _ChangeRow) -> SiteChange:
        (function, file, line, _, _), *rest = row
        return cls(function, file, line, *rest)


@dataclass(frozen=True, slots=True)
class ResidentMemory:
    """What the resident size of the process is made of.

    The parts and ``unexplained`` add up to ``resident``.

    Attributes:
        resident: The resident size.
        sites: What the sampled lines of code hold, as far as it is resident.
        before_start: Allocated before sampling began, and not freed since.
        allocator_slack: Headers and rounding of the allocators.
        free_room: Room the allocators keep for later.
        mapped_files: Code, data and shared memory.
        stacks: Stacks of threads.
        profiler: What the recorder itself holds.
        unexplained: What no part accounts for; negative when the parts say too
            much, because what sites hold is an estimate.
    """

    resident: int
    sites: int
    before_start: int
    allocator_slack: int
    free_room: int
    mapped_files: int
    stacks: int
    profiler: int
    unexplained: int

    @property
    def unexplained_share(self) -> float:
        """What stays unexplained, as a share of the resident size."""
        return abs(self.unexplained) / self.resident if self.resident else 0.0

    def __str__(self) -> str:
        parts = {
            "held by sites": self.sites,
            "from before the start": self.before_start,
            "allocator slack": self.allocator_slack,
            "free room in arenas": self.free_room,
            "mapped files": self.mapped_files,
            "stacks": self.stacks,
            "tachograph itself": self.profiler,
            "unexplained": self.unexplained,
        }
        whole = max(self.resident, 1)
        lines = [f"{self.resident / 1e6:10.1f} MB  resident"]
        lines += [
            f"{size / 1e6:10.1f} MB {size / whole:6.1%}  {name}" for name, size in parts.items()
        ]
        return "\n".join(lines)

    @classmethod
    def _of(cls, row: _ResidentRow | None) -> ResidentMemory | None:
        if row is None:
            return None
        resident, parts, unexplained = row
        return cls(resident=resident, unexplained=unexplained, **dict(parts))
