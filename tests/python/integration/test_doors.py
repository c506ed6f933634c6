"""One session, many doors: each sees its own window in its own terms."""

from __future__ import annotations

import time
from collections import Counter

import pytest
import sleep_mix
import split
import tachograph
from answers import missed_looks, tolerance, weight_by_function
from clockwork import rounds_per_ms


def test_a_door_inside_another_sees_only_its_window() -> None:
    unit = rounds_per_ms()
    with tachograph.record(interval_ms=1) as outer:
        before = split.run(0.3, unit)
        begin = time.monotonic_ns()
        tachograph.start(interval_ms=10)
        inside = split.run(0.1, unit)
        first_part = time.monotonic_ns() - begin
        inside = Counter(inside) + Counter(split.run(0.4, unit))
        inner = tachograph.stop()
        after = split.run(0.2, unit)

    seen = sum(weight_by_function(inner, split.NAMES).values())
    assert seen == pytest.approx(sum(inside.values()), rel=0.03)
    whole = sum(sum(part.values()) for part in (before, inside, after))
    seen = sum(weight_by_function(outer.profile, split.NAMES).values())
    assert seen == pytest.approx(whole, rel=0.03)
    assert inner.interval_ms == 10
    # Its clock begins with it: the first part alone has ten looks.
    assert inner.samples[0].timestamp_ns < first_part + 10e6 * missed_looks(inner)


@pytest.mark.measures
def test_doors_of_different_modes_each_get_their_own_time() -> None:
    with tachograph.record(interval_ms=1, mode="wall") as wall:
        tachograph.start(interval_ms=2, mode="cpu")
        ledger = sleep_mix.run(1.0)
        cpu = tachograph.stop()

    on_cpu = weight_by_function(cpu, sleep_mix.NAMES)
    assert on_cpu["busy"] == pytest.approx(ledger.cpu_ns["busy"], rel=0.05)
    assert on_cpu["asleep"] < 0.02 * on_cpu["busy"]
    elapsed = weight_by_function(wall.profile, sleep_mix.NAMES)
    whole = sum(ledger.wall_ns.values())
    missed = 1e6 * missed_looks(wall.profile)
    assert sum(elapsed.values()) == pytest.approx(whole, rel=0.05, abs=missed)
    # A busy machine keeps the sampler waiting just when it keeps the program waiting: where
    # a look was missed its time may go to either side.
    share = ledger.wall_ns["asleep"] / whole
    chance = tolerance(share, len(wall.profile.samples)) * whole
    assert elapsed["asleep"] == pytest.approx(ledger.wall_ns["asleep"], abs=chance + missed)


def test_closing_one_door_leaves_the_other_open() -> None:
    with tachograph.record(interval_ms=1) as outer:
        for _ in range(20):
            tachograph.start(interval_ms=1)
            split.run(0.01)
            tachograph.stop()
        last = split.run(0.3)

    seen = sum(weight_by_function(outer.profile, split.NAMES).values())
    assert seen > sum(last.values())
