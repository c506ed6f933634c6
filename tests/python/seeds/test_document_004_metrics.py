"""Document 004's timers and metrics: every block runs and does what its text says."""

from __future__ import annotations

from collections.abc import Callable

Run = Callable[..., None]

# What stands around the blocks: a model whose passes take known times.
TRAINING = """
import json
import os

class Value:
    def backward(self): time.sleep(0.03)
    def item(self): return 0.5
    def size(self, axis): return 32

def model(data):
    time.sleep(0.004)
    return Value()

class Optimizer:
    def step(self): time.sleep(0.001)

def batches(many):
    for _ in range(many):
        time.sleep(0.002)
        yield Value()

input, loss, optimizer, dataloader = Value(), Value(), Optimizer(), batches(50)
criterion = lambda output, target: Value()
"""

REPORTER = """
from tachograph.profiler import MetricsCollector, Reporter
collector = MetricsCollector()
for _ in range(3):
    collector.record("batch_size", 32)
    with collector.measure_time("iteration"):
        time.sleep(0.002)
reporter = Reporter(collector)
"""


def test_01_a_block_is_timed_in_milliseconds(run: Run) -> None:
    run(
        "004.01",
        before=TRAINING,
        after="assert elapsed >= 4\nassert timer.get_result('forward_pass').clock == 'cpu'",
    )


def test_03_metrics_of_a_training_loop_make_a_printed_report(run: Run) -> None:
    run(
        "004.03",
        before=TRAINING
        + "num_epochs = 2\ntrain_loader = [(Value(), Value())] * 5\nprinted = []\n"
        + "print = lambda thing: printed.append(str(thing))\n",
        after="""
iteration = report["timing"]["iteration"]
assert iteration["count"] == 10 and iteration["mean"] >= 35
assert report["metrics"]["loss"]["mean"] == 0.5
rate = report["throughput"]
assert abs(rate["samples_per_sec"] / rate["iterations_per_sec"] - 32) < 1e-6
assert "iteration" in printed[0] and "samples/s" in printed[0] and "loss" in printed[0]
""",
    )


def test_05_a_timer_is_started_and_stopped(run: Run) -> None:
    run("004.05", before=TRAINING, after="assert elapsed >= 4")


def test_08_the_bottleneck_is_the_slowest_part(run: Run) -> None:
    run(
        "004.08",
        # One call each: long enough that no wait for the processor changes the order.
        before=TRAINING.replace("time.sleep(0.03)", "time.sleep(0.5)"),
        after="""
assert analysis["bottleneck"] == "backward", analysis
assert 0.4 < analysis["share"] < 1
assert "backward" in analysis["why"]
assert set(analysis["phases"]) == {"data_loading", "forward", "backward"}
""",
    )


def test_09_a_comparison_tells_the_speedup(run: Run) -> None:
    run(
        "004.09",
        before="""
from tachograph.profiler import MetricsCollector
config1, config2 = 0.01, 0.001

def profile_training(seconds):
    collector = MetricsCollector()
    for _ in range(12):
        with collector.measure_time("iteration"):
            time.sleep(seconds)
    return collector
""",
        after="""
means = [run.generate_report()["timing"]["iteration"]["mean"] for run in (metrics1, metrics2)]
assert means[0] >= 10 and abs(comparison["speedup"] - means[0] / means[1]) < 1e-9
low, high = comparison["interval"]
assert low < comparison["speedup"] < high
# A run that was held up has a wide interval.
assert comparison["phases"]["iteration"]["verdict"] in ("faster", "unclear")
""",
    )


def test_10_a_report_is_saved_in_the_schema_of_the_document(run: Run) -> None:
    run(
        "004.10",
        before=REPORTER,
        after="""
import json
report = json.load(open("profile.json"))
assert {"timing", "memory", "throughput"} <= set(report)
assert {"mean", "std", "min", "max"} <= set(report["timing"]["iteration"])
assert report["timing"]["iteration"]["mean"] >= 2
assert set(report["memory"]) == {"peak_allocated", "peak_reserved"}
assert set(report["throughput"]) == {"samples_per_sec", "iterations_per_sec"}
""",
    )


def test_13_a_table_for_spreadsheets_is_saved(run: Run) -> None:
    run(
        "004.13",
        before=REPORTER,
        after="""
import csv
rows = list(csv.DictReader(open("metrics.csv")))
assert rows[0]["name"] == "iteration" and float(rows[0]["mean"]) >= 2
""",
    )


def test_14_several_epochs_are_averaged(run: Run) -> None:
    run(
        "004.14",
        before="from tachograph.profiler import MetricsCollector",
        edit=lambda code: code.replace(
            "    pass", "    with collector.measure_time('epoch'):\n        time.sleep(0.002)"
        ),
        after="assert report['timing']['epoch']['count'] == 5",
    )


def test_15_measurements_can_be_inside_of_each_other(run: Run) -> None:
    run(
        "004.15",
        before=TRAINING + "from tachograph.profiler import CUDATimer\ntimer = CUDATimer()\n",
        after="""
parts = ("data_loading", "forward", "backward", "optimizer")
whole = timer.get_elapsed("full_iteration")
assert whole >= sum(timer.get_elapsed(part) for part in parts) >= 37
assert all(timer.get_stats(part)["inside"] == "full_iteration" for part in parts)
""",
    )


def test_16_two_runs_are_compared_by_hand(run: Run) -> None:
    run(
        "004.16",
        before="""
from tachograph.profiler import CUDATimer

def run_with_profiling(use_kitsune):
    timer = CUDATimer()
    with timer.measure("run"):
        time.sleep(0.005 if use_kitsune else 0.05)
    took.append(timer.get_elapsed("run"))
    return {"time": took[-1]}
took = []
""",
        after="assert took[0] >= 50 and took[1] >= 5 and speedup == took[0] / took[1]",
    )
