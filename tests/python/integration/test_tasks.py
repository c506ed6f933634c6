"""asyncio: samples carry the name of the task that ran."""

from __future__ import annotations

import pytest
import tachograph
import tasks
from answers import counts_by_function, fewest_looks, tolerance, weight_by_task
from clockwork import rounds_per_ms, shares


@pytest.mark.measures
def test_the_cpu_time_of_each_task_is_known_by_its_name() -> None:
    tachograph.start(interval_ms=1)
    spent = tasks.run(1.5)
    profile = tachograph.stop()

    truth = shares(spent)
    seen = shares({n: w for n, w in weight_by_task(profile).items() if n in truth})
    count = counts_by_function(profile, ["crunch"])["crunch"]
    assert count > max(fewest_looks(profile, sum(spent.values())), 0)
    for name, share in truth.items():
        assert seen.get(name, 0) == pytest.approx(share, abs=tolerance(share, count)), name


def test_coroutines_stand_on_the_stack_in_the_order_they_await() -> None:
    tachograph.start(interval_ms=1)
    spent = tasks.run(0.5)
    profile = tachograph.stop()

    checked = 0
    for sample in profile.samples:
        names = [frame.function_name for frame in sample.frames if not frame.is_native]
        if names and names[-1] == "crunch":
            checked += 1
            assert names[-3:] == ["worker", "inner", "crunch"]
    assert checked > max(fewest_looks(profile, sum(spent.values())), 0)


def test_what_runs_outside_any_task_has_no_task() -> None:
    tachograph.start(interval_ms=1)
    tasks.crunch(rounds_per_ms() * 100)
    profile = tachograph.stop()

    assert {sample.task_name for sample in profile.samples} == {None}
