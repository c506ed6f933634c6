"""What ``stop()`` returns: a recording as plain Python objects.

``stop()`` imports this, so what one answer needs is imported by that answer.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from .plain import dataclass
from .recording import Recording
from .samples import Sample

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from .._native import Recording as NativeRecording
    from .._types import Format
    from .aggregated import AggregatedProfile

__all__ = ["Profile"]

_NS = 1_000_000_000


@dataclass(repr=False)
class Profile:
    """The samples of a profiling session and the facts around them.

    ``samples`` is made when it is first looked at. Saving and exporting work on
    the recording behind it, which also holds the exact weights; once
    ``samples`` has been changed, they work on ``samples``.

    Attributes:
        start_time: When profiling started, local time.
        end_time: When it stopped.
        interval_ms: The interval that was asked for.
        samples: Every look at every thread, in order of time.
        dropped_count: Samples lost: no room, or unreadable.
        python_version: Such as ``3.12.1``.
        platform: System, release and architecture.
    """

    start_time: datetime
    end_time: datetime
    interval_ms: int
    samples: list[Sample]
    dropped_count: int
    python_version: str
    platform: str

    @classmethod
    def _of(cls, native: NativeRecording) -> Profile:
        """Return the profile of a recording; its samples are made on first use."""
        started_unix_ns, duration_ns, interval_ns, missing, version, platform = native.facts()
        profile = cls.__new__(cls)
        profile.start_time = _local_time(started_unix_ns)
        profile.end_time = profile.start_time + timedelta(microseconds=duration_ns / 1_000)
        profile.interval_ms = interval_ns // 1_000_000
        profile.dropped_count = missing
        profile.python_version = version
        profile.platform = platform
        profile.__dict__["_recorded"] = Recording._of(native)
        return profile

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            recorded = self.__dict__.get("_recorded")
            if name != "samples" or recorded is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            from .columns import samples_of

            self.samples = samples_of(recorded._native)
            # Compared with `samples` before an export, to notice a change.
            self.__dict__["_unchanged"] = self.samples.copy()
            return self.samples

    def __repr__(self) -> str:
        return (
            f"Profile(start_time={self.start_time!r}, end_time={self.end_time!r}, "
            f"interval_ms={self.interval_ms!r}, samples=<{self.sample_count} samples>, "
            f"dropped_count={self.dropped_count!r}, python_version={self.python_version!r}, "
            f"platform={self.platform!r})"
        )

    @property
    def recording(self) -> Recording:
        """The recording behind the profile: functions, lines, threads, summary."""
        recorded: Recording | None = self.__dict__.get("_recorded")
        if recorded is not None and not self._is_changed():
            return recorded
        from .columns import recording_of

        return Recording._of(
            recording_of(
                self.samples,
                mode="cpu" if recorded is None else recorded.mode,
                interval_ms=self.interval_ms,
                start_time=self.start_time,
                end_time=self.end_time,
                dropped_count=self.dropped_count,
                python_version=self.python_version,
                platform=self.platform,
            )
        )

    def _is_changed(self) -> bool:
        """Whether ``samples`` no longer says what was recorded."""
        return "samples" in self.__dict__ and self.samples != self.__dict__.get("_unchanged")

    @property
    def meta(self) -> dict[str, Any]:
        """How it was recorded: trigger and why, true rate, cost, lateness, loss.

        Keys: ``mode``, ``trigger``, ``trigger_reason``, ``interval_ms``,
        ``rate_hz`` (samples per CPU-second), ``cost`` (share of the CPU time
        watched), ``median_lateness_ns``, ``native``, ``max_depth``, ``loss``,
        and the counters they come from.
        """
        recording = self.recording
        cpu = dict(recording.meta["settings"]["cpu"] or {})
        report = cpu.pop("report", {})
        return {**cpu, **report, "interval_ms": self.interval_ms, "loss": recording.loss}

    @property
    def sample_count(self) -> int:
        """How many samples there are."""
        if "samples" in self.__dict__:
            return len(self.samples)
        return self.recording.sample_count

    @property
    def total_duration_ms(self) -> float:
        """How long profiling ran, in milliseconds."""
        return (self.end_time - self.start_time).total_seconds() * 1_000

    @property
    def effective_rate_hz(self) -> float:
        """Samples per second of elapsed time; 0.0 for no time."""
        seconds = self.total_duration_ms / 1_000
        return self.sample_count / seconds if seconds > 0 else 0.0

    def aggregate(self) -> AggregatedProfile:
        """Return the profile with equal stacks of a thread counted together."""
        from .aggregated import AggregatedProfile
        from .columns import aggregated_stacks_of

        return AggregatedProfile(
            start_time=self.start_time,
            end_time=self.end_time,
            interval_ms=self.interval_ms,
            stacks=aggregated_stacks_of(self.recording._native),
            total_samples=self.sample_count,
            dropped_count=self.dropped_count,
            python_version=self.python_version,
            platform=self.platform,
        )

    def to_speedscope(self) -> dict[str, Any]:
        """Return the profile as Speedscope reads it, ready for ``json.dump``."""
        from .. import output

        return output.to_speedscope(self)

    def to_collapsed(self) -> str:
        """Return one line per distinct stack, for flame graph scripts."""
        from .. import output

        return output.to_collapsed(self)

    def save(self, path: str | PathLike[str], format: Format | None = None) -> None:
        """Write the profile to a file.

        Args:
            path: The file. It appears whole or not at all.
            format: ``"speedscope"``, ``"collapsed"``, ``"svg"`` or ``"tacho"``.
                By default the extension of ``path`` says it, and an unknown
                one means Speedscope.

        Raises:
            ValueError: Unknown format.
            OSError: The file cannot be written; the profile stays as it is.
        """
        self.recording.save(path, format)


def _local_time(unix_ns: int) -> datetime:
    """Return local time, without a zone, for nanoseconds since 1970."""
    seconds, rest = divmod(unix_ns, _NS)
    return datetime.fromtimestamp(seconds) + timedelta(microseconds=rest // 1_000)
