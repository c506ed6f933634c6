"""Document 001: every block runs and does what its text says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., None]

# What stands around the blocks: a profiler with one finished operation, and a
# program whose parts take known times.
PREPARED = """
import time
from tachograph.measure import PerformanceProfiler
profiler = PerformanceProfiler()
before = time.perf_counter()
with profiler.profile("prepared"):
    time.sleep(0.05)
around = time.perf_counter() - before
metrics = profiler.get_metrics()

class Model:
    def fit(self, X, y): time.sleep(0.03)
    def cuda(self): return self
    def __call__(self, batch): time.sleep(0.01); return batch

class Batch:
    def cuda(self): return self

model, LargeModel, X_train, y_train = Model(), Model, [], []
dataloader, input_batch = [Batch()] * 3, Batch()
printed = []
print = lambda *words: printed.append(" ".join(map(str, words)))
"""

# A torch without a dispatcher: only its interface is there.
FAKE_TORCH = """
import sys, types
torch = types.ModuleType("torch")
nn = types.ModuleType("torch.nn")
class Module:
    def __init__(self, *args): self.args = args
    def __call__(self, x): return x
nn.Linear = nn.ReLU = nn.Sequential = Module
torch.nn = nn
torch.randn = lambda *shape: shape
torch.cuda = types.SimpleNamespace(is_available=lambda: False)
sys.modules.update({"torch": torch, "torch.nn": nn})
"""


def test_01_a_block_is_profiled(run: Run) -> None:
    run(
        "001.01",
        before=PREPARED,
        after="""
assert profiler.get_metrics("training_loop").timing.wall_time_s >= 0.03
""",
    )


def test_02_metrics_are_those_of_the_last_operation(run: Run) -> None:
    run(
        "001.02",
        before=PREPARED,
        after="""
assert isinstance(metrics, type(profiler.get_metrics("prepared")))
assert metrics.memory.peak_ram_mb > 1
assert printed == [f"Peak RAM: {metrics.memory.peak_ram_mb} MB"]
""",
    )


def test_03_current_memory_is_in_megabytes(run: Run) -> None:
    run(
        "001.03",
        before=PREPARED,
        after="""
held = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
assert isinstance(current_ram, float) and abs(current_ram - held) < 16, (current_ram, held)
""",
        edit=lambda code: "import os\n" + code,
    )


def test_04_the_breakdown_has_seconds_by_name(run: Run) -> None:
    run(
        "001.04",
        before=PREPARED,
        after="""
assert list(breakdown) == ["prepared"] and 0.05 <= breakdown["prepared"] <= around
assert printed == [f"prepared: {breakdown['prepared']:.3f}s"]
""",
    )


def test_05_metrics_become_a_dictionary_that_json_holds(run: Run) -> None:
    run(
        "001.05",
        before=PREPARED,
        after="""
import json
back = json.loads(json.dumps(metrics_dict))
assert back["timing"]["wall_time_s"] == metrics.timing.wall_time_s
assert set(back["memory"]) >= {"peak_ram_mb", "final_ram_mb", "peak_gpu_mb", "memory_leak_detected"}
assert set(back["compute"]) >= {"estimated_flops", "flops_per_second",
                                "gpu_utilization_percent", "cpu_utilization_percent"}
assert set(back["system"]) >= {"cpu_percent", "memory_percent", "disk_io_percent", "network_io_mb"}
assert "carbon" not in back and "line_profile" not in back
""",
    )


def test_06_the_summary_is_the_line_of_the_document(run: Run) -> None:
    run(
        "001.06",
        before=PREPARED,
        after=r"""
import re
from dataclasses import replace
seconds = r"(0\.\d{3}|\d+\.\d)s"
assert re.fullmatch(rf"Peak RAM: \d+\.\d MB, Wall Time: {seconds}, GPU Util: 0%", printed[0])
large = replace(metrics,
    memory=replace(metrics.memory, peak_ram_mb=2.4 * 1024),
    timing=replace(metrics.timing, wall_time_s=45.2),
    compute=replace(metrics.compute, gpu_utilization_percent=78.0))
