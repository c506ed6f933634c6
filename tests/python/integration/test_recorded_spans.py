"""Spans in recordings of real programs, on every interpreter."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import children
import pytest
import tachograph
from clockwork import rounds_per_ms, spin
from programs import TARGETS, Programs


def spans_of(recording: tachograph.Recording) -> dict[str, tachograph.RecordedSpan]:
    """Return the spans by name; each name occurs once."""
    spans = {span.name: span for span in recording.timeline()}
    assert len(spans) == len(list(recording.timeline()))
    return spans


def open_spans(recording: tachograph.Recording) -> dict[str, int]:
    """Return how many spans of each name had not ended."""
    return {row.name: row.open for row in recording.spans()}


def test_what_was_attached_and_how_it_ended_is_recorded() -> None:
    given = {"size": 32, "rate": 0.5, "source": "disk", "warm": True, "rest": None}
    with (
        tachograph.record() as recording,
        tachograph.span("outer", **given),
        pytest.raises(ZeroDivisionError),
        tachograph.span("inner"),
    ):
        _ = 1 / 0

    spans = spans_of(recording)
    outer, inner = spans["outer"], spans["inner"]
    assert outer.attributes == given
    assert (outer.failed, inner.failed) == (False, True)
    assert inner.parent == outer
    assert inner.path == "outer/inner"
    assert (outer.thread, outer.task) == (threading.current_thread().name, None)


def test_recursion_is_one_row() -> None:
    def walk(depth: int) -> None:
        with tachograph.span("walk"):
            if depth:
                walk(depth - 1)

    with tachograph.record() as recording:
        walk(20)

    (row,) = recording.spans()
    assert (row.name, row.count, row.depth) == ("walk", 21, 0)
    assert row.total_ns == row.max_ns


def test_tasks_know_the_span_they_were_made_in() -> None:
    async def child(name: str) -> None:
        with tachograph.span(name):
            await asyncio.sleep(0.005)
            with tachograph.span(f"{name} inner"):
                await asyncio.sleep(0.005)

    async def main() -> None:
        with tachograph.span("main"):
            tasks = [asyncio.create_task(child(name), name=f"task {name}") for name in "ab"]
            await asyncio.gather(*tasks)

    with tachograph.record() as recording:
        asyncio.run(main())

    spans = spans_of(recording)
    assert {span.path for span in spans.values()} == {
        "main",
        "main/a",
        "main/b",
        "main/a/a inner",
        "main/b/b inner",
    }
    assert spans["a"].task == spans["a inner"].task == "task a"
    assert spans["b"].task == "task b"
    assert spans["main"].thread == spans["a"].thread == threading.current_thread().name


def test_a_task_that_outlives_its_span_is_not_inside_it() -> None:
    async def late() -> None:
        await asyncio.sleep(0.02)
        with tachograph.span("late"):
            pass

    async def main() -> None:
        with tachograph.span("early"):
            task = asyncio.create_task(late())
        await task

    with tachograph.record() as recording:
        asyncio.run(main())

    assert spans_of(recording)["late"].parent is None


def test_spans_of_threads_that_come_and_go_are_all_there() -> None:
    def job(number: int) -> None:
        with tachograph.span("job", number=number):
            pass

    with tachograph.record() as recording:
        for start in range(0, 100, 10):
            threads = [
                threading.Thread(target=job, args=(start + i,), name=f"w{start + i}")
                for i in range(10)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    numbers = sorted(span.attributes["number"] for span in recording.timeline())  # type: ignore[type-var]
    assert numbers == list(range(100))


def test_every_one_of_200_000_spans_is_kept_or_counted() -> None:
    count = 200_000
    span = tachograph.span
    with tachograph.record() as recording:
        for _ in range(count):
            with span("tiny"):
                pass

    kept = sum(row.count for row in recording.spans())
    assert kept + recording.loss["dropped_spans"] == count
    assert kept > 0
    assert sum(row.open for row in recording.spans()) == 0
    if recording.loss["dropped_spans"]:
        told = " ".join(recording.summary().split())
        assert "spans dropped for lack of room" in told


def test_spans_of_many_threads_at_once_are_kept_or_counted() -> None:
    def job() -> None:
        for _ in range(5_000):
            with tachograph.span("outer"), tachograph.span("inner"):
                pass

    with tachograph.record() as recording, concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(job) for _ in range(8)]:
            done.result()

    rows = {row.path: row for row in recording.spans()}
    dropped = recording.loss["dropped_spans"]
    assert sum(row.count for row in rows.values()) + dropped == 80_000
    if not dropped:
        assert set(rows) == {"outer", "outer/inner"}


def test_windows_that_overlap_each_have_their_own_spans() -> None:
    with tachograph.record() as outer:
        with tachograph.span("before"):
            pass
        around = tachograph.span("around")
        around.__enter__()
        time.sleep(0.002)
        with tachograph.record() as inner, tachograph.span("inside"):
            pass
        around.__exit__(None, None, None)
        last = tachograph.span("last")
        last.__enter__()
    last.__exit__(None, None, None)

    assert set(spans_of(inner)) == {"inside"}
    assert spans_of(inner)["inside"].parent is None
    spans = spans_of(outer)
    assert set(spans) == {"before", "around", "inside", "last"}
    assert spans["inside"].path == "around/inside"
    assert spans["last"].end_s is None
    assert open_spans(outer)["last"] == 1


KILLED = """
import os, signal, sys, time
import tachograph

