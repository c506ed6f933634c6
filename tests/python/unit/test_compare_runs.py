"""Two runs beside each other, whatever they are given as."""

from __future__ import annotations

import json
import math
import pickle
import random
import re
import time
from pathlib import Path

import pytest
import tachograph
from tachograph.profiler import (
    CUDATimer,
    Metrics,
    MetricsCollector,
    MetricsReport,
    Profiler,
    Reporter,
    compare_runs,
)


def made_run(mean_ms: float, *, seed: int, iterations: int = 200) -> MetricsCollector:
    """A run whose iterations take `mean_ms`, give or take 5 %, half of it backward."""
    dice = random.Random(seed)
    collector = MetricsCollector()
    for step in range(iterations):
        total = mean_ms * dice.gauss(1.0, 0.05)
        collector.add(
            Metrics(
                iteration=step,
                batch_size=32,
                forward_time_ms=total * 0.3,
                backward_time_ms=total * 0.5,
                optimizer_time_ms=total * 0.1,
                total_time_ms=total,
                memory_allocated_mb=0.0,
                memory_peak_mb=0.0,
            )
        )
    return collector


def test_a_faster_run_is_called_faster_with_an_interval_around_the_truth() -> None:
    comparison = compare_runs(made_run(25.0, seed=1), made_run(20.0, seed=2))

    low, high = comparison["interval"]
    assert low < 1.25 < high and high - low < 0.1
    assert comparison["speedup"] == pytest.approx(1.25, rel=0.02)
    assert comparison["verdict"] == "faster"
    assert comparison["confidence"] == 0.95
    assert comparison["over"] == ["iteration"]
    backward = comparison["phases"]["backward"]
    assert backward["verdict"] == "faster" and backward["interval"][0] > 1
    assert backward["a"]["count"] == backward["b"]["count"] == 200


def test_the_other_way_round_it_is_slower() -> None:
    comparison = compare_runs(made_run(20.0, seed=2), made_run(25.0, seed=1))

    assert comparison["verdict"] == "slower"
    assert comparison["speedup"] == pytest.approx(0.8, rel=0.02)


def test_the_same_program_twice_is_the_same() -> None:
    comparison = compare_runs(made_run(20.0, seed=3), made_run(20.0, seed=4))

    assert comparison["verdict"] == "same"
    assert {phase["verdict"] for phase in comparison["phases"].values()} == {"same"}


def test_it_prints_as_a_table() -> None:
    comparison = compare_runs(made_run(25.0, seed=1), made_run(20.0, seed=2))

    text = str(comparison)

    assert re.match(r"tachograph · comparison · 1\.2\dx · 1\.\d\d … 1\.\d\dx · faster", text), text
    assert "95 % interval" in text and "backward" in text
    assert str(pickle.loads(pickle.dumps(comparison))) == text


def test_every_form_of_a_run_gives_the_same_comparison(tmp_path: Path) -> None:
    a, b = made_run(25.0, seed=1), made_run(20.0, seed=2)
    expected = compare_runs(a, b)
    path = tmp_path / "b.json"
    Reporter(b).save_json(path)
    report = b.generate_report()

    for form in (report, dict(report), str(path), path, json.loads(path.read_text()), Reporter(b)):
        assert compare_runs(a, form) == expected
    assert compare_runs(MetricsReport(a.generate_report()), b) == expected


def test_recordings_are_compared_by_their_spans(tmp_path: Path) -> None:
    def run(path: Path, milliseconds: float) -> tachograph.Recording:
        collector = MetricsCollector()
        with tachograph.record(path) as recording:
            for _ in range(15):
                with collector.measure_time("iteration"), collector.measure_time("forward"):
                    time.sleep(milliseconds / 1000)
        return recording

    def mean_s(recording: tachograph.Recording) -> float:
        spans = [span for span in recording.timeline() if span.name == "iteration"]
        return sum(span.duration_s or 0 for span in spans) / len(spans)

    slow, fast = run(tmp_path / "slow.tacho", 12), run(tmp_path / "fast.tacho", 2)

    comparison = compare_runs(slow, tmp_path / "fast.tacho")

    assert comparison["speedup"] == pytest.approx(mean_s(slow) / mean_s(fast))
    assert comparison["phases"]["forward"]["b"]["count"] == 15
    assert comparison["over"] == ["iteration"]


