"""The interval is what was asked, and weights add up to the CPU clock."""

from __future__ import annotations

import resource

import by_thread
import pytest
import split
import tachograph
from answers import (
    counts_by_function,
    fewest_looks,
    missed_looks,
    most_looks,
    weight_by_thread,
)
from clockwork import cpu_ns, rounds_per_ms, spin


def check_rate(interval_ms: int, cpu_seconds: float, trigger: str = "auto") -> None:
    """Demand about one sample per interval of CPU time."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
    tachograph.start(interval_ms=interval_ms, trigger=trigger)
    spent = sum(split.run(cpu_seconds).values())
    profile = tachograph.stop()
    pushed_aside = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw - before

    count = sum(counts_by_function(profile, split.NAMES).values())
    most = most_looks(profile, spent, pushed_aside)
    assert fewest_looks(profile, spent) < count < most


@pytest.mark.measures
@pytest.mark.parametrize("trigger", ["auto", "tick"])
def test_one_millisecond_gives_about_a_thousand_samples_per_cpu_second(trigger: str) -> None:
    check_rate(1, 1.0, trigger)


@pytest.mark.measures
def test_ten_milliseconds_give_about_a_hundred_samples_per_cpu_second() -> None:
    check_rate(10, 2.0)


@pytest.mark.measures
def test_the_hundredth_session_behaves_like_the_first() -> None:
    check_rate(1, 0.5)
    for _ in range(98):
        tachograph.start(interval_ms=1)
        spin(2_000)
        tachograph.stop()

    check_rate(1, 0.5)


@pytest.mark.measures
def test_weights_add_up_to_the_threads_cpu_clock() -> None:
    tachograph.start(interval_ms=1)
    spent = cpu_ns(split.run, 1.0)
    profile = tachograph.stop()

    assert weight_by_thread(profile)["MainThread"] == pytest.approx(spent, rel=0.02)


@pytest.mark.measures
def test_weights_of_short_lived_threads_add_up_too() -> None:
    tachograph.start(interval_ms=1)
    spent = by_thread.run(1.5)
    profile = tachograph.stop()

    weights = weight_by_thread(profile)
    for name, nanoseconds in spent.items():
        # A thread that ends takes what it used since the last look with it: one interval or
        # two, and those in which the sampler had no processor, which the recorder owns up to.
        unseen = 5e6 + missed_looks(profile) * 1e6
        assert weights[name] == pytest.approx(nanoseconds, rel=0.02, abs=unseen), name


@pytest.mark.measures
def test_the_weight_of_a_long_interval_is_as_true_as_that_of_a_short_one() -> None:
    tachograph.start(interval_ms=50)
    spent = cpu_ns(split.run, 1.5)
    profile = tachograph.stop()

    assert weight_by_thread(profile)["MainThread"] == pytest.approx(spent, rel=0.02)


@pytest.mark.measures
def test_the_cpu_timer_says_what_it_is_and_never_exceeds_what_was_asked() -> None:
    tachograph.start(interval_ms=1, trigger="cpu-timer")
    spent = sum(split.run(1.0).values()) / 1e9
    profile = tachograph.stop()

    assert profile.meta["trigger"] == "cpu-timer"
    count = sum(counts_by_function(profile, split.NAMES).values())
    # The kernel looks at CPU timers once per scheduler tick: 100 to 1000 times a second.
    assert 80 * spent < count < 1100 * spent


@pytest.mark.measures
def test_the_perf_trigger_keeps_the_rate() -> None:
    check_rate(1, 1.0, "perf")


def test_perf_is_used_when_asked_or_the_profile_says_why_not() -> None:
    tachograph.start(interval_ms=1, trigger="perf")
    split.run(0.3)
    profile = tachograph.stop()

    assert profile.meta["trigger"] == "perf" or "perf" in profile.meta["trigger_reason"]


def test_the_profile_says_which_trigger_was_used_and_why() -> None:
    tachograph.start(interval_ms=5)
    spin(rounds_per_ms() * 100)
    profile = tachograph.stop()

    assert profile.interval_ms == 5
    assert profile.meta["trigger"] in ("tick", "perf", "cpu-timer")
    assert profile.meta["trigger_reason"]
