"""Readings of the process and the machine inside a recording."""

from __future__ import annotations

import mmap
import pickle
import time
from pathlib import Path

import pytest
import tachograph
from tachograph import _native
from watched import doze

MB = 1 << 20


def spin(seconds: float) -> None:
    """Use `seconds` of this thread's CPU clock."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_a_recording_has_series_of_process_and_machine(tmp_path: Path) -> None:
    path = tmp_path / "run.tacho"
    with tachograph.record(path) as recording:
        spin(0.25)
        doze(0.5)

    read = tachograph.open(path)

    for part in (recording, read, pickle.loads(pickle.dumps(recording))):
        names = {(row.scope, row.name) for row in part.series()}
        assert {("process", "memory"), ("process", "cpu time"), ("machine", "cpu busy")} <= names
        (memory,) = part.series("memory", scope="process")
        assert memory.unit == "bytes" and not memory.is_total
        assert memory.count == len(memory.points) >= 3
        assert all(0 <= at <= part.duration for at, _ in memory.points)
        assert memory.min <= memory.mean <= memory.max


def test_cpu_time_of_the_series_is_that_of_the_program() -> None:
    outside = time.process_time()
    with tachograph.record() as recording:
        before = time.process_time()
        spin(0.2)
        used = time.process_time() - before
    around = time.process_time() - outside

    (cpu,) = recording.series("cpu time")

    assert cpu.is_total
    # What happens at both ends is in the recording, and not in the block.
    assert used <= cpu.growth / 1e9 <= around


def test_a_peak_between_two_readings_is_in_the_recording_and_one_before_is_not() -> None:
    for _ in range(5):
        bytearray(300 * MB)
        with tachograph.record() as recording:
            held = _native.resident_bytes()
            bytearray(120 * MB)

        peak = recording.peak_rss

        assert peak is not None
        assert held + 110 * MB <= peak < held + 250 * MB
        assert f"peak {peak / 1e6:.0f} MB"[:7] in recording.summary().splitlines()[0]


def test_spans_share_the_energy_by_what_ran_in_them() -> None:
    with tachograph.record() as recording:
        with tachograph.span("work"):
            spin(1.0)
        with tachograph.span("nap"):
            time.sleep(0.3)

    whole, work, nap = (
        part.energy() for part in (recording, recording.within("work"), recording.within("nap"))
    )

    assert whole is not None and work is not None and nap is not None
    assert work.joules + nap.joules <= whole.joules * 1.001
    # A twentieth of a second belongs to both when readings come every tenth; a fifth of
    # the work would be four readings in a row that did not come.
    assert work.joules > 5 * nap.joules
    assert whole.source == ("measured" if _native.energy_source()[0] else "modelled")
    assert whole.co2_grams("FR") == pytest.approx(whole.kwh * 56)
    assert "ENERGY" in recording.summary() and whole.source in recording.summary()
    with pytest.raises(ValueError, match="'XX' is not in the table"):
        whole.co2_grams("XX")


def test_halves_of_a_recording_have_all_of_its_energy() -> None:
    with tachograph.record() as recording:
        spin(0.3)
    middle = recording.duration / 2

    halves = [recording.between(0, middle), recording.between(middle, 1e6)]

    joules = [energy.joules for part in halves if (energy := part.energy()) is not None]
    whole = recording.energy()
    assert whole is not None
    assert sum(joules) == pytest.approx(whole.joules, rel=1e-6)


@pytest.mark.parametrize("leaks", [True, False])
def test_a_leak_is_found_in_a_recording(leaks: bool) -> None:
    kept = []
    with tachograph.record() as recording:
        began = time.monotonic()
        for step in range(60):
            # By the clock: what holds the program up is caught up with, so growth stays even.
            time.sleep(max(0.0, began + step * 0.04 - time.monotonic()))
            # Pages of its own: what the process freed earlier would be used again.
            block = mmap.mmap(-1, MB)
            block.write(bytes(MB))
            if leaks:
                kept.append(block)

    growth = recording.memory_growth()

    assert growth is not None
    assert growth.leaking is leaks, growth
    assert growth.reason


def test_the_machine_can_be_left_out() -> None:
    with tachograph.record(machine=False, heap=False) as recording:
        spin(0.02)

    assert recording.series() == []
    assert recording.energy() is None
    assert recording.memory_growth() is None
    assert recording.peak_rss is None
    assert "ENERGY" not in recording.summary()


def test_readings_are_not_among_the_programs_own_metrics() -> None:
    with tachograph.record() as recording:
        _native.point("loss", 0.5)
        spin(0.02)

    assert [row.name for row in recording.metrics()] == ["loss"]
    assert recording.series("loss")[0].scope == "thread"


def test_recordings_inside_one_another_each_have_their_readings() -> None:
    with tachograph.record() as outer:
        spin(0.1)
        before = time.perf_counter()
        with tachograph.record() as inner:
            entering = time.perf_counter() - before
            spin(0.1)
        spin(0.1)

    times = [part.series("cpu time")[0].growth for part in (outer, inner)]

    assert times[0] > times[1] > 0.1e9
    # Its first reading is taken while it is entered.
    assert inner.series("memory")[0].points[0][0] <= entering