assert large.summary() == "Peak RAM: 2.4 GB, Wall Time: 45.2s, GPU Util: 78%"
""",
    )


def test_07_a_training_is_profiled(run: Run) -> None:
    run(
        "001.07",
        before=PREPARED + "train_epoch = lambda: time.sleep(0.12)\n",
        after="""
assert metrics.timing.wall_time_s >= 1.2
assert printed[0] == f"Training completed in {metrics.timing.wall_time_s:.1f}s"
assert metrics.memory.peak_ram_mb >= metrics.memory.final_ram_mb
""",
    )


def test_08_device_memory_is_a_share_and_nothing_without_a_device(run: Run) -> None:
    run(
        "001.08",
        before=PREPARED,
        after="""
assert 0.0 <= profiler.get_current_gpu_memory() <= 1.0
assert gpu_metrics.memory.peak_gpu_mb >= 0
""",
    )


def test_09_several_operations_add_up(run: Run) -> None:
    run(
        "001.09",
        before=PREPARED
        + """
load_dataset = lambda: time.sleep(0.03)
preprocess = lambda data: time.sleep(0.06)
train_model = lambda data: time.sleep(0.12)
""",
        after="""
assert list(timing_breakdown) == ["data_loading", "preprocessing", "training"]
assert timing_breakdown["data_loading"] >= 0.03 and timing_breakdown["training"] >= 0.12
shares = [float(line.split("(")[1].rstrip("%)")) for line in printed[1:]]
assert abs(sum(shares) - 100) < 0.3
""",
    )


@pytest.mark.parametrize("leaks", [True, False])
def test_10_a_leak_is_told_and_only_a_leak(run: Run, leaks: bool) -> None:
    keep = "held.append(data)" if leaks else "pass"
    run(
        "001.10",
        before=PREPARED
        + f"""
held = []
due = time.monotonic()
def allocate_data():
    # By the clock: what holds the program up is caught up with, so growth stays even.
    global due
    due += 0.02
    time.sleep(max(0.0, due - time.monotonic()))
    data = bytearray(1 << 20)
    {keep}
    return data
process_data = lambda data: None
""",
        after=f"""
assert metrics.memory.memory_leak_detected is {leaks}, metrics.memory
if {leaks}:
    assert "memory leak" in printed[0] and "grew from" in printed[1]
    assert metrics.memory.final_ram_mb - metrics.memory.initial_ram_mb > 90
""",
    )


def test_11_a_torch_without_a_dispatcher_is_no_error(run: Run) -> None:
    # Real torch: `make test-torch`. There the model takes 26,017,792.
    run(
        "001.11",
        before=PREPARED + FAKE_TORCH,
        after="""
assert type(compute_metrics.estimated_flops) is int and compute_metrics.estimated_flops == 0
assert printed == ["Estimated FLOPs: 0", "FLOPS per second: 0"]
assert compute_metrics.flops_source == "none"
""",
    )


def test_12_an_operation_that_fails_leaves_what_was_measured(run: Run) -> None:
    run(
        "001.12",
        before=PREPARED
        + """
def risky_operation():
    time.sleep(0.05)
    raise ValueError("too risky")
""",
        after="""
assert printed[0] == "Operation failed: too risky"
assert partial_metrics.timing.wall_time_s >= 0.05 and not partial_metrics.completed
""",
    )


def test_13_intervals_are_seconds(run: Run) -> None:
    run("001.13", before=PREPARED, after="assert profiler.has_results() is False")


def test_14_tracking_a_device_depends_on_its_presence(run: Run) -> None:
    run("001.14", before=PREPARED + FAKE_TORCH, after="assert not profiler.has_results()")


def test_15_names_are_what_they_are_called(run: Run) -> None:
    run(
        "001.15",
        before=PREPARED,
        after="""
assert set(profiler.get_timing_breakdown()) == {"prepared", "resnet50_forward_pass", "operation"}
""",
    )


def test_16_a_realistic_batch_is_profiled(run: Run) -> None:
    run(
        "001.16",
        before=PREPARED + FAKE_TORCH,
        after='assert profiler.get_metrics("production_inference").timing.wall_time_s >= 0.01',
    )
