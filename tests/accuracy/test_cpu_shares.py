"""CPU time is split as the program spent it, by every trigger.

The tolerance is four standard errors of the sample count plus one point: the
finer promise (1.5 points in the median of five runs) needs a quiet machine and
is measured in benches/cpu.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import beat
import by_thread
import c_calls
import kernel_time
import pytest
import short_calls
import short_functions
import sleep_mix
import split
import tachograph
from answers import (
    counts_by_function,
    fewest_looks,
    tolerance,
    weight_by_function,
    weight_by_thread,
)
from clockwork import shares

pytestmark = pytest.mark.measures

# The tick is what everybody gets; the other two are asked for.
TRIGGERS = ["tick", "perf", "cpu-timer"]


def recorded(
    work: Callable[[], Any], *, trigger: str = "auto", interval_ms: int = 1, mode: str = "cpu"
) -> tuple[Any, tachograph.Profile]:
    """Return what `work` says of itself and what the recorder says of it."""
    tachograph.start(interval_ms=interval_ms, trigger=trigger, mode=mode)
    try:
        truth = work()
    finally:
        profile = tachograph.stop()
    return truth, profile


def check(
    truth: Mapping[str, float], seen: Mapping[str, float], samples: int, *, bias: float = 0.01
) -> None:
    """Demand that every share is as it should be."""
    right, found = shares(dict(truth)), shares(dict(seen))
    off = {
        name: f"{found.get(name, 0):.3f} for {share:.3f} of {samples} samples"
        for name, share in right.items()
        if abs(found.get(name, 0) - share) > tolerance(share, samples, bias=bias)
    }
    assert not off


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_known_split_by_function(trigger: str) -> None:
    truth, profile = recorded(lambda: split.run(1.5), trigger=trigger)

    count = sum(counts_by_function(profile, split.NAMES).values())
    spent = sum(truth.values())
    # The kernel looks at CPU timers once per scheduler tick, at least 100 times a second.
    fewest = 80 * spent / 1e9 if trigger == "cpu-timer" else fewest_looks(profile, spent)
    assert count > fewest
    check(truth, weight_by_function(profile, split.NAMES), count)


@pytest.mark.parametrize("trigger", ["tick", "perf"])
def test_very_short_functions(trigger: str) -> None:
    before = short_functions.own_ns()
    _, profile = recorded(lambda: short_functions.run(2.0), trigger=trigger)
    truth = short_functions.truth(before, short_functions.own_ns())

    counts = counts_by_function(profile, short_functions.NAMES)
    # The truth is taken from each function alone and is itself good to a point or two.
    check(truth, counts, sum(counts.values()), bias=0.03)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_known_split_by_thread(trigger: str) -> None:
    truth, profile = recorded(lambda: by_thread.run(1.5), trigger=trigger)

    # Weights follow each thread's CPU clock; samples only say where it was spent.
    check(truth, weight_by_thread(profile), len(profile.samples), bias=0.02)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_c_calls_beside_python(trigger: str) -> None:
    truth, profile = recorded(lambda: c_calls.run(1.5), trigger=trigger)

    count = sum(counts_by_function(profile, c_calls.NAMES).values())
    check(truth, weight_by_function(profile, c_calls.NAMES), count, bias=0.015)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_work_inside_the_kernel(trigger: str) -> None:
    truth, profile = recorded(lambda: kernel_time.run(1.5), trigger=trigger)

    count = sum(counts_by_function(profile, kernel_time.NAMES).values())
    check(truth, weight_by_function(profile, kernel_time.NAMES), count, bias=0.03)


def test_work_on_a_beat_of_ten_milliseconds_sampled_every_ten() -> None:
    truth, profile = recorded(lambda: beat.run(6.0, 10.0), interval_ms=10)

    counts = counts_by_function(profile, beat.NAMES)
    check(truth, counts, sum(counts.values()), bias=0.015)


@pytest.mark.parametrize("trigger", ["tick", "perf"])
def test_work_on_a_beat_of_one_millisecond_sampled_every_one(trigger: str) -> None:
    truth, profile = recorded(lambda: beat.run(2.0, 1.0), trigger=trigger)

    counts = counts_by_function(profile, beat.NAMES)
    check(truth, counts, sum(counts.values()), bias=0.02)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_sleeper_gets_no_cpu_time(trigger: str) -> None:
    _, profile = recorded(lambda: sleep_mix.run(1.5), trigger=trigger)

    weights = weight_by_function(profile, sleep_mix.NAMES)
    whole = sum(weights.values())
    # Going to sleep takes CPU too; three samples there are chance.
    assert weights["asleep"] <= 0.01 * whole + 3 * whole / len(profile.samples)


@pytest.mark.parametrize("interval_ms", [1, 10])
def test_a_sleeper_gets_its_share_of_wall_time(interval_ms: int) -> None:
    truth, profile = recorded(lambda: sleep_mix.run(2.0), interval_ms=interval_ms, mode="wall")

    count = sum(counts_by_function(profile, sleep_mix.NAMES).values())
    check(truth.wall_ns, weight_by_function(profile, sleep_mix.NAMES), count)


@pytest.mark.parametrize("trigger", ["tick", "cpu-timer"])
def test_short_system_calls_are_told_from_what_is_between_them(trigger: str) -> None:
    _, profile = recorded(lambda: short_calls.run(2.0), trigger=trigger)

    told = weight_by_function(profile, short_calls.NAMES)
    count = sum(counts_by_function(profile, short_calls.NAMES).values())
    if trigger == "tick":
        # Where ticks are doubtful, four samples come from one look of a CPU timer (250 a second).
        count //= 4
    # Each function was timed alone, which is good to a few points.
    check(short_calls.truth(), told, count, bias=0.04)
