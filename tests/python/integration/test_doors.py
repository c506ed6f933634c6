"""One session, many doors: each sees its own window in its own terms."""

from __future__ import annotations

import sleep_mix
import split
import tachograph
from answers import missed_looks, tolerance, weight_by_function
from pytest import approx


def test_a_door_inside_another_sees_only_its_window() -> None:
    with tachograph.record(interval_ms=1) as outer:
        before = split.run(0.3)
        tachograph.start(interval_ms=10)
        inside = split.run(0.5)
        inner = tachograph.stop()
        after = split.run(0.2)

    seen = sum(weight_by_function(inner, split.NAMES).values())
    assert seen == approx(sum(inside.values()), rel=0.03)
    whole = sum(sum(part.values()) for part in (before, inside, after))
    seen = sum(weight_by_function(outer.profile, split.NAMES).values())
    assert seen == approx(whole, rel=0.03)
    assert inner.interval_ms == 10
    assert inner.samples[0].timestamp_ns < 100e6


def test_doors_of_different_modes_each_get_their_own_time() -> None:
    with tachograph.record(interval_ms=1, mode="wall") as wall:
        tachograph.start(interval_ms=2, mode="cpu")
        ledger = sleep_mix.run(1.0)
        cpu = tachograph.stop()

    on_cpu = weight_by_function(cpu, sleep_mix.NAMES)
    assert on_cpu["busy"] == approx(ledger.cpu_ns["busy"], rel=0.05)
    assert on_cpu["asleep"] < 0.02 * on_cpu["busy"]
    elapsed = weight_by_function(wall.profile, sleep_mix.NAMES)
    whole = sum(ledger.wall_ns.values())
    assert sum(elapsed.values()) == approx(whole, rel=0.05)
    # A busy machine keeps the sampler waiting just when it keeps the program waiting: where
    # a look was missed its time may go to either side.
    share = ledger.wall_ns["asleep"] / whole
    chance = tolerance(share, len(wall.profile.samples)) * whole
    off = chance + 1e6 * missed_looks(wall.profile)
    assert elapsed["asleep"] == approx(ledger.wall_ns["asleep"], abs=off)


def test_closing_one_door_leaves_the_other_open() -> None:
    with tachograph.record(interval_ms=1) as outer:
        for _ in range(20):
            tachograph.start(interval_ms=1)
            split.run(0.01)
            tachograph.stop()
        last = split.run(0.3)

    seen = sum(weight_by_function(outer.profile, split.NAMES).values())
    assert seen > sum(last.values())
