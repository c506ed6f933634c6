"""Profiles built by hand, and work that takes a known time."""

from __future__ import annotations

import time
from datetime import datetime

from tachograph import Frame, Profile, Sample

START = datetime(2024, 1, 1, 12, 0, 0)
END = datetime(2024, 1, 1, 12, 0, 1)

MAIN = Frame("main", "app.py", 10)
WORK = Frame("work", "worker.py", 42)
ZLIB = Frame("deflate", "libz.so", 0, is_native=True)


def made_profile(*samples: Sample, end_time: datetime = END) -> Profile:
    """Return a profile of one second at 10 ms with these samples."""
    return Profile(
        start_time=START,
        end_time=end_time,
        interval_ms=10,
        samples=list(samples),
        dropped_count=0,
        python_version="3.12.0",
        platform="Linux-6.1-x86_64",
    )


def sample(
    *frames: Frame, time_ns: int = 0, thread: int = 1, name: str | None = "MainThread"
) -> Sample:
    """Return one look at one thread."""
    return Sample(timestamp_ns=time_ns, thread_id=thread, thread_name=name, frames=frames)


def spin(cpu_seconds: float) -> int:
    """Keep one processor busy for so long, by the thread's own clock."""
    end = time.thread_time() + cpu_seconds
    rounds = 0
    while time.thread_time() < end:
        sum(range(500))
        rounds += 1
    return rounds
