"""asyncio: samples carry the name of the task that ran."""

from __future__ import annotations

import pytest
import tachograph
import tasks
from answers import counts_by_function, tolerance
from clockwork import shares


def test_the_cpu_time_of_each_task_is_known_by_its_name() -> None:
    tachograph.start(interval_ms=1)
    spent = tasks.run(1.5)
    profile = tachograph.stop()

    truth = shares(spent)
    seen = shares({n: w for n, w in task_weights(profile).items() if n in truth})
    count = counts_by_function(profile, ["crunch"])["crunch"]
    assert count > 800
    for name, share in truth.items():
        assert seen.get(name, 0) == pytest.approx(share, abs=tolerance(share, count)), name


def test_coroutines_stand_on_the_stack_in_the_order_they_await() -> None:
    tachograph.start(interval_ms=1)
    tasks.run(0.5)
    profile = tachograph.stop()

    checked = 0
    for sample in profile.samples:
        names = [frame.function_name for frame in sample.frames if not frame.is_native]
        if names and names[-1] == "crunch":
            checked += 1
            assert names[-3:] == ["worker", "inner", "crunch"]
    assert checked > 200


def task_weights(profile: tachograph.Profile) -> dict[str, int]:
    """Return the CPU nanoseconds of each task by its name."""
    weights: dict[str, int] = {}
    for row in profile.recording.tasks():
        weights[row.name] = weights.get(row.name, 0) + row.cpu_ns
    return weights
