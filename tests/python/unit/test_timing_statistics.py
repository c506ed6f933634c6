"""`get_timing_stats`: right numbers, found by name, in memory that does not grow."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import statistics
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from tachograph._native import Meter
from tachograph.decorators import (
    TimingStats,
    _ledger,
    clear_timing_stats,
    get_timing_stats,
    time_it,
    timer,
)


@pytest.fixture(autouse=True)
def no_measurements() -> Iterator[None]:
    clear_timing_stats()
    yield
    clear_timing_stats()


def stats_of(seconds: list[float]) -> TimingStats:
    """Return the statistics of a block that took these times."""
    meter = _ledger.entry_of_block("made up").meter
    for value in seconds:
        meter.add(value * 1e9)
    stats = get_timing_stats("made up")
    assert stats is not None
    return stats


def linear(ordered: list[float], quantile: float) -> float:
    """Return a percentile by its definition: in proportion between two neighbours."""
    position = (len(ordered) - 1) * quantile
    below = math.floor(position)
    above = math.ceil(position)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def module_with(name: str, **functions: Callable[..., Any]) -> ModuleType:
    """Return a module of that name whose functions are timed."""
    module = ModuleType(name)
    for bare, function in functions.items():
        function.__module__, function.__qualname__, function.__name__ = name, bare, bare
        setattr(module, bare, time_it(function))
    return module


@pytest.mark.parametrize("count", [1, 2, 3, 20, 63, 64])
def test_up_to_64_measurements_every_number_is_exact(count: int) -> None:
    made = random.Random(count)
    seconds = [made.lognormvariate(-7, 2) for _ in range(count)]

    stats = stats_of(seconds)

    ordered = sorted(seconds)
    assert stats.call_count == count
    expected = {
        "total_time": sum(seconds),
        "mean_time": statistics.fmean(seconds),
        "min_time": ordered[0],
        "max_time": ordered[-1],
        "std_dev": statistics.stdev(seconds) if count > 1 else 0.0,
        "median_time": statistics.median(seconds),
        "p95_time": linear(ordered, 0.95),
        "p99_time": linear(ordered, 0.99),
    }
    for field, value in expected.items():
        assert getattr(stats, field) == pytest.approx(value, rel=1e-9), field


@pytest.mark.parametrize("count", [65, 1_000, 20_000])
def test_beyond_64_measurements_percentiles_are_within_one_percent(count: int) -> None:
    made = random.Random(count)
    seconds = [made.lognormvariate(-7, 2) for _ in range(count)]

    stats = stats_of(seconds)

    ordered = sorted(seconds)
    assert stats.call_count == count
    assert stats.total_time == pytest.approx(sum(seconds), rel=1e-9)
    assert stats.std_dev == pytest.approx(statistics.stdev(seconds), rel=1e-6)
    assert (stats.min_time, stats.max_time) == pytest.approx((ordered[0], ordered[-1]), rel=1e-9)
    for quantile, value in (
        (0.5, stats.median_time),
        (0.95, stats.p95_time),
        (0.99, stats.p99_time),
    ):
        low = ordered[math.floor((count - 1) * quantile)]
        high = ordered[math.ceil((count - 1) * quantile)]
        assert low * 0.99 <= value <= high * 1.01, quantile


def test_percentiles_stay_between_the_extremes() -> None:
    stats = stats_of([0.001] * 1_000)

    assert stats.min_time == stats.median_time == stats.p99_time == stats.max_time == 0.001
    assert stats.std_dev == 0.0


@pytest.mark.full_only
def test_a_million_measurements_take_no_more_memory_than_a_thousand() -> None:
    meter = Meter()
    made = random.Random(1)
    values = [made.lognormvariate(15, 2) for _ in range(1_000)]
    for value in values:
        meter.add(value)
    resident = _resident_kb()
    tracemalloc.start()

    for _ in range(1_000):
        for value in values:
            meter.add(value)

    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert meter.summary().count == 1_001_000
    assert grown < 10_000
    # A list of the values alone would take 8 MB, with its floats 32 MB.
    assert _resident_kb() - resident < 2_000


def _resident_kb() -> int:
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * 4


def test_nothing_is_known_of_a_name_that_was_never_measured() -> None:
    @time_it
    def defined_but_not_called() -> None:
        pass

    assert get_timing_stats("never heard of") is None
    assert get_timing_stats("defined_but_not_called") is None
    assert get_timing_stats(defined_but_not_called) is None
    assert get_timing_stats(function_name="never heard of") is None  # refunc's keyword
    assert get_timing_stats() == {}
    with pytest.raises(TypeError, match="not 3"):
        get_timing_stats(3)  # type: ignore[call-overload]


def test_a_function_is_found_by_each_of_its_spellings() -> None:
    class Train:
        @time_it
        def step(self) -> None:
            pass

    Train().step()

    qualname = Train.step.__qualname__
    for name in ("step", qualname, f"{__name__}.{qualname}"):
        stats = get_timing_stats(name)
        assert stats is not None
        assert (stats.function_name, stats.call_count) == (name, 1)
    by_itself = get_timing_stats(Train.step)
    assert by_itself is not None
    assert by_itself.function_name == f"{__name__}.{qualname}"
    assert list(get_timing_stats()) == ["step"]


def test_functions_that_share_a_bare_name_are_told_together_and_apart() -> None:
    class Train:
        @time_it
        def step(self) -> None:
            pass

    class Test:
        @time_it
        def step(self) -> None:
            pass

    for _ in range(3):
        Train().step()
    Test().step()

    together = get_timing_stats("step")
    train = get_timing_stats(Train.step.__qualname__)
    test = get_timing_stats(Test.step.__qualname__)
    assert together is not None
    assert train is not None
    assert test is not None
    assert (together.call_count, train.call_count, test.call_count) == (4, 3, 1)
    assert together.total_time == pytest.approx(train.total_time + test.total_time)
    assert together.min_time == min(train.min_time, test.min_time)
    assert set(get_timing_stats()) == {Train.step.__qualname__, Test.step.__qualname__}


def test_the_same_name_in_two_modules_is_told_by_module() -> None:
    here = module_with("made.here", load=lambda: None)
    there = module_with("made.there", load=lambda: None)
    here.load()
    there.load()
    there.load()

    counts = {name: stats.call_count for name, stats in get_timing_stats().items()}
    assert counts == {"made.here.load": 1, "made.there.load": 2}
    together = get_timing_stats("load")
    assert together is not None
    assert together.call_count == 3


def test_a_function_of_exactly_that_name_comes_before_methods_of_that_name() -> None:
    class Train:
        @time_it
        def step(self) -> None:
            pass

    module = module_with("made.steps", step=lambda: None)
    module.step()
    Train().step()
    Train().step()

    exact = get_timing_stats("step")
    assert exact is not None
    assert exact.call_count == 1
    assert set(get_timing_stats()) == {"step", Train.step.__qualname__}


def test_a_block_of_exactly_that_name_comes_first() -> None:
    module = module_with("made.blocks", load=lambda: None)
    module.load()
    assert list(get_timing_stats()) == ["load"]

    for _ in range(2):
        with timer("load", print_result=False):
            pass

    counts = {name: stats.call_count for name, stats in get_timing_stats().items()}
    assert counts == {"load": 2, "made.blocks.load": 1}


def test_every_key_finds_what_it_stands_for() -> None:
    made = [module_with(f"made.keys{n}", load=lambda: None, save=lambda: None) for n in range(2)]
    for module in made:
        module.load()
    made[0].save()
    with timer("load", print_result=False), timer("made.keys0", print_result=False):
        pass

    everything = get_timing_stats()

    assert len(everything) == 5
    for name, stats in everything.items():
        assert get_timing_stats(name) == stats


def test_a_function_that_is_defined_again_goes_on_counting() -> None:
    for _ in range(3):
        module_with("made.again", work=lambda: None).work()

    stats = get_timing_stats("made.again.work")
    assert stats is not None
    assert stats.call_count == 3


def test_measurements_can_be_forgotten_by_name_or_altogether() -> None:
    module = module_with("made.cleared", one=lambda: None, two=lambda: None)
    for function in (module.one, module.two):
        function()
        function()

    clear_timing_stats("one")
    assert list(get_timing_stats()) == ["two"]
    clear_timing_stats("never heard of")
    module.one()
    counts = {name: stats.call_count for name, stats in get_timing_stats().items()}
    assert counts == {"one": 1, "two": 2}
    clear_timing_stats()
    assert get_timing_stats() == {}
    module.two()
    assert list(get_timing_stats()) == ["two"]


def test_a_block_that_is_open_while_all_is_forgotten_still_counts() -> None:
    with timer("epoch", print_result=False):
        clear_timing_stats()

    stats = get_timing_stats("epoch")
    assert stats is not None
    assert stats.call_count == 1


def test_statistics_survive_being_saved_as_json() -> None:
    stats = stats_of([0.25, 0.5])

    again = TimingStats(**json.loads(json.dumps(dataclasses.asdict(stats))))

    assert again == stats
    assert vars(stats) == dataclasses.asdict(stats)


def test_names_made_up_without_end_share_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ledger, "_entries", {})
    monkeypatch.setattr(_ledger, "_MOST_NAMES", 3)

    for number in range(10):
        with timer(f"request {number}", print_result=False):
            pass

    counts = {name: stats.call_count for name, stats in get_timing_stats().items()}
    assert counts == {"request 0": 1, "request 1": 1, "request 2": 1, "<more names>": 7}


def test_the_package_of_decorators_costs_the_import_of_tachograph_nothing() -> None:
    import subprocess

    code = "import sys, tachograph; print([n for n in sys.modules if 'decorators' in n])"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert printed.stdout.strip() == "[]"
