"""What a profile says, in the terms in which targets state their right answers.

Tests and measurements read profiles through this file: by counting samples, or
by the nanoseconds each sample stands for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import sqrt
from pathlib import Path
from types import ModuleType
from typing import Any

Stack = list[tuple[str, str, int]]


def short(name: str) -> str:
    """Return the last part of a qualified name."""
    return name.rpartition(".")[2]


def python_stack(sample: Any) -> Stack:
    """Return a sample's Python frames, root first, as (function, file, line)."""
    return [(f.function_name, f.filename, f.lineno) for f in sample.frames if not f.is_native]


def innermost_of(names: Iterable[str], frames: Iterable[str]) -> str | None:
    """Return the innermost of `names` on a root-first stack, if any is there."""
    wanted = frozenset(names)
    return next((name for name in reversed(list(frames)) if name in wanted), None)


def counts_by_function(profile: Any, names: Iterable[str]) -> Counter[str]:
    """Count the samples that stand in each of `names` or below it."""
    wanted = frozenset(names)
    counts: Counter[str] = Counter()
    for sample in profile.samples:
        found = innermost_of(wanted, (short(f.function_name) for f in sample.frames))
        if found:
            counts[found] += 1
    return counts


def counts_by_thread(profile: Any) -> Counter[str]:
    """Count the samples of each thread by its name."""
    return Counter(sample.thread_name or f"#{sample.thread_id}" for sample in profile.samples)


def weighted(profile: Any) -> Iterator[tuple[str, list[str], int]]:
    """Yield (thread, function names root first, nanoseconds) of each sample."""
    for sample in profile.samples:
        names = [short(frame.function_name) for frame in sample.frames]
        yield sample.thread_name or f"#{sample.thread_id}", names, sample.weight_ns


def weight_by_function(profile: Any, names: Iterable[str]) -> dict[str, int]:
    """Sum the nanoseconds in each of `names` or below it."""
    wanted = frozenset(names)
    sums = dict.fromkeys(wanted, 0)
    for _, stack, weight in weighted(profile):
        found = innermost_of(wanted, stack)
        if found:
            sums[found] += weight
    return sums


def weight_by_thread(profile: Any) -> dict[str, int]:
    """Sum the nanoseconds of each thread by its name."""
    sums: dict[str, int] = {}
    for thread, _, weight in weighted(profile):
        sums[thread] = sums.get(thread, 0) + weight
    return sums


def weight_by_task(profile: Any) -> dict[str, int]:
    """Sum the nanoseconds of each asyncio task by its name."""
    sums: dict[str, int] = {}
    for sample in profile.samples:
        if sample.task_name is not None:
            sums[sample.task_name] = sums.get(sample.task_name, 0) + sample.weight_ns
    return sums


def tolerance(share: float, samples: int, *, bias: float = 0.01) -> float:
    """Return how far a true share may look off when `samples` samples tell it.

    Four standard errors of a count, plus what the machine's own scheduling may
    shift: one wrong verdict in some ten thousand.
    """
    return 4 * sqrt(max(share * (1 - share), 0.01) / max(samples, 1)) + bias


def missed_looks(profile: Any) -> int:
    """Return how many looks the recorder itself says it did not take.

    Deadlines that passed while its sampler waited for a processor, looks left
    out because the thread stood in a wait, stacks lost or not readable.
    """
    left_out: int = profile.meta["waiting_samples"]
    late: int = profile.recording.loss["late_ticks"]
    lost: int = profile.dropped_count
    return late + left_out + lost


def fewest_looks(profile: Any, cpu_ns: float) -> float:
    """Return how many samples a thread that used `cpu_ns` has at least.

    One per interval, less what the recorder owns up to. Gaps between looks are
    uniform over one interval, so the count has a variance of a twelfth of
    itself; four standard errors are chance. A tenth is what a tick spends on
    threads that have just been pushed aside, and on its first and last gap.
    """
    expected = cpu_ns / (profile.interval_ms * 1e6)
    return 0.9 * expected - 4 * sqrt(expected / 12) - missed_looks(profile) - 2


def most_looks(profile: Any, cpu_ns: float, pushed_aside: int) -> float:
    """Return how many samples such a thread has at most.

    A thread that waits for a processor is looked at too, once per wait: that
    adds up to one sample for each of the `pushed_aside` times it lost its own.
    """
    expected = cpu_ns / (profile.interval_ms * 1e6)
    return 1.1 * expected + 4 * sqrt(expected / 12) + pushed_aside + 2


def marked_line(module: ModuleType, mark: str) -> int:
    """Return the line of `module` that is marked `# line: mark`."""
    lines = Path(str(module.__file__)).read_text().splitlines()
    return next(n for n, text in enumerate(lines, 1) if re.search(rf"# line: {mark}$", text))
