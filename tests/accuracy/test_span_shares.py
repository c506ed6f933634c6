"""A recording narrowed to a span holds what ran in that span, and all of it."""

from __future__ import annotations

import asyncio
import threading
import time

import phases
import pytest
import tachograph
from answers import counts_by_function, tolerance
from clockwork import rounds_per_ms, shares, spin


def cpu_ns(recording: tachograph.Recording) -> int:
    """Return the CPU time that was sampled."""
    return sum(row.cpu_ns for row in recording.threads())


@pytest.mark.measures
def test_cpu_time_within_spans_is_split_as_the_program_spent_it() -> None:
    with tachograph.record(interval_ms=1, native=False) as recording:
        truth = shares(phases.run(2.0))

    found = {name: cpu_ns(recording.within(name)) for name in truth}
    for name, share in truth.items():
        allowed = tolerance(share, recording.sample_count)
        assert shares(found)[name] == pytest.approx(share, abs=allowed), found
    rows = {row.path: row.cpu_ns for row in recording.spans()}
    assert rows["round/prepare"] == found["prepare"]
    assert rows["round"] == pytest.approx(cpu_ns(recording.within("round")))


def test_a_sample_is_within_the_span_whose_function_it_shows() -> None:
    with tachograph.record(interval_ms=1, native=False) as recording:
        phases.run(1.0)

    for name, function in phases.FUNCTIONS.items():
        counts = counts_by_function(recording.within(name).profile, phases.FUNCTIONS.values())
        # A look between the end of a function and the end of its span is neither's.
        assert counts[function] == sum(counts.values()) > 0, counts


def test_spans_begin_and_end_when_they_do() -> None:
    clock = time.perf_counter
    truth = []
    with tachograph.record() as recording:
        for pause in (0.0, 0.002, 0.02, 0.05):
            before = clock()
            with tachograph.span("pause"):
                began = clock()
                time.sleep(pause)
                ended = clock()
            truth.append((before, began, ended, clock()))

    # Both clocks run alike, so one distance between them must fit every reading.
    least, most = [], []
    for span, (before, began, ended, after) in zip(recording.timeline(), truth, strict=True):
        assert span.end_s is not None
        least += [before - span.start_s, ended - span.end_s]
        most += [began - span.start_s, after - span.end_s]
    assert max(least) <= min(most) + 0.0001


@pytest.mark.measures
def test_tasks_that_take_turns_have_their_own_samples() -> None:
    unit = rounds_per_ms()
    spent: dict[str, int] = {}

    async def job(name: str, milliseconds: int) -> None:
        with tachograph.span(name):
            for _ in range(100):
                begin = time.thread_time_ns()
                spin(unit * milliseconds)
                spent[name] = spent.get(name, 0) + time.thread_time_ns() - begin
                await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(job("short", 2), job("long", 6))

    with tachograph.record(interval_ms=1, native=False) as recording, tachograph.span("loop"):
        asyncio.run(main())

    parts = {name: recording.within(name) for name in spent}
    for name, part in parts.items():
        assert len(part.tasks()) == 1, name
    truth, found = shares(spent), shares({name: cpu_ns(part) for name, part in parts.items()})
    for name, share in truth.items():
        allowed = tolerance(share, recording.sample_count)
        assert found[name] == pytest.approx(share, abs=allowed), found
    tasks = {part.tasks()[0].name for part in parts.values()}
    assert len(tasks) == 2
    assert cpu_ns(recording.within("loop")) >= sum(map(cpu_ns, parts.values()))


@pytest.mark.measures
def test_threads_have_their_own_samples() -> None:
    unit = rounds_per_ms()
    spent: dict[str, int] = {}

    def job(name: str, milliseconds: int) -> None:
        with tachograph.span(name):
            begin = time.thread_time_ns()
            spin(unit * milliseconds)
            spent[name] = time.thread_time_ns() - begin

    with tachograph.record(interval_ms=1, native=False) as recording:
        jobs = [("light", 200), ("heavy", 600)]
        threads = [threading.Thread(target=job, args=each, name=each[0]) for each in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    parts = {name: recording.within(name) for name in spent}
    for name, part in parts.items():
        assert [row.name for row in part.threads() if row.samples] == [name]
    truth, found = shares(spent), shares({name: cpu_ns(part) for name, part in parts.items()})
    for name, share in truth.items():
        allowed = tolerance(share, recording.sample_count)
        assert found[name] == pytest.approx(share, abs=allowed), found
