"""Document 003, the blocks about timing: each runs and does what its text says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., None]

TIMED = """
from tachograph.decorators import time_it

@time_it(mode="wall_clock", collect_stats=True)
def preprocess_batch(batch):
    time.sleep(0.002)
    return batch

for _ in range(20):
    preprocess_batch(1)
"""


def test_01_a_timed_function_runs_as_before_and_is_counted(run: Run) -> None:
    run(
        "003.01",
        after="""
from tachograph.decorators import get_timing_stats
assert preprocess_batch(1) is None
assert get_timing_stats("preprocess_batch").call_count == 1
""",
    )


@pytest.mark.parametrize("mode", ["wall_clock", "process_time", "thread_time", "perf_counter"])
def test_01_takes_each_of_the_four_modes(run: Run, mode: str) -> None:
    run(
        "003.01",
        edit=lambda code: code.replace('"wall_clock"', repr(mode)).replace("...", "do_work(0.05)"),
        after="""
from tachograph.decorators import get_timing_stats
preprocess_batch(1)
assert get_timing_stats("preprocess_batch").mean_time >= 0.05
""",
    )


def test_02_the_statistics_are_in_seconds_under_the_bare_name(run: Run) -> None:
    run(
        "003.02",
        before=TIMED,
        after="""
assert stats.call_count == 20
assert 0.002 <= stats.min_time <= stats.median_time <= stats.p95_time <= stats.p99_time
assert stats.p99_time <= stats.max_time <= stats.total_time
assert stats.min_time <= stats.mean_time <= stats.max_time
""",
    )


def test_08_the_regression_helper_tells_slower_from_as_fast(run: Run) -> None:
    run(
        "003.08",
        before=TIMED,
        after="""
assert has_regressed("unknown", 1.0) is False
current_ms = get_timing_stats("preprocess_batch").mean_time * 1000
assert has_regressed("preprocess_batch", current_ms / 1.3)
assert not has_regressed("preprocess_batch", current_ms / 1.2)
assert has_regressed("preprocess_batch", current_ms / 1.2, tolerance=0.1)
""",
    )


def test_08_the_workflow_around_it_collects_persists_and_compares(run: Run) -> None:
    run(
        "003.08",
        before=TIMED,
        after="""
import dataclasses, json
from tachograph.decorators import clear_timing_stats

with open("baseline.json", "w") as file:
    json.dump({name: dataclasses.asdict(s) for name, s in get_timing_stats().items()}, file)
clear_timing_stats()
assert not has_regressed("preprocess_batch", 0.0)

for _ in range(20):
    time.sleep(0.01)
    preprocess_batch(1)
with open("baseline.json") as file:
    baseline = json.load(file)
assert list(baseline) == ["preprocess_batch"]
assert baseline["preprocess_batch"]["call_count"] == 20
assert not has_regressed("preprocess_batch", baseline["preprocess_batch"]["mean_time"] * 1e6)
assert has_regressed("preprocess_batch", baseline["preprocess_batch"]["mean_time"] * 1e-3)
""",
    )


def test_the_table_of_tools_lists_names_that_exist() -> None:
    from tachograph import decorators

    for name in ("time_it", "time_it_async", "timer", "TimingProfiler"):
        assert callable(getattr(decorators, name))
    for name in ("get_timing_stats", "clear_timing_stats"):
        assert callable(getattr(decorators, name))
