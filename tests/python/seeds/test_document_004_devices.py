"""Document 004's device half: memory and streams, with and without a stand-in device."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., None]

STAND_INS = Path(__file__).parents[2] / "stand_ins"


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a stand-in device into the environment of the block."""
    for name in ("nvml", "cuda"):
        library = str(tmp_path / f"{name}.so")
        command = ["gcc", "-O1", "-shared", "-fPIC", "-pthread", "-o", library]
        subprocess.run([*command, str(STAND_INS / f"{name}.c")], check=True)
        monkeypatch.setenv(f"TACHOGRAPH_{name.upper()}_LIBRARY", library)
    paths = f"{STAND_INS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    monkeypatch.setenv("PYTHONPATH", paths)


# A torch without a device, as on a machine without one.
HOST_TORCH = """
import contextlib, time, types

class Tensor:
    def __init__(self, size): self.data = bytearray(b"x") * size
    def backward(self): pass

torch = types.SimpleNamespace(
    randn=lambda *shape, device=None: Tensor(4 * shape[0] * shape[1]),
    matmul=lambda a, b: Tensor(len(a.data)),
    cuda=types.SimpleNamespace(stream=lambda stream: contextlib.nullcontext()),
)
printed = []
print = lambda *things: printed.append(" ".join(map(str, things)))
import builtins
builtins.print = print
"""


def test_02_memory_of_a_loop_is_tracked_and_printed_without_a_device(run: Run) -> None:
    run(
        "004.02",
        before=HOST_TORCH
        + """
kept = []
def model(batch):
    kept.append(Tensor(30_000_000))
    return kept[-1]
loss, dataloader = Tensor(1), range(3)
""",
        after="""
assert stats["peak_allocated"] - stats["start_allocated"] >= 85_000_000
assert stats["source"] == "process"
assert printed[-1].startswith("Peak memory: 0."), printed
summary = " ".join(printed[0].split())
assert "no GPU memory was used, so this is the memory of this process" in summary
assert "ALLOCATIONS" in summary and "__init__" in summary, summary
""",
    )


def test_02_on_a_device_it_is_torchs_memory(run: Run, device: None) -> None:
    run(
        "004.02",
        before="""
from machine import install_torch
torch = install_torch()
class Loss:
    def backward(self): pass
kept = []
def model(batch):
    kept.append(torch.randn(1 << 15, 1 << 15, device="cuda"))
    return kept[-1]
loss, dataloader = Loss(), range(2)
printed = []
import builtins
builtins.print = lambda *things: printed.append(" ".join(map(str, things)))
""",
        after="""
assert stats["source"] == "torch" and stats["peak_allocated"] == 2 * 4 * (1 << 30)
assert printed[-1] == "Peak memory: 8.59 GB", printed
assert "torch's allocator" in printed[0]
""",
    )


def test_06_allocations_have_a_timeline_without_a_device(run: Run) -> None:
    run(
        "004.06",
        before=HOST_TORCH,
        after="""
# Two matrices of a thousand by a thousand, one after the other.
most = max(point.allocated_bytes for point in timeline)
assert 8_000_000 <= most < 20_000_000, timeline
assert [point.time_s for point in timeline] == sorted(point.time_s for point in timeline)
""",
    )


def test_06_on_a_device_the_timeline_is_the_devices(run: Run, device: None) -> None:
    run(
        "004.06",
        before="from machine import install_torch\ntorch = install_torch()\n",
        edit=lambda code: code.replace("(x, x)", "(x, x); import time; time.sleep(0.3)"),
        after="""
assert tracker.get_stats()["peak_allocated"] == 8_000_000
assert timeline, "the sampler reads the device every 100 ms"
""",
    )


def test_07_streams_are_profiled_without_a_device(run: Run) -> None:
    run(
        "004.07",
        before=HOST_TORCH
        + """
import sys
sys.modules["torch"] = torch
streams, tasks = [f"stream {n}" for n in range(4)], [0.01, 0.02, 0.01, 0.01]
execute_task = time.sleep
""",
        after="""
stats = profiler.get_stats()
assert [row["pieces"] for row in stats["streams"]] == [1, 1, 1, 1]
assert stats["streams"][1]["busy_ms"] >= 20 and stats["overlap_ms"] == 0
assert "by the processor's clock" in printed[0] and "efficiency" in printed[0]
""",
    )


def test_07_on_a_device_the_streams_overlap(run: Run, device: None) -> None:
    run(
        "004.07",
        before="""
from machine import install_torch, launch
torch = install_torch()
streams = [torch.cuda.Stream() for _ in range(4)]
tasks = [300, 300, 300, 300]
execute_task = lambda task: launch(task, torch.cuda.current_stream().cuda_stream)
printed = []
import builtins
builtins.print = lambda *things: printed.append(" ".join(map(str, things)))
""",
        after="""
stats = profiler.get_stats()
assert stats["clock"] == "cuda"
assert all(row["busy_ms"] >= 300 for row in stats["streams"])
assert stats["overlap_ms"] > 0 and stats["concurrency"] > 1
assert "by CUDA events" in printed[0] and "stream 3" in printed[0]
""",
    )
