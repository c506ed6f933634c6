"""The interval is what was asked, and weights add up to the CPU clock."""

from __future__ import annotations

import time

import by_thread
import pytest
import split
import tachograph
from answers import counts_by_function, weight_by_function, weight_by_thread
from clockwork import rounds_per_ms, spin

# A shared machine makes the sampler late now and then; a late tick is skipped.
FEWEST, MOST = 0.80, 1.10


def samples_per_cpu_second(interval_ms: int, cpu_seconds: float, trigger: str = "auto") -> float:
    tachograph.start(interval_ms=interval_ms, trigger=trigger)
    spent = split.run(cpu_seconds)
    profile = tachograph.stop()
    counts = counts_by_function(profile, split.NAMES)
    return sum(counts.values()) / (sum(spent.values()) / 1e9)


@pytest.mark.parametrize("trigger", ["auto", "tick"])
def test_one_millisecond_gives_about_a_thousand_samples_per_cpu_second(trigger: str) -> None:
    rate = samples_per_cpu_second(1, 1.0, trigger)

    assert FEWEST * 1000 < rate < MOST * 1000


def test_ten_milliseconds_give_about_a_hundred_samples_per_cpu_second() -> None:
    rate = samples_per_cpu_second(10, 2.0)

    # 200 samples: jitter alone moves the count by its standard error of some 4 %.
    assert 75 < rate < 120


def test_the_hundredth_session_behaves_like_the_first() -> None:
    first = samples_per_cpu_second(1, 0.5)
    for _ in range(98):
        tachograph.start(interval_ms=1)
        spin(2_000)
        tachograph.stop()

    hundredth = samples_per_cpu_second(1, 0.5)

    assert FEWEST * 1000 < first < MOST * 1000
    assert FEWEST * 1000 < hundredth < MOST * 1000


def test_weights_add_up_to_the_threads_cpu_clock() -> None:
    tachograph.start(interval_ms=1)
    begin = time.thread_time_ns()
    split.run(1.0)
    spent = time.thread_time_ns() - begin
    profile = tachograph.stop()

    assert weight_by_thread(profile)["MainThread"] == pytest.approx(spent, rel=0.02)


def test_weights_of_short_lived_threads_add_up_too() -> None:
    tachograph.start(interval_ms=1)
    spent = by_thread.run(1.5)
    profile = tachograph.stop()

    weights = weight_by_thread(profile)
    for name, nanoseconds in spent.items():
        # A thread that ends takes what it used since the last look with it: one interval or two.
        assert weights[name] == pytest.approx(nanoseconds, rel=0.02, abs=5e6), name


def test_the_weight_of_a_long_interval_is_as_true_as_that_of_a_short_one() -> None:
    tachograph.start(interval_ms=50)
    spent = split.run(1.5)
    profile = tachograph.stop()

    seen = sum(weight_by_function(profile, split.NAMES).values())
    assert seen == pytest.approx(sum(spent.values()), rel=0.05)


def test_the_cpu_timer_says_what_it_is_and_never_exceeds_what_was_asked() -> None:
    tachograph.start(interval_ms=1, trigger="cpu-timer")
    spent = sum(split.run(1.0).values()) / 1e9
    profile = tachograph.stop()

    assert profile.meta["trigger"] == "cpu-timer"
    count = sum(counts_by_function(profile, split.NAMES).values())
    # The kernel looks at CPU timers once per scheduler tick: 100 to 1000 times a second.
    assert 80 * spent < count < 1100 * spent


def test_the_perf_trigger_keeps_the_rate_or_says_why_it_was_not_used() -> None:
    tachograph.start(interval_ms=1, trigger="perf")
    spent = sum(split.run(1.0).values()) / 1e9
    profile = tachograph.stop()

    count = sum(counts_by_function(profile, split.NAMES).values())
    assert FEWEST * 1000 * spent < count < MOST * 1000 * spent
    assert profile.meta["trigger"] == "perf" or profile.meta["trigger_reason"]


def test_the_profile_says_which_trigger_was_used_and_why() -> None:
    tachograph.start(interval_ms=5)
    spin(rounds_per_ms() * 100)
    profile = tachograph.stop()

    assert profile.interval_ms == 5
    assert profile.meta["trigger"] in ("tick", "perf", "cpu-timer")
    assert profile.meta["trigger_reason"]