with tachograph.record(sys.argv[1]):
    with tachograph.span("job", number=7):
        with tachograph.span("finished"):
            pass
        with tachograph.span("running"):
            print("ready", flush=True)
            time.sleep(100)
"""


def has_span(path: Path, name: str) -> bool:
    """Tell whether the recording under way can be read and has a span of that name."""
    try:
        return any(span.name == name for span in tachograph.open(path).timeline())
    except tachograph.RecordingError:
        return False


def test_a_killed_program_leaves_the_spans_it_had_begun(tmp_path: Path) -> None:
    path = tmp_path / "killed.tacho"
    program = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(TARGETS)},
    )
    assert program.stdout is not None
    program.stdout.readline()
    # It writes once a second; where nothing came for long, nothing is there to be found.
    end = time.monotonic() + 40
    while not has_span(path, "running") and time.monotonic() < end:
        time.sleep(0.1)
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()

    recording = tachograph.open(path)

    spans = spans_of(recording)
    assert spans["job"].end_s is None
    assert spans["job"].attributes == {"number": 7}
    assert spans["finished"].end_s is not None
    assert (spans["running"].end_s, spans["running"].path) == (None, "job/running")
    assert open_spans(recording)["running"] == 1


def test_a_forked_child_does_not_write_to_its_parents_recording() -> None:
    def child() -> None:
        with tachograph.span("in the child"):
            pass
        with tachograph.record() as own, tachograph.span("its own"):
            pass
        assert [span.name for span in own.timeline()] == ["its own"]

    with tachograph.record() as recording:
        with tachograph.span("around"):
            assert children.in_forked_child(child) == 0
        with tachograph.span("after"):
            pass

    assert set(spans_of(recording)) == {"around", "after"}


def test_a_span_left_open_by_an_exiting_program_is_in_its_file(programs: Programs) -> None:
    programs.text(
        "import tachograph\n"
        "with tachograph.record('run.tacho'):\n"
        "    tachograph.span('open').__enter__()\n"
    )

    recording = tachograph.open(programs.folder / "run.tacho")

    assert spans_of(recording)["open"].end_s is None


def test_narrowing_to_a_span_leaves_other_threads_out() -> None:
    unit = rounds_per_ms()

    def background() -> None:
        spin(unit * 300)

    with tachograph.record(interval_ms=1) as recording:
        thread = threading.Thread(target=background, name="background")
        thread.start()
        with tachograph.span("front"):
            spin(unit * 200)
        thread.join()

    part = recording.within("front")
    assert 0 < part.sample_count < recording.sample_count
    assert {row.name for row in part.threads() if row.samples} == {threading.current_thread().name}
