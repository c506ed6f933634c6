"""Spans, device time and device readings line up in one recording."""

from __future__ import annotations

from collections.abc import Callable

Program = Callable[..., str]


def test_readings_of_a_device_line_up_with_spans(program: Program) -> None:
    program(
        """
import time
from machine import cuda, launch, nvml, wait_for_readings
import tachograph
from tachograph.profiler import CUDATimer
cuda.stand_in_make_context(0)     # CUDA's first device is the second one of the library
timer = CUDATimer()
begin = time.monotonic()
with tachograph.record("run.tacho", heap=False):
    wait_for_readings()
    first_read = time.monotonic()
    with tachograph.span("epoch"):
        # A reading has the time at which it is begun: one that is under way and held up
        # is to be of this span too.
        time.sleep(0.4)
        nvml.stand_in_allocate(1, 2 << 30)
        with timer.measure("kernel"):
            launch(600)
        wait_for_readings()
        nvml.stand_in_allocate(1, -(2 << 30))
    last_read = time.monotonic()
    wait_for_readings()
end = time.monotonic()
recording = tachograph.open("run.tacho")
spans = {span.name: span for span in recording.timeline()}
epoch, device = spans["epoch"], spans["kernel (GPU)"]
assert epoch.start_s - 0.001 < device.start_s < device.end_s < epoch.end_s + 0.001
assert device.end_s - device.start_s >= 0.5999

series = {(row.track, row.name): row for row in recording.series(scope="device")}
memory = series["Stand-in GPU 1", "memory used"]
assert memory.unit == "bytes" and memory.max - memory.min == 2 << 30
# A reading between the two changes is inside of the span, every other one outside;
# the span begins before the first change and ends after the second.
high = [time for time, value in memory.points if value == memory.max]
assert high and all(epoch.start_s <= time <= epoch.end_s for time in high), (high, epoch)
low = [time for time, value in memory.points if value == memory.min]
assert min(low) < epoch.start_s and max(low) > epoch.end_s
energy = series["Stand-in GPU 0", "energy"]
assert energy.is_total
# 150 W, counted in millijoules, from a reading before the span to one after it.
least, most = 150 * (last_read - first_read), 150 * (end - begin)
assert least - 0.002 <= energy.growth <= most + 0.002, (least, energy.growth, most)
"""
    )


def test_a_recording_without_a_device_has_no_series_of_one(program: Program) -> None:
    program(
        """
import time, tachograph
with tachograph.record(heap=False) as recording:
    time.sleep(0.2)
assert recording.series(scope="device") == []
assert recording.series(scope="process")
""",
        nvml=None,
        cuda=None,
    )
