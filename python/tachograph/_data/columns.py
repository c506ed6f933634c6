"""Samples between Python objects and the columns Rust works with.

Each distinct frame, stack, thread and task crosses once, so a hundred thousand
samples cost a hundred thousand small objects and little else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from .._native import Recording as NativeRecording
from .model import AggregatedStack
from .samples import Frame, Sample

if TYPE_CHECKING:
    from .._native import _SampleColumns


def samples_of(recording: NativeRecording) -> list[Sample]:
    """Return the samples of a recording."""
    columns = recording.columns()
    stacks = _stacks(columns["frames"], columns["stacks"])
    thread_ids = [thread_id for thread_id, _ in columns["threads"]]
    thread_names = [name for _, name in columns["threads"]]
    # A sample without a task has the position -1, which is the last one.
    tasks: list[str | None] = [*columns["tasks"], None]
    times, thread_of, task_of, stack_of, weights = columns["columns"]
    return list(
        map(
            Sample,
            times,
            map(thread_ids.__getitem__, thread_of),
            map(thread_names.__getitem__, thread_of),
            map(stacks.__getitem__, stack_of),
            map(tasks.__getitem__, task_of),
            weights,
        )
    )


def aggregated_stacks_of(recording: NativeRecording) -> list[AggregatedStack]:
    """Return the distinct stacks per thread, in the order they were first seen."""
    columns = recording.columns()
    stacks = _stacks(columns["frames"], columns["stacks"])
    threads = columns["threads"]
    _, thread_of, _, stack_of, _ = columns["columns"]
    counts = Counter(zip(thread_of, stack_of, strict=True))
    return [
        AggregatedStack(stacks[stack], *threads[thread], count)
        for (thread, stack), count in counts.items()
    ]


def _stacks(
    frame_rows: list[tuple[str, str, int, bool]], stack_rows: list[list[int]]
) -> list[tuple[Frame, ...]]:
    frames = [Frame(*row) for row in frame_rows]
    return [tuple(map(frames.__getitem__, row)) for row in stack_rows]


def recording_of(
    samples: Iterable[Sample],
    *,
    mode: str,
    interval_ms: int,
    start_time: datetime,
    end_time: datetime,
    dropped_count: int,
    python_version: str,
    platform: str,
) -> NativeRecording:
    """Return the recording these samples would have come from."""
    frames: dict[tuple[str, str, int, bool], int] = {}
    stacks: list[list[int]] = []
    # Samples share their stacks, so a stack is known by its identity first.
    seen: dict[int, int] = {}
    threads: dict[int, int] = {}
    names: dict[int, str | None] = {}
    tasks: dict[str, int] = {}
    columns: _SampleColumns = ([], [], [], [], [])
    times, thread_of, task_of, stack_of, weights = columns
    kept: list[Sequence[Frame]] = []
    interval_ns = int(interval_ms * 1_000_000)
    for sample in samples:
        stack = seen.get(id(sample.frames))
        if stack is None:
            stack = seen[id(sample.frames)] = len(stacks)
            stacks.append([_numbered(frames, frame) for frame in sample.frames])
            kept.append(sample.frames)  # or its identity could come to mean another stack
        times.append(sample.timestamp_ns)
        thread_of.append(threads.setdefault(sample.thread_id, len(threads)))
        names[sample.thread_id] = sample.thread_name or names.get(sample.thread_id)
        task = sample.task_name
        task_of.append(-1 if task is None else tasks.setdefault(task, len(tasks)))
        stack_of.append(stack)
        weights.append(interval_ns if sample.weight_ns is None else sample.weight_ns)
    return NativeRecording.from_samples(
        frames=list(frames),
        stacks=stacks,
        threads=[(thread_id, names[thread_id]) for thread_id in threads],
        tasks=list(tasks),
        columns=columns,
        mode=mode,
        interval_ns=interval_ns,
        started_unix_ns=_unix_ns(start_time),
        duration_ns=max(0, _unix_ns(end_time) - _unix_ns(start_time)),
        dropped_samples=dropped_count,
        python_version=python_version,
        platform=platform,
    )


def _numbered(frames: dict[tuple[str, str, int, bool], int], frame: Frame) -> int:
    row = (frame.function_name, frame.filename, frame.lineno, frame.is_native)
    return frames.setdefault(row, len(frames))


def _unix_ns(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1_000
