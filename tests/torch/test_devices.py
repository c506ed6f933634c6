"""Timers, trackers and streams beside the real torch, on a machine with or without a device."""

from __future__ import annotations

import time

import torch
from tachograph.profiler import CUDATimer, MemoryTracker, StreamProfiler

HAS_DEVICE = torch.cuda.is_available()


def test_a_forward_pass_is_timed() -> None:
    device = "cuda" if HAS_DEVICE else "cpu"
    model = torch.nn.Linear(512, 512).to(device)
    data = torch.randn(64, 512, device=device)
    timer = CUDATimer()

    with timer.measure("forward"):
        model(data)

    result = timer.get_result("forward")
    assert result is not None
    assert result.clock == ("cuda" if HAS_DEVICE else "cpu")
    assert result.cuda_time_ms > 0


def test_memory_is_torchs_on_a_device_and_the_processs_elsewhere() -> None:
    device = "cuda" if HAS_DEVICE else "cpu"
    tracker = MemoryTracker()

    with tracker:
        block = torch.ones(20_000_000, device=device)
        del block

    stats = tracker.get_stats()
    assert stats["source"] == ("torch" if HAS_DEVICE else "process")
    assert stats["peak_allocated"] - stats["start_allocated"] >= 75_000_000
    assert tracker.get_allocation_timeline() or HAS_DEVICE


def test_stream_blocks_of_the_real_torch_are_seen_and_torch_is_put_back() -> None:
    blocks = torch.cuda.StreamContext
    before = blocks.__enter__, blocks.__exit__
    streams = [torch.cuda.Stream() if HAS_DEVICE else None for _ in range(2)]
    profiler = StreamProfiler(num_streams=2)

    with profiler:
        for stream in streams:
            with torch.cuda.stream(stream):
                time.sleep(0.01)

    assert (blocks.__enter__, blocks.__exit__) == before
    stats = profiler.get_stats()
    assert stats["clock"] == ("cuda" if HAS_DEVICE else "cpu")
    assert sum(row["pieces"] for row in stats["streams"]) == 2
    assert stats["streams"][0]["busy_ms"] >= 10


def test_looking_does_not_initialise_torchs_device() -> None:
    was_initialized = torch.cuda.is_initialized()

    with CUDATimer().measure("nothing"), MemoryTracker(track_allocations=False).track("nothing"):
        pass

    assert torch.cuda.is_initialized() == was_initialized
