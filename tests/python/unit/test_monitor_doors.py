"""Monitors stand around functions and blocks without changing what these do."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import math
import os
import pickle
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import tachograph
from tachograph.decorators import (
    MemoryResult,
    MonitoringConfig,
    MonitoringResult,
    custom_check,
    debug_monitor,
    full_monitor,
    get_memory_stats,
    get_timing_stats,
    memory_monitor,
    memory_profile,
    memory_profile_async,
    monitor_performance,
    monitor_system,
    performance_monitor,
    performance_monitor_async,
    quick_monitor,
    range_check,
    system_monitor,
    system_monitor_async,
)
from tachograph.exceptions import ValidationError
from watched import ALL_DOORS, MB, burn, doze, hold
from watched import nothing_counted as nothing_counted


@pytest.mark.parametrize("door", ALL_DOORS)
def test_results_exceptions_and_faces_stay_as_they_were(door: Any) -> None:
    @door
    def divide(number: float, by: float = 2.0) -> tuple[float, float]:
        """Divide."""
        return number / by, by

    assert divide(3, by=1) == (3, 1)
    assert str(inspect.signature(divide)).startswith("(number: 'float', by: 'float' = 2.0)")
    assert (divide.__name__, divide.__doc__) == ("divide", "Divide.")
    with pytest.raises(ZeroDivisionError):
        divide(1, by=0)


@pytest.mark.parametrize("door", [memory_profile, system_monitor, performance_monitor])
def test_parentheses_are_optional(door: Any) -> None:
    def one() -> int:
        return 1

    assert (door(one)(), door()(one)()) == (1, 1)


@pytest.mark.parametrize("preset", [quick_monitor, full_monitor, debug_monitor])
def test_presets_print_unless_told_not_to(preset: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def one() -> int:
        return 1

    preset(one)()
    preset()(one)()
    printed = capsys.readouterr().out
    assert printed.count("tachograph · one") == 2
    assert "TIMING" in printed and "MEMORY" in printed
    assert ("SYSTEM" in printed) == (preset is not quick_monitor)

    preset(print_results=False)(one)()
    preset(False)(one)()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("door", ALL_DOORS)
def test_kinds_are_kept(door: Any) -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def async_generator() -> AsyncIterator[int]:
        yield 1

    assert inspect.iscoroutinefunction(door(coroutine))
    assert inspect.isgeneratorfunction(door(generator))
    assert inspect.isasyncgenfunction(door(async_generator))
    assert list(door(generator)()) == [1]
    assert asyncio.run(door(coroutine)()) is None


@pytest.mark.parametrize(
    "door", [memory_profile_async, system_monitor_async, performance_monitor_async]
)
def test_async_doors_open_bare_and_refuse_plain_functions(door: Any) -> None:
    async def one() -> int:
        return 1

    assert asyncio.run(door(one)()) == 1
    assert asyncio.run(door()(one)()) == 1
    with pytest.raises(TypeError, match="watches `async def` functions"):
        door(lambda: 1)


def test_no_thread_is_started_for_a_call() -> None:
    @performance_monitor
    def one() -> int:
        return 1

    one()
    before = os.listdir("/proc/self/task")
    for _ in range(50):
        one()

    # The one sampler that the program shares may have begun anew.
    assert len(set(os.listdir("/proc/self/task")) - set(before)) <= 1


def test_a_failed_call_is_told_with_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    @performance_monitor(print_results=True)
    def fail() -> None:
        raise KeyError("row 7")

    with pytest.raises(KeyError):
        fail()

    assert "failed: 'row 7'" in capsys.readouterr().out
    assert get_timing_stats("fail").call_count == 1  # type: ignore[union-attr]


def test_a_block_that_raises_leaves_its_result() -> None:
    with pytest.raises(ValueError, match="stop"), monitor_performance("block") as seen:
        time.sleep(0.02)
        raise ValueError("stop")

    assert seen.metadata["success"] is False and seen.metadata["error"] == "stop"
    assert seen.total_duration >= 0.02
    assert seen.memory_result is not None and seen.monitoring_result is not None


def test_blocks_of_memory_and_system_fill_their_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with memory_monitor("load") as memory:
        assert memory.peak_memory == 0
        hold(50 * MB)
    with monitor_system("work", sample_interval=0.05) as system:
        burn(0.05)

    assert isinstance(memory, MemoryResult) and isinstance(system, MonitoringResult)
    assert memory.peak_memory >= memory.start_memory.rss + 49 * MB
    assert system.cpu_usage_end > 0 and system.duration == system.execution_time
    printed = capsys.readouterr().out
    assert "tachograph · load" in printed and "tachograph · work" in printed


def test_a_block_also_decorates() -> None:
    watch = memory_monitor("loading", print_result=False)

    @watch
    def load(rows: int) -> int:
        return rows

    assert [load(1), load(2)] == [1, 2]
    assert get_memory_stats("loading").call_count == 2  # type: ignore[union-attr]


def test_a_running_block_is_not_entered_twice() -> None:
    block = monitor_performance("block")

    with block, pytest.raises(RuntimeError, match="is running; make another"), block:
        pass


def test_a_configuration_is_not_changed_by_its_users() -> None:
    config = MonitoringConfig(print_results=False)

    decorated = performance_monitor(config, return_results=True)(lambda: 1)
    config.enable_timing = False

    assert config.return_results is False
    assert decorated()[1].timing_result is not None
    assert MonitoringConfig() == MonitoringConfig(
        enable_timing=True, timing_mode="wall_clock", timing_precision=6, enable_memory=True,
        memory_mode="basic", track_peak_memory=True, use_tracemalloc=False, enable_system=True,
        system_sample_interval=0.1, monitor_gpu=False, enable_validation=False,
        input_validators=None, output_validators=None, print_results=False, return_results=False,
        raise_on_validation_error=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"enable_tming": True}, TypeError, "no option 'enable_tming'; it has enable_timing"),
        ({"timing_mode": "sundial"}, ValueError, "unknown timing mode 'sundial'"),
        ({"memory_mode": "all"}, ValueError, "unknown memory mode 'all'; choose one of 'basic'"),
        ({"system_sample_interval": 0}, ValueError, "0.001 seconds or more, not 0"),
        ({"system_sample_interval": math.nan}, ValueError, "0.001 seconds or more, not nan"),
        ({"timing_precision": -1}, ValueError, "0 or more, not -1"),
    ],
)
def test_a_wrong_option_is_refused_at_once(
    options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        performance_monitor(**options)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="a MonitoringConfig or a function is needed, not 3"):
        performance_monitor(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="only a function can be watched"):
        memory_profile(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="`memory_profile` watches functions"):
        memory_monitor(len)  # type: ignore[arg-type]


def test_validators_stand_around_the_measurement() -> None:
    turns: list[tuple[float, float]] = []

    def look(value: object) -> bool:
        began = time.perf_counter()
        time.sleep(0.05)
        turns.append((began, time.perf_counter()))
        return True

    slow = custom_check(look)

    @performance_monitor(
        enable_validation=True,
        input_validators={"share": [slow, range_check(0, 1)], "unknown": range_check(0, 1)},
        output_validators=slow,
        return_results=True,
    )
    def half(share: float) -> float:
        return share / 2

    value, seen = half(0.5)

    assert value == 0.25
    assert seen.validation_result.is_valid
    assert seen.validation_result.validation_time >= 0.1
    (_, input_checked), (output_arrived, _) = turns
    assert seen.timing_result.execution_time <= output_arrived - input_checked
    with pytest.raises(ValidationError, match="argument 'share'"):
        half(3)


def test_validators_are_asked_only_if_that_is_enabled() -> None:
    @performance_monitor(output_validators=range_check(0, 1), return_results=True)
    def three() -> int:
        return 3

    value, seen = three()

    assert value == 3 and seen.validation_result is None


def test_async_functions_and_generators_are_validated() -> None:
    guard = performance_monitor(enable_validation=True, output_validators=range_check(0, 1))

    @guard
    async def load() -> int:
        return 3

    @guard
    def count() -> Iterator[int]:
        yield from range(5)

    with pytest.raises(ValidationError):
        asyncio.run(load())
    seen = []
    with pytest.raises(ValidationError):
        seen.extend(count())


def test_a_watched_call_is_a_span_in_a_recording() -> None:
    @performance_monitor
    def epoch() -> None:
        burn(0.02)

    with tachograph.record(interval_ms=5) as recording:
        epoch()
        epoch()

    rows = {row.name: row.count for row in recording.spans()}
    (name,) = [name for name in rows if name.endswith("epoch")]
    assert rows[name] == 2


def test_methods_and_static_methods_are_watched() -> None:
    class Model:
        @performance_monitor(return_results=True, enable_system=False)
        def fit(self, rows: int) -> int:
            return rows

        @memory_profile
        @staticmethod
        def load() -> int:
            return 1

        @classmethod
        @system_monitor
        def name(cls) -> str:
            return cls.__name__

    value, seen = Model().fit(3)
    assert (value, seen.function_name) == (3, "fit")
    assert (Model.load(), Model.name()) == (1, "Model")


def test_output_that_cannot_be_written_does_not_reach_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @performance_monitor(print_results=True)
    def one() -> int:
        return 1

    closed = open(os.devnull, "w")  # noqa: SIM115
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)

    with pytest.warns(RuntimeWarning, match="the result of one could not be printed"):
        assert one() == 1


def test_a_forked_child_goes_on_watching() -> None:
    @performance_monitor(return_results=True)
    def split() -> int:
        return os.fork()

    child, seen = split()
    if child == 0:
        again, own = performance_monitor(return_results=True)(lambda: 1)()
        fine = seen.memory_result.peak_memory > 0 and own.memory_result.peak_memory > 0
        os._exit(0 if again == 1 and fine and own.monitoring_result.cpu_usage_end >= 0 else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert seen.memory_result.peak_memory > 0


def test_a_result_is_an_ordinary_data_class_however_late_it_is_made() -> None:
    @performance_monitor(return_results=True)
    def one() -> int:
        return 1

    _, seen = one()
    again = pickle.loads(pickle.dumps(seen))

    assert again == seen and copy.deepcopy(seen) == seen
    assert dataclasses.asdict(seen)["memory_result"]["peak_memory"] > 0
    assert repr(one()[1]).startswith("CombinedResult(function_name='one', timing_result=")
    changed = one()[1]
    changed.metadata = {"mine": True}
    assert changed.function_name == "one" and changed.metadata == {"mine": True}
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = seen.nonsense
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = one()[1].nonsense


def test_a_result_that_is_looked_at_later_still_has_its_samples() -> None:
    @system_monitor(sample_interval=0.01, return_result=True)
    def work() -> None:
        doze(0.5)

    _, first = work()
    _, second = work()

    assert len(first.memory_samples) >= 3
    assert first.timestamp < second.timestamp
