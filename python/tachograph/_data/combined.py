"""What a monitor is asked for, and all it saw."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from .._native import monitor_table
from .late import Late, nothing
from .memory import MemoryMode
from .plain import dataclass, field
from .table import Table
from .timing import TimingMode

if TYPE_CHECKING:
    from .machine import MonitoringResult
    from .memory import MemoryResult
    from .timing import TimingResult
    from .validation import ValidationResult

__all__ = ["CombinedResult", "MonitoringConfig", "MonitoringSummary"]

_MB = 1024 * 1024


@dataclass
class MonitoringConfig:
    """What a monitor looks at, and what it does with what it saw.

    A monitor takes a copy of what it needs when it is made; changing a
    configuration later changes nothing, and nobody else changes it.

    Attributes:
        enable_timing: Measure time, and count it in `get_timing_stats`.
        timing_mode: The clock, see `TimingMode`.
        timing_precision: Decimals of the seconds that are printed.
        enable_memory: Measure memory.
        memory_mode: How, see `MemoryMode`.
        track_peak_memory: Ask the kernel for the peak; without it only both
            ends and samples are seen.
        use_tracemalloc: Record where memory is allocated.
        enable_system: Measure CPU, disk and network.
        system_sample_interval: Seconds between two samples. The samples are
            taken by one thread for the whole program; the shortest interval
            that anybody asks for counts.
        monitor_gpu: Look at graphics processors too.
        enable_validation: Ask the validators.
        input_validators: Validators by parameter; see `validate_inputs`.
            Parameters that a function does not have are left out.
        output_validators: Validators of the result; see `validate_outputs`.
        print_results: Print a table at the end of every call.
        return_results: Return ``(value, CombinedResult)``.
        raise_on_validation_error: Raise when a validator rejects a value;
            otherwise look at `CombinedResult.validation_result`.
    """

    enable_timing: bool = True
    timing_mode: str = TimingMode.WALL_CLOCK
    timing_precision: int = 6
    enable_memory: bool = True
    memory_mode: str = MemoryMode.BASIC
    track_peak_memory: bool = True
    use_tracemalloc: bool = False
    enable_system: bool = True
    system_sample_interval: float = 0.1
    monitor_gpu: bool = False
    enable_validation: bool = False
    input_validators: Any = None
    output_validators: Any = None
    print_results: bool = False
    return_results: bool = False
    raise_on_validation_error: bool = True


class MonitoringSummary(Table):
    """What a monitor saw, in a few numbers: ``print`` it, or read it as a dict.

    ================== ======================================================
    ``function_name``  the function or block
    ``total_duration`` seconds
    ``timestamp``      when it began, in seconds since 1970
    ``timing``         ``execution_time timing_mode precision``
    ``memory``         ``peak_memory_mb memory_diff_mb duration
                       start_memory_mb end_memory_mb``
    ``system``         ``peak_cpu peak_memory total_disk_read_mb
                       total_disk_write_mb duration cpu_percent
                       total_net_sent_mb total_net_recv_mb``
    ``gpu``            per device the highest readings
    ``validation``     ``input_valid output_valid validation_time errors``
    ================== ======================================================

    What was not asked for is not in it. A megabyte is 2^20 bytes in the dict;
    the table has 10^6, as all tables of tachograph.
    """

    def _drawn(self, *, color: bool, width: int, unicode: bool) -> str:
        text = json.dumps(self, default=str)
        return monitor_table(text, color=color, width=width, unicode=unicode)


@dataclass
class CombinedResult(Late):
    """All that a monitor saw of one call or block.

    Attributes:
        function_name: The function, or the name the block was given.
        timing_result: Its time; ``None`` if that was not asked for.
        memory_result: Its memory; ``None`` if that was not asked for.
        monitoring_result: Processor, disk, network; ``None`` if that was not
            asked for.
        validation_result: What validators said; ``None`` without any.
        total_duration: Seconds from beginning to end; 0.0 until the end.
        timestamp: When it began, in seconds since 1970.
        metadata: ``success`` and ``error`` (the exception's text). A call adds
            ``args_count`` and ``kwargs_count``; a coroutine ``async``; a
            coroutine or generator also ``running_time`` and
            ``suspended_time``.
    """

    function_name: str
    timing_result: TimingResult | None = field(default_factory=nothing)
    memory_result: MemoryResult | None = field(default_factory=nothing)
    monitoring_result: MonitoringResult | None = field(default_factory=nothing)
    validation_result: ValidationResult | None = field(default_factory=nothing)
    total_duration: float = field(default_factory=float)
    timestamp: float = field(default_factory=time.time)
    metadata: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> MonitoringSummary:
        """Return the most important numbers as a dict that prints as a table."""
        told = MonitoringSummary(
            function_name=self.function_name,
            total_duration=self.total_duration,
            timestamp=self.timestamp,
        )
        if self.metadata.get("error") is not None:
            told["error"] = self.metadata["error"]
        if self.timing_result is not None:
            told["timing"] = {
                "execution_time": self.timing_result.execution_time,
                "timing_mode": self.timing_result.timing_mode,
                "precision": self.metadata.get("timing_precision"),
            }
        if self.memory_result is not None:
            told["memory"] = _memory(self.memory_result)
        if self.monitoring_result is not None:
            told["system"] = _system(self.monitoring_result)
            devices = self.monitoring_result.metadata.get("gpu")
            if devices:
                told["gpu"] = devices
        if self.validation_result is not None:
            told["validation"] = {
                "input_valid": self.validation_result.input_valid,
                "output_valid": self.validation_result.output_valid,
                "validation_time": self.validation_result.validation_time,
                "errors": [
                    *self.validation_result.input_errors,
                    *self.validation_result.output_errors,
                ],
            }
        notes = self.metadata.get("notes")
        if notes:
            told["notes"] = list(notes)
        return told


def _memory(result: MemoryResult) -> dict[str, Any]:
    told: dict[str, Any] = {
        "peak_memory_mb": result.peak_memory / _MB,
        "memory_diff_mb": result.memory_diff / _MB,
        "duration": result.duration,
        "start_memory_mb": result.start_memory.rss / _MB,
        "end_memory_mb": result.end_memory.rss / _MB,
    }
    if result.tracemalloc_peak is not None and result.tracemalloc_current is not None:
        told["traced_peak_mb"] = result.tracemalloc_peak / _MB
        told["traced_current_mb"] = result.tracemalloc_current / _MB
        told["allocations"] = [
            {
                "function": site["function"],
                "place": f"{site['file']}:{site['line']}",
                "size_mb": site["bytes"] / _MB,
            }
            for site in result.metadata.get("allocations", [])[:3]
        ]
    return told


def _system(result: MonitoringResult) -> dict[str, Any]:
    def megabytes(size: int | None) -> float | None:
        return None if size is None else size / _MB

    return {
        "peak_cpu": result.peak_cpu,
        "peak_memory": result.peak_memory,
        "total_disk_read_mb": megabytes(result.total_disk_read),
        "total_disk_write_mb": megabytes(result.total_disk_write),
        "duration": result.duration,
        "cpu_percent": result.cpu_usage_end,
        "total_net_sent_mb": megabytes(result.total_net_sent),
        "total_net_recv_mb": megabytes(result.total_net_recv),
    }
