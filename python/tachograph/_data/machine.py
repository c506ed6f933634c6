"""What the system monitors measure."""

from __future__ import annotations

from typing import Any, NamedTuple

from .late import Late, nothing
from .plain import dataclass, field

__all__ = ["GPUSnapshot", "MonitoringResult", "SystemSnapshot"]


class SystemSnapshot(NamedTuple):
    """This process and its machine at one moment.

    Attributes:
        cpu_percent: CPU of this process in percent of one core: 150 is one
            and a half cores. Over the time since the last reading; the first
            one is over the life of the process.
        memory_percent: Physical memory in percent of the machine's.
        memory_rss: Bytes in physical memory.
        memory_vms: Bytes of address space.
        disk_read_bytes: Bytes this process had read from disk so far.
        disk_write_bytes: Bytes this process had written to disk so far.
        net_bytes_sent: Bytes the machine sent so far, loopback left out.
        net_bytes_recv: Bytes the machine received so far, loopback left out.
        open_files: Open descriptors of this process; in the results of
            monitors 0 before Linux 6.2.
        num_threads: Threads of this process.
        timestamp: Seconds since 1970.
    """

    cpu_percent: float
    memory_percent: float
    memory_rss: int
    memory_vms: int
    disk_read_bytes: int
    disk_write_bytes: int
    net_bytes_sent: int
    net_bytes_recv: int
    open_files: int
    num_threads: int
    timestamp: float

    @classmethod
    def capture(cls) -> SystemSnapshot:
        """Return a snapshot of now."""
        from ..decorators._monitors.machine import snapshot

        return snapshot()


class GPUSnapshot(NamedTuple):
    """One graphics processor at one moment; ``None``: it does not tell.

    Attributes:
        gpu_utilization: How busy it is, in percent.
        gpu_memory_used: Bytes in use.
        gpu_memory_total: Bytes it has.
        gpu_temperature: Degrees Celsius.
        gpu_power_draw: Watts.
        timestamp: Seconds since 1970.
    """

    gpu_utilization: float | None
    gpu_memory_used: int | None
    gpu_memory_total: int | None
    gpu_temperature: float | None
    gpu_power_draw: float | None
    timestamp: float


@dataclass
class MonitoringResult(Late):
    """What the process and its machine did during one call or block.

    CPU is in percent of one core, memory in percent of the machine's.

    Attributes:
        function_name: The function, or the name the block was given.
        execution_time: Seconds.
        cpu_usage_start: CPU of this process up to the beginning, since the
            last sample before it.
        cpu_usage_end: CPU of this process from beginning to end.
        memory_usage_start: Memory at the beginning.
        memory_usage_end: Memory at the end.
        timestamp: When it began, in seconds since 1970.
        start_snapshot: The beginning.
        end_snapshot: The end.
        peak_cpu: The most CPU: of any sample, or from beginning to end.
        peak_memory: The most memory, also of a short moment.
        total_disk_read: Bytes this process read from disk.
        total_disk_write: Bytes this process wrote to disk.
        total_net_sent: Bytes the machine sent; see ``metadata``.
        total_net_recv: Bytes the machine received; see ``metadata``.
        duration: The same as `execution_time`.
        cpu_samples: CPU of the samples in between.
        memory_samples: Memory of the samples in between.
        gpu_snapshots: Readings of the graphics processors; none without one.
        metadata: ``sample_interval``, ``monitor_gpu``, ``samples_count``,
            ``success`` and ``error`` (the exception's text);
            ``bytes_written``, to files and pipes, whether or not they reached
            a disk; ``machine_cpu_percent``, how busy all processors were;
            ``machine_age``, how many seconds before the end the machine was
            last read; ``gpu``, the highest readings of each device. A call
            adds ``args_count`` and ``kwargs_count``.
    """

    function_name: str
    execution_time: float
    cpu_usage_start: float
    cpu_usage_end: float
    memory_usage_start: float
    memory_usage_end: float
    timestamp: float
    start_snapshot: SystemSnapshot | None = field(default_factory=nothing)
    end_snapshot: SystemSnapshot | None = field(default_factory=nothing)
    peak_cpu: float | None = field(default_factory=nothing)
    peak_memory: float | None = field(default_factory=nothing)
    total_disk_read: int | None = field(default_factory=nothing)
    total_disk_write: int | None = field(default_factory=nothing)
    total_net_sent: int | None = field(default_factory=nothing)
    total_net_recv: int | None = field(default_factory=nothing)
    duration: float | None = field(default_factory=nothing)
    cpu_samples: list[float] = field(default_factory=list)
    memory_samples: list[float] = field(default_factory=list)
    gpu_snapshots: list[GPUSnapshot] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.duration is None:
            self.duration = self.execution_time
