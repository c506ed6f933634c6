"""A profile with equal stacks counted together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from os import PathLike

from .. import output
from .columns import recording_of
from .model import AggregatedStack
from .plain import dataclass
from .recording import Recording
from .samples import Sample

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Format

__all__ = ["AggregatedProfile"]


@dataclass
class AggregatedProfile:
    """A profile with equal stacks of a thread counted together.

    Attributes:
        start_time: When profiling started, local time.
        end_time: When it stopped.
        interval_ms: The interval that was asked for.
        stacks: Each distinct stack of each thread, with its count.
        total_samples: How many samples were counted.
        dropped_count: Samples lost: no room, or unreadable.
        python_version: Such as ``3.12.1``.
        platform: System, release and architecture.
    """

    start_time: datetime
    end_time: datetime
    interval_ms: int
    stacks: list[AggregatedStack]
    total_samples: int
    dropped_count: int
    python_version: str
    platform: str

    @property
    def unique_stack_count(self) -> int:
        """How many distinct stacks there are."""
        return len(self.stacks)

    @property
    def compression_ratio(self) -> float:
        """Samples per distinct stack; 1.0 when there are none."""
        return self.total_samples / len(self.stacks) if self.stacks else 1.0

    @property
    def memory_reduction_pct(self) -> float:
        """How much smaller it is than the samples, in per cent."""
        if self.total_samples == 0:
            return 0.0
        return (1.0 - len(self.stacks) / self.total_samples) * 100

    @property
    def recording(self) -> Recording:
        """A recording with as many samples, each one interval long."""
        return Recording._of(
            recording_of(
                self._samples(),
                mode="cpu",
                interval_ms=self.interval_ms,
                start_time=self.start_time,
                end_time=self.end_time,
                dropped_count=self.dropped_count,
                python_version=self.python_version,
                platform=self.platform,
            )
        )

    def _samples(self) -> Iterator[Sample]:
        for stack in self.stacks:
            for number in range(stack.count):
                time_ns = number * self.interval_ms * 1_000_000
                yield Sample(time_ns, stack.thread_id, stack.thread_name, stack.frames)

    def to_speedscope(self) -> dict[str, Any]:
        """Return the profile as Speedscope reads it, ready for ``json.dump``."""
        return output.aggregated_to_speedscope(self)

    def to_collapsed(self) -> str:
        """Return one line per distinct stack, for flame graph scripts."""
        return output.aggregated_to_collapsed(self)

    def save(self, path: str | PathLike[str], format: Format | None = None) -> None:
        """Write the profile to a file, as ``Profile.save`` does."""
        self.recording.save(path, format)
