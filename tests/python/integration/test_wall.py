"""Wall mode shows waiting threads at the line they wait on; CPU mode does not."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import blocking
import many_imports
import pytest
import sleep_mix
import tachograph
from answers import (
    counts_by_function,
    marked_line,
    missed_looks,
    python_stack,
    short,
    tolerance,
    weight_by_function,
    weight_by_thread,
)
from clockwork import shares

WAYS = ("in_sleep", "in_lock", "in_queue", "in_socket")


def test_blocked_threads_appear_at_their_blocking_line() -> None:
    with blocking.Blocked():
        before = time.monotonic_ns()
        tachograph.start(interval_ms=5, mode="wall")
        begin = time.monotonic_ns()
        time.sleep(1.0)
        end = time.monotonic_ns()
        profile = tachograph.stop()
        after = time.monotonic_ns()

    # The window opens somewhere in `start()` and closes somewhere in `stop()`.
    least = 0.95 * (end - begin) - 5e6 * missed_looks(profile)
    most = 1.05 * (after - before)
    for way in WAYS:
        stacks = [python_stack(s) for s in profile.samples if s.thread_name == way]
        places = Counter((short(stack[-1][0]), stack[-1][2]) for stack in stacks if stack)
        assert places[(way, marked_line(blocking, way))] > 0.95 * len(stacks), (way, places)
        assert least < weight_by_thread(profile)[way] < most, way


def test_blocked_threads_are_absent_in_cpu_mode() -> None:
    with blocking.Blocked():
        tachograph.start(interval_ms=1, mode="cpu")
        time.sleep(0.5)
        profile = tachograph.stop()

    weights = weight_by_thread(profile)
    for way in WAYS:
        assert weights.get(way, 0) < 10e6, way


@pytest.mark.measures
def test_a_sleeper_gets_no_cpu_time() -> None:
    tachograph.start(interval_ms=1)
    sleep_mix.run(1.2)
    profile = tachograph.stop()

    weights = weight_by_function(profile, sleep_mix.NAMES)
    assert weights["asleep"] < 0.01 * sum(weights.values()) + 2e6


@pytest.mark.measures
def test_a_sleeper_gets_its_share_of_wall_time() -> None:
    tachograph.start(interval_ms=1, mode="wall")
    ledger = sleep_mix.run(1.5)
    profile = tachograph.stop()

    truth = shares(ledger.wall_ns)
    seen = shares(weight_by_function(profile, sleep_mix.NAMES))
    count = sum(counts_by_function(profile, sleep_mix.NAMES).values())
    # Where a look was missed, its time may go to either side.
    missed = 1e6 * missed_looks(profile) / sum(ledger.wall_ns.values())
    for name, share in truth.items():
        assert seen[name] == pytest.approx(share, abs=tolerance(share, count) + missed), name


def test_the_body_of_a_module_that_waited_keeps_its_name(tmp_path: Path) -> None:
    many_imports.write_waiting(tmp_path, 40, 0.015)

    tachograph.start(interval_ms=1, mode="wall")
    many_imports.run_imports(tmp_path, 40)
    profile = tachograph.stop()

    seen = set()
    for sample in (s for s in profile.samples if s.thread_name == "MainThread"):
        names = {frame.function_name for frame in sample.frames}
        assert "<code that is gone>" not in names
        innermost = sample.frames[-1]
        number = re.search(r"made_module_(\d+)\.py$", innermost.filename or "")
        if number and innermost.lineno == many_imports.blank_lines(int(number[1])) + 2:
            seen.add(number[1])
    # Gaps between looks are at most one and a half intervals: nine fall into every wait, and
    # it goes unseen only where the sampler missed all of them.
    assert len(seen) >= 40 - missed_looks(profile) / 9