def test_timers_and_profilers_are_runs_too() -> None:
    timer, profiler = CUDATimer(), Profiler()
    for step in range(12):
        with timer.measure("iteration"):
            time.sleep(0.001)
        profiler.start_iteration(step, batch_size=1)
        time.sleep(0.001)
        profiler.end_iteration()

    assert compare_runs(timer, profiler)["phases"]["iteration"]["interval"] is not None


def test_too_few_calls_are_said_to_be_too_few() -> None:
    comparison = compare_runs(
        made_run(20.0, seed=1, iterations=3), made_run(10.0, seed=2, iterations=3)
    )

    assert comparison["verdict"] == "not_enough_data"
    assert comparison["interval"] is None
    assert comparison["speedup"] == pytest.approx(2.0, rel=0.2)
    assert "3 and 3 calls, each run needs 10" in " ".join(str(comparison).split())


def test_a_report_of_the_document_gives_a_speedup_without_an_interval() -> None:
    def report(mean: float) -> dict[str, object]:
        phase = {"mean": mean, "std": 1.2, "min": mean - 2, "max": mean + 3}
        return {"timing": {"forward_pass": phase}}

    comparison = compare_runs(report(24.0), report(12.0))

    assert comparison["speedup"] == 2.0
    assert comparison["verdict"] == "not_enough_data"
    assert f"{comparison['speedup']:.2f}x" == "2.00x"


def test_runs_without_a_common_phase_have_no_speedup() -> None:
    comparison = compare_runs(MetricsCollector(), MetricsCollector())

    assert math.isnan(comparison["speedup"])
    assert comparison["verdict"] == "not_enough_data"
    assert "no common phase" in str(comparison)


def test_phases_of_one_run_only_are_listed() -> None:
    a, b = made_run(20.0, seed=1), made_run(20.0, seed=2)
    with a.measure_time("gone"):
        pass

    comparison = compare_runs(a, b)

    assert (comparison["only_a"], comparison["only_b"]) == (["gone"], [])
    assert "only in a: gone" in str(comparison)


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    run = MetricsCollector()
    with pytest.raises(TypeError, match=r"a run must be a MetricsCollector.*not 3"):
        compare_runs(run, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the dict is not a metrics report: it has no 'timing'"):
        compare_runs({"time": 3.0}, run)
    with pytest.raises(ValueError, match="phase 'forward' needs"):
        compare_runs({"timing": {"forward": {"std": 1.0}}}, run)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        compare_runs(tmp_path / "nowhere.json", run)
    (tmp_path / "other.json").write_text('{"version": "1.0.0"}')
    with pytest.raises(ValueError, match=r"other\.json' is not a metrics report"):
        compare_runs(tmp_path / "other.json", run)
    (tmp_path / "broken.json").write_text('{"timing": ')
    with pytest.raises(ValueError, match=r"broken\.json' is not valid JSON"):
        compare_runs(tmp_path / "broken.json", run)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(tachograph.RecordingError, match=r"notes\.txt"):
        compare_runs(tmp_path / "notes.txt", run)


@pytest.mark.parametrize("phase", [3, {}, {"mean": "x"}, {"mean": math.nan}])
def test_a_phase_without_a_mean_is_named(phase: object) -> None:
    with pytest.raises(ValueError, match=r"the dict .*phase 'forward' needs .*'mean'"):
        compare_runs({"timing": {"forward": phase}}, MetricsCollector())
