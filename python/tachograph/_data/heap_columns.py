"""Sampled blocks between Python objects and the columns Rust works with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import repeat

from .._native import Picture
from .heap import AllocationSample, StackFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def samples_of(picture: Picture, rate: int) -> list[AllocationSample]:
    """Return the blocks of a picture; equal stacks are one list.

    Filled column by column: a frozen class takes three times as long to make
    each object by its own ``__init__``, and there may be a hundred thousand.
    """
    columns = picture.columns()
    frames = [StackFrame(*row) for row in columns["frames"]]
    stacks = [list(map(frames.__getitem__, row)) for row in columns["stacks"]]
    addresses, sizes, estimates, times, stack_of = columns["columns"]
    make: Any = AllocationSample.__new__
    samples: list[AllocationSample] = list(map(make, repeat(AllocationSample, len(addresses))))
    fields: dict[str, Iterable[object]] = {
        "address": addresses,
        "size": sizes,
        "weight": repeat(rate),
        "estimated_bytes": estimates,
        "timestamp_ns": times,
        "lifetime_ns": repeat(None),
        "stack": map(stacks.__getitem__, stack_of),
        "gc_epoch": repeat(0),
    }
    for name, values in fields.items():
        fill: Any = AllocationSample.__dict__[name].__set__
        deque(map(fill, samples, values), maxlen=0)
    return samples


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
