"""A collector of named numbers and phases."""

from __future__ import annotations

import copy
import json
import math
import pickle
import time
from pathlib import Path

import pytest
import tachograph
from tachograph.profiler import Metrics, MetricsCollector, calculate_speedup
from tachograph.profiler.metrics import calculate_speedup_percent


def metrics(iteration: int, total_ms: float = 30.0, loss: float | None = None) -> Metrics:
    return Metrics(
        iteration=iteration,
        batch_size=32,
        forward_time_ms=10.0,
        backward_time_ms=15.0,
        optimizer_time_ms=5.0,
        total_time_ms=total_ms,
        memory_allocated_mb=100.0,
        memory_peak_mb=150.0,
        loss=loss,
    )


def test_recorded_numbers_are_in_the_report() -> None:
    collector = MetricsCollector()
    for value in (0.5, 0.25, 0.75):
        collector.record("loss", value)

    loss = collector.generate_report()["metrics"]["loss"]

    assert (loss["count"], loss["mean"], loss["min"], loss["max"]) == (3, 0.5, 0.25, 0.75)
    assert loss["std"] == pytest.approx(0.25)
    assert (loss["last"], loss["p50"]) == (0.75, 0.5)


def test_a_phase_is_timed_in_milliseconds() -> None:
    collector = MetricsCollector()
    for _ in range(3):
        with collector.measure_time("sleep"):
            time.sleep(0.02)

    sleep = collector.generate_report()["timing"]["sleep"]

    assert sleep["count"] == 3
    assert 20 <= sleep["min"] <= sleep["mean"] <= sleep["max"]
    assert sleep["total"] == pytest.approx(3 * sleep["mean"])


def test_throughput_is_batch_size_over_iteration() -> None:
    collector = MetricsCollector()
    for _ in range(4):
        collector.record("batch_size", 16)
        with collector.measure_time("iteration"):
            time.sleep(0.005)

    report = collector.generate_report()

    seconds = report["timing"]["iteration"]["mean"] / 1000
    assert report["throughput"]["iterations_per_sec"] == pytest.approx(1 / seconds)
    assert report["throughput"]["samples_per_sec"] == pytest.approx(16 / seconds)


def test_an_empty_collector_answers_everything() -> None:
    collector = MetricsCollector()

    report = collector.generate_report()

    assert report["timing"] == {} and report["metrics"] == {}
    assert report["memory"] == {"peak_allocated": 0, "peak_reserved": 0}
    assert report["throughput"] == {"samples_per_sec": 0.0, "iterations_per_sec": 0.0}
    assert "nothing was measured" in str(report)
    assert collector.analyze_bottlenecks()["bottleneck"] is None
    assert "measure_time" in str(collector.analyze_bottlenecks())
    assert collector.aggregate() is None and collector.get_phase_breakdown() == {}
    assert collector.summary() == "No metrics collected."


def test_a_report_is_a_dict_and_prints_as_a_table() -> None:
    collector = MetricsCollector()
    collector.record("batch_size", 32)
    with collector.measure_time("iteration"), collector.measure_time("forward"):
        pass

    report = collector.generate_report()

    assert isinstance(report, dict)
    assert json.loads(json.dumps(report)) == report
    text = str(report)
    assert text.splitlines()[0].startswith("tachograph · metrics · 1 iteration ·")
    assert "└ forward" in text and "batch_size" in text
    assert "no device memory was seen" in text
    assert all(len(line) <= 70 for line in report.table(width=70).splitlines())
    with pytest.raises(ValueError, match="width must be >= 1, not 0"):
        report.table(width=0)


def test_answers_survive_pickling_and_copying() -> None:
    collector = MetricsCollector()
    with collector.measure_time("forward"):
        pass
    for answer in (collector.generate_report(), collector.analyze_bottlenecks()):
        for other in (pickle.loads(pickle.dumps(answer)), copy.deepcopy(answer)):
            assert other == answer and str(other) == str(answer)


