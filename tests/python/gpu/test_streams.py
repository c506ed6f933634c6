"""Streams side by side, against a stand-in driver whose streams work as long as they are told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tachograph.profiler import StreamProfiler

Program = Callable[..., str]

BEGIN = """
import time
from machine import cuda, install_torch, launch
torch = install_torch()
from tachograph.profiler import StreamProfiler
"""


def test_streams_that_work_at_once_overlap(program: Program) -> None:
    told = program(
        BEGIN
        + """
streams = [torch.cuda.Stream() for _ in range(2)]
profiler = StreamProfiler(num_streams=3)
with profiler:
    before = time.perf_counter()
    for stream in streams:
        with torch.cuda.stream(stream):
            launch(400, stream.cuda_stream)
    launching_ms = (time.perf_counter() - before) * 1000
stats = profiler.get_stats()
one, two, three = stats["streams"]
assert stats["clock"] == "cuda" and stats["window_ms"] >= 400
assert 400 <= one["busy_ms"] and 400 <= two["busy_ms"] and three["busy_ms"] == 0
# Launched one right after the other, so nearly all of it at once; a machine
# that was held up between the launches has less overlap and a longer window.
assert stats["overlap_ms"] >= 400 - launching_ms, (stats, launching_ms)
assert abs(one["busy_ms"] + two["busy_ms"] - stats["any_busy_ms"] - stats["overlap_ms"]) < 1e-3
profiler.print_stream_efficiency()
assert cuda.stand_in_live_events() <= 1, "events must be given back"
"""
    )

    assert "streams · " in told
    assert "by CUDA events" in told
    assert "stream 2" in told
    assert "efficiency" in told


def test_streams_one_after_the_other_do_not_overlap_and_have_gaps(program: Program) -> None:
    program(
        BEGIN
        + """
first, second = torch.cuda.Stream(), torch.cuda.Stream()
profiler = StreamProfiler(num_streams=2)
with profiler:
    for stream in (first, second, first):
        with torch.cuda.stream(stream):
            launch(20, stream.cuda_stream)
        time.sleep(0.03)
stats = profiler.get_stats()
one, two = stats["streams"]
assert (one["pieces"], two["pieces"]) == (2, 1) and stats["overlap_ms"] == 0
# The first stream idles while the second works, and during both pauses.
assert one["longest_gap_ms"] >= 30 and one["idle_ms"] == one["longest_gap_ms"]
assert 0 < stats["efficiency"] <= 0.5 and abs(stats["concurrency"] - 1) < 1e-6
"""
    )


def test_work_queued_behind_other_work_begins_when_the_stream_comes_to_it(
    program: Program,
) -> None:
    program(
        BEGIN
        + """
stream = torch.cuda.Stream()
profiler = StreamProfiler(num_streams=1)
with profiler:
    for _ in range(3):
        with torch.cuda.stream(stream):
            launch(20, stream.cuda_stream)
(row,) = profiler.get_stats()["streams"]
assert row["pieces"] == 3 and row["busy_ms"] >= 60
assert len(profiler._work) == 3
starts = sorted(start for _, start, _ in profiler._work)
# 20 ms apart to the precision of the driver's 32-bit times.
assert all(later - earlier >= 19.99e6 for earlier, later in zip(starts, starts[1:])), starts
"""
    )


def test_torch_is_as_it_was_afterwards_also_after_an_exception(program: Program) -> None:
    program(
        BEGIN
        + """
before = torch.cuda.stream
profiler = StreamProfiler()
try:
    with profiler, StreamProfiler():
        assert torch.cuda.stream is not before
        with torch.cuda.stream(torch.cuda.Stream()):
            raise KeyError("mine")
except KeyError:
    pass
assert torch.cuda.stream is before
assert profiler.get_stats()["streams"][0]["pieces"] == 1
"""
    )


def test_a_class_of_blocks_is_watched_and_put_back(program: Program) -> None:
    program(
        BEGIN
        + """
class StreamContext:
    def __init__(self, stream): self.stream = stream
    def __enter__(self): return "entered"
    def __exit__(self, *error): return None
torch.cuda.StreamContext = torch.cuda.stream = StreamContext
before = StreamContext.__enter__, StreamContext.__exit__
stream = torch.cuda.Stream()
profiler = StreamProfiler(num_streams=1)
with profiler:
    with StreamContext(stream) as entered:
        launch(5, stream.cuda_stream)
    assert entered == "entered"
assert (StreamContext.__enter__, StreamContext.__exit__) == before
assert profiler.get_stats()["streams"][0]["busy_ms"] >= 5
"""
    )


def test_stream_blocks_are_spans_of_a_recording(program: Program) -> None:
    program(
        BEGIN
        + """
import tachograph
streams = [torch.cuda.Stream() for _ in range(2)]
with tachograph.record(interval_ms=50) as recording:
    with StreamProfiler(num_streams=2):
        for stream in streams:
            with torch.cuda.stream(stream):
                launch(20, stream.cuda_stream)
rows = list(recording.timeline())
assert [row.name for row in rows] == ["stream block (GPU)"] * 2
assert {row.thread for row in rows} == {"stream 0", "stream 1"}, rows
assert all(row.end_s - row.start_s >= 0.0199 for row in rows)
"""
    )


def test_without_a_device_the_table_says_what_it_shows(program: Program) -> None:
    told = program(
        """
import time
from tachograph.profiler import StreamProfiler
profiler = StreamProfiler(num_streams=2)
with profiler:
    for number in (0, 1, 0):
        with profiler.stream(number, name=f"queue {number}"):
            time.sleep(0.01)
stats = profiler.get_stats()
assert stats["clock"] == "cpu" and stats["streams"][0]["busy_ms"] >= 20
profiler.print_stream_efficiency()
""",
        nvml=None,
        cuda=None,
    )

    assert "by the processor's clock" in told
    words = " ".join(told.split())
    assert "not when a device worked: the program has not loaded the CUDA driver" in words
    assert "queue 1" in told


def test_a_profiler_that_saw_nothing_says_what_to_do() -> None:
    profiler = StreamProfiler()
    with profiler:
        pass

    assert "no work was seen; put it into torch.cuda.stream" in profiler.summary(width=120)
    assert len(profiler.get_stats()["streams"]) == 4


def test_more_streams_than_meant_are_shown_and_said() -> None:
    profiler = StreamProfiler(num_streams=1)
    with profiler:
        for number in range(3):
            with profiler.stream(number):
                pass

    assert len(profiler.get_stats()["streams"]) == 3
    assert "num_streams is 1; 3 had work" in profiler.summary(width=120)


def test_less_than_one_stream_is_refused() -> None:
    with pytest.raises(ValueError, match="num_streams must be >= 1, not 0"):
        StreamProfiler(num_streams=0)
