"""Result objects, made of what a window found out when they are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._data.combined import CombinedResult
from ..._data.late import Late, fill_later, made_later
from ..._data.machine import MonitoringResult
from ..._data.memory import MemoryResult, MemorySnapshot
from ..._data.timing import TimingResult
from .machine import cpu_until, total_memory
from .system import monitoring_fields

if TYPE_CHECKING:
    from ..._data.validation import ValidationResult
    from ..._native import Ended, Measured
    from .plan import Plan
    from .traces import Traces

__all__ = ["Found", "empty", "fill", "late"]

_NOTHING = MemorySnapshot(0, 0, 0.0, 0, 0.0)

# Points are kept by the shared sampler for a while only. In a shorter window
# there is none.
LONG_ENOUGH = 0.001

_NO_POINTS: list[tuple[float, float]] = []


class Found:
    """What was found out about one call, as it was measured."""

    __slots__ = (
        "args_count",
        "collected",
        "cpu_before",
        "cpu_points",
        "ended",
        "error",
        "kwargs_count",
        "measured",
        "memory_points",
        "plan",
        "traces",
        "validation",
    )

    def __init__(
        self,
        plan: Plan,
        measured: Measured,
        ended: Ended,
        error: str | None,
        counts: tuple[int, int],
        validation: ValidationResult | None,
        collected: tuple[Any, Any] | None,
        traces: Traces | None,
    ) -> None:
        self.plan = plan
        self.measured = measured
        self.ended = ended
        self.error = error
        self.args_count, self.kwargs_count = counts
        self.validation = validation
        self.collected = collected
        self.traces = traces
        self.cpu_points = self.memory_points = _NO_POINTS
        if plan.system:
            self.cpu_before = cpu_until(measured.start_ns, measured.cpu_before_s)
        if plan.samples and measured.wall_s >= LONG_ENOUGH:
            self.memory_points = measured.points("process", "memory")
            self.cpu_points = measured.points("process", "cpu time")

    def combined(self) -> dict[str, Any]:
        """Return the fields of a `CombinedResult`."""
        plan, ended = self.plan, self.ended
        facts = self.facts()
        if plan.timing_precision is not None and plan.timing_mode is not None:
            facts["timing_precision"] = plan.timing_precision
        return {
            "function_name": plan.name,
            "timing_result": None if plan.timing_mode is None else self._timing(),
            "memory_result": (
                None if plan.memory_mode is None else made_later(MemoryResult, self.memory)
            ),
            "monitoring_result": (
                made_later(MonitoringResult, self.system) if plan.system else None
            ),
            "validation_result": self.validation,
            "total_duration": ended.wall_ns / 1e9,
            "timestamp": ended.started_unix_ns / 1e9,
            "metadata": facts,
        }

    def facts(self) -> dict[str, Any]:
        """Return what every part of a result tells of its call."""
        facts: dict[str, Any] = {}
        if not self.plan.is_block:
            facts["args_count"] = self.args_count
            facts["kwargs_count"] = self.kwargs_count
        if self.plan.is_async:
            facts["async"] = True
        facts["success"] = self.error is None
        facts["error"] = self.error
        return facts

    def _timing(self) -> TimingResult:
        plan, ended = self.plan, self.ended
        facts = self.facts()
        if ended.suspended_ns or plan.is_async:
            facts["running_time"] = ended.running_ns / 1e9
            facts["suspended_time"] = ended.suspended_ns / 1e9
        began = ended.started_unix_ns / 1e9
        mode = plan.timing_mode or ""
        return TimingResult(plan.name, ended.duration_ns / 1e9, began, None, mode, facts)

    def memory(self) -> dict[str, Any]:
        """Return the fields of a `MemoryResult`."""
        measured, ended = self.measured, self.ended
        rss_start, rss_end, peak = measured.rss_start, measured.rss_end, measured.rss_peak
        vms_start, vms_end = measured.virtual_bytes
        began, elapsed = ended.started_unix_ns / 1e9, ended.wall_ns / 1e9
        total = total_memory()
        machine = measured.range("machine", "memory used")
        free_start = free_end = 0
        if machine is not None:
            _, _, _, last, growth = machine[2]
            free_end = max(0, int(total - last))
            free_start = max(0, int(total - last + growth))
        scale, end = 100.0 / total, began + elapsed
        facts = self.facts()
        facts["mode"] = self.plan.memory_mode
        facts["peak_is_exact"] = measured.peak_is_exact
        if self.plan.samples:
            facts["samples"] = self.memory_points
        fields = {
            "function_name": self.plan.name,
            "peak_memory": peak,
            "memory_diff": rss_end - rss_start,
            "start_memory": MemorySnapshot(
                rss_start, vms_start, rss_start * scale, free_start, began
            ),
            "peak_snapshot": MemorySnapshot(
                peak, max(vms_start, vms_end), peak * scale, free_end, end
            ),
            "end_memory": MemorySnapshot(rss_end, vms_end, rss_end * scale, free_end, end),
            "duration": elapsed,
            "timestamp": began,
            "gc_collections": self._collections(),
            "tracemalloc_peak": None,
            "tracemalloc_current": None,
            "metadata": facts,
        }
        if self.traces is not None:
            self.traces.tell(fields)
        return fields

    def _collections(self) -> dict[int, int]:
        if self.collected is None:
            return {}
        before, after = self.collected
        key = "collections"
        return {g: new[key] - before[g][key] for g, new in enumerate(after)}

    def system(self) -> dict[str, Any]:
        """Return the fields of a `MonitoringResult`."""
        return monitoring_fields(self)


def empty(plan: Plan) -> Any:
    """Return the result of what has not ended yet."""
    if plan.part == "memory":
        return MemoryResult(plan.name, 0, 0, _NOTHING, _NOTHING, _NOTHING, 0.0, 0.0)
    if plan.part == "system":
        return MonitoringResult(plan.name, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return CombinedResult(plan.name)


def late(found: Found) -> Any:
    """Return the result that is handed out, made when it is looked at."""
    part = found.plan.part
    if part == "memory":
        return made_later(MemoryResult, found.memory)
    if part == "system":
        return made_later(MonitoringResult, found.system)
    return made_later(CombinedResult, found.combined)


def fill(result: Late, found: Found) -> None:
    """Put what was found out into a result that somebody holds already."""
    part = found.plan.part
    make = {"memory": found.memory, "system": found.system, "combined": found.combined}[part]
    fill_later(result, make)