def test_what_is_no_number_is_named() -> None:
    collector = MetricsCollector()
    with pytest.raises(TypeError, match=r"record\(\"loss\"\) needs a number, not 'low' \(str\)"):
        collector.record("loss", "low")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"needs a number, not None \(NoneType\)"):
        collector.record("loss", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="too large for a float"):
        collector.record("loss", 10**400)
    with pytest.raises(TypeError, match="a name must be a str, not int"):
        collector.record(3, 1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a name must be a str, not NoneType"):
        collector.measure_time(None)  # type: ignore[arg-type]
    assert collector.generate_report()["metrics"] == {}


def test_nan_and_infinity_are_counted_and_left_out() -> None:
    collector = MetricsCollector()
    for value in (1.0, math.nan, math.inf, -math.inf, 3.0):
        collector.record("loss", value)
    collector.record("only", math.nan)

    report = collector.generate_report()

    loss = report["metrics"]["loss"]
    assert (loss["count"], loss["mean"], loss["not_finite"]) == (2, 2.0, 3)
    assert report["metrics"]["only"]["count"] == 0
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert "loss: 3 values left out, nan or infinite" in " ".join(str(report).split())


def test_whatever_has_a_float_is_a_number() -> None:
    class Tensor:
        def __float__(self) -> float:
            return 2.5

    collector = MetricsCollector()
    for value in (Tensor(), True, 7):
        collector.record("value", value)

    assert collector.generate_report()["metrics"]["value"]["max"] == 7.0


def test_an_error_of_a_number_itself_is_passed_on() -> None:
    class Broken:
        def __float__(self) -> float:
            raise ZeroDivisionError("no value yet")

    with pytest.raises(ZeroDivisionError, match="no value yet"):
        MetricsCollector().record("value", Broken())


def test_names_are_told_apart_by_text_not_by_object() -> None:
    collector = MetricsCollector()
    for number in range(300):
        collector.record(f"metric {number % 3}", 1.0)
        collector.record("".join(["metric", " ", str(number % 3)]), 1.0)

    recorded = collector.generate_report()["metrics"]

    assert {name: values["count"] for name, values in recorded.items()} == {
        "metric 0": 200,
        "metric 1": 200,
        "metric 2": 200,
    }


def test_a_phase_that_gets_slower_is_reported_with_its_trend() -> None:
    collector = MetricsCollector(warmup_iterations=0)
    for step in range(40):
        collector.add(metrics(step, total_ms=30.0 + step))

    phase = collector.analyze_bottlenecks()["phases"]["iteration"]

    assert phase["trend"] == pytest.approx(0.87, abs=0.1)


def test_clear_forgets_everything_and_goes_on() -> None:
    collector = MetricsCollector()
    collector.record("loss", math.nan)
    with collector.measure_time("forward"):
        pass
    collector.add(metrics(20))

    collector.clear()

    assert collector.generate_report() == MetricsCollector().generate_report()
    assert collector.get_metrics(skip_warmup=False) == []
    collector.record("loss", 1.0)
    assert collector.generate_report()["metrics"]["loss"]["count"] == 1


def test_added_iterations_aggregate_without_their_warmup() -> None:
    collector = MetricsCollector(warmup_iterations=2)
    for step in range(5):
        collector.add(metrics(step, total_ms=30.0 + step, loss=1.0 / (step + 1)))

    together = collector.aggregate(skip_warmup=True)

    assert together is not None
    assert (together.count, together.mean_time_ms) == (3, 33.0)
    assert (together.std_time_ms, together.min_time_ms, together.max_time_ms) == (1.0, 32.0, 34.0)
    assert (together.mean_memory_mb, together.peak_memory_mb) == (100.0, 150.0)
    assert len(collector.get_metrics(skip_warmup=False)) == 5
    everything = collector.aggregate(skip_warmup=False)
    assert everything is not None and everything.count == 5
    assert collector.get_phase_breakdown()["backward_ms"] == 15.0


def test_added_iterations_are_in_the_report_too() -> None:
    collector = MetricsCollector()
    for step in range(3):
        collector.add(metrics(step, loss=0.5))

    report = collector.generate_report()

    assert report["timing"]["iteration"]["mean"] == 30.0
    assert report["timing"]["backward"]["inside"] == "iteration"
    assert report["throughput"]["samples_per_sec"] == pytest.approx(32 / 0.030)
    assert report["metrics"]["loss"]["mean"] == 0.5
    assert collector.analyze_bottlenecks()["bottleneck"] == "backward"
    assert "iteration" in collector.summary()


def test_shares_of_one_iteration() -> None:
    one = metrics(0)
    assert one.throughput == pytest.approx(32 / 0.030)
    assert (one.forward_pct, one.backward_pct) == (pytest.approx(100 / 3), 50.0)
    assert one.optimizer_pct == pytest.approx(100 / 6)
    nothing = metrics(0, total_ms=0.0)
    assert (nothing.throughput, nothing.forward_pct) == (0.0, 0.0)


def test_a_negative_warmup_is_refused() -> None:
    with pytest.raises(ValueError, match="warmup_iterations must be >= 0, not -1"):
        MetricsCollector(warmup_iterations=-1)


def test_speedups_of_two_times() -> None:
    assert calculate_speedup(100.0, 50.0) == 2.0
    assert calculate_speedup(100.0, 0.0) == math.inf
    assert calculate_speedup_percent(150.0, 100.0) == pytest.approx(50.0)


def test_a_recording_has_the_phases_and_the_numbers(tmp_path: Path) -> None:
    collector = MetricsCollector()
    path = tmp_path / "run.tacho"
    with tachograph.record(path):
        for _ in range(3):
            collector.record("batch_size", 8)
            with collector.measure_time("iteration"), collector.measure_time("forward"):
                time.sleep(0.002)

    report = tachograph.profiler.Reporter(path)._report()

    assert report["timing"]["iteration"]["count"] == 3
    assert report["timing"]["forward"]["inside"] == "iteration"
    assert report["metrics"]["batch_size"]["count"] == 3
    assert report["throughput"]["samples_per_sec"] > 0


def test_memory_does_not_grow_with_the_number_of_values() -> None:
    collector = MetricsCollector()
    for step in range(20_000):
        collector.record("loss", float(step % 100))

    loss = collector.generate_report()["metrics"]["loss"]

    assert loss["count"] == 20_000 and len(loss["blocks"]) <= 64
    assert loss["p50"] == pytest.approx(49.5, rel=0.02)


def test_subclasses_of_a_collector_work() -> None:
    class Mine(MetricsCollector):
        def __init__(self) -> None:
            super().__init__(warmup_iterations=1)
            self.calls = 0

    collector = Mine()
    collector.record("loss", 1.0)
    assert collector.warmup_iterations == 1 and collector.calls == 0
