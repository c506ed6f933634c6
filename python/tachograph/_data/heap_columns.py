"""Sampled blocks between Python objects and the columns Rust works with."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from .._native import Picture
from .heap import AllocationSample, StackFrame


def samples_of(picture: Picture, rate: int) -> list[AllocationSample]:
    """Return the blocks of a picture; equal stacks are one list."""
    columns = picture.columns()
    frames = [StackFrame(*row) for row in columns["frames"]]
    stacks = [list(map(frames.__getitem__, row)) for row in columns["stacks"]]
    addresses, sizes, estimates, times, stack_of = columns["columns"]
    return list(
        map(
            AllocationSample,
            addresses,
            sizes,
            repeat(rate),
            estimates,
            times,
            repeat(None),
            map(stacks.__getitem__, stack_of),
        )
    )


def picture_of(samples: Iterable[AllocationSample], timestamp_ns: int) -> Picture:
    """Return the picture of blocks that may have been made by hand."""
    frames: dict[StackFrame, int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    rows: list[tuple[int, int, int, int, int]] = []
    for sample in samples:
        stack = tuple(frames.setdefault(frame, len(frames)) for frame in sample.stack)
        place = stacks.setdefault(stack, len(stacks))
        rows.append(
            (sample.address, sample.size, sample.estimated_bytes, sample.timestamp_ns, place)
        )
    columns = tuple(map(list, zip(*rows, strict=True))) if rows else ([], [], [], [], [])
    return Picture.from_samples(
        [(f.address, f.function, f.file, f.line, f.is_python) for f in frames],
        [list(stack) for stack in stacks],
        columns,  # type: ignore[arg-type]
        max(timestamp_ns, 0),
    )
