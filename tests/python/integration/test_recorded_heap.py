"""Memory in recordings: beside CPU and spans, in one file, also after a kill."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import tachograph


def load() -> list[bytearray]:
    return [bytearray(5_000) for _ in range(4_000)]


def widen(rows: list[bytearray]) -> list[bytearray]:
    return [row + row for row in rows]


def own(function: str) -> str:
    return function.removesuffix(".<locals>.<listcomp>")


def test_cpu_heap_and_spans_are_in_one_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.tacho"
    with tachograph.record(path, interval_ms=1, heap_rate_kb=64) as recording:
        with tachograph.span("load"):
            rows = load()
        with tachograph.span("widen"):
            wide = widen(rows)
        del wide
        sum(i * i for i in range(300_000))

    for seen in (recording, tachograph.open(path)):
        peak = {own(row.function): row.bytes for row in seen.allocations(at="peak")}
        # 610 and 305 samples: standard errors of 1.2 and 1.7 %.
        assert peak["widen"] == pytest.approx(40_000_000, rel=0.06)
        assert peak["load"] == pytest.approx(20_000_000, rel=0.08)
        _, size = seen.peak_memory
        assert size == sum(row.bytes for row in seen.allocations(at="peak"))
        live = {own(row.function): row.bytes for row in seen.allocations(at="live")}
        assert live["load"] == pytest.approx(20_000_000, rel=0.08)
        assert live.get("widen", 0) < 2_000_000
        spans = {row.name: row for row in seen.spans()}
        assert spans["load"].live_bytes == pytest.approx(20_000_000, rel=0.1)
        assert spans["widen"].allocated_bytes >= peak["widen"]
        # Between the end of the span and `del` one more sample can come, of at most one
        # and a half periods.
        assert 0 <= size - spans["widen"].peak_bytes <= 1.5 * 64 * 1024
        left = seen.within("load").allocations(at="live")
        assert own(left[0].function) == "load"
        churn = {own(row.function): row for row in seen.allocations(at="freed")}
        assert churn["widen"].bytes == pytest.approx(40_000_000, rel=0.06)
        assert churn["widen"].median_lifetime_ns is not None
        assert seen.sample_count > 0
        text = seen.summary(width=130)
        assert "MEMORY" in text and "in span widen" in text and "RSS" in text, text
        assert seen.rss is not None
        assert seen.rss.unexplained_share <= 0.03, str(seen.rss)
    assert seen.loss["dropped_allocations"] == 0
    assert rows


def test_a_recording_without_the_heap_has_no_allocations() -> None:
    with tachograph.record(heap=False) as recording:
        rows = load()

    assert recording.allocations() == recording.leaks() == recording.memory_timeline() == []
    assert recording.rss is None
    assert "MEMORY" not in recording.summary()
    assert rows


def test_an_unknown_word_is_refused() -> None:
    with tachograph.record(heap=False) as recording:
        pass

    with pytest.raises(ValueError, match=r"at must be 'peak', 'live', 'total' or 'freed'"):
        recording.allocations(at="now")  # type: ignore[arg-type]


def test_flame_graphs_of_memory_are_drawn_by_every_measure(tmp_path: Path) -> None:
    with tachograph.record(heap_rate_kb=64) as recording:
        rows = load()

    for measure in ("live", "peak", "allocated", "blocks"):
        recording.save(tmp_path / f"{measure}.svg", measure=measure)  # type: ignore[arg-type]
        assert "load" in (tmp_path / f"{measure}.svg").read_text()
    assert rows


def live_bytes(path: Path) -> dict[str, int]:
    """Return what a recording holds, by function; nothing while it cannot be read yet."""
    try:
        rows = tachograph.open(path).allocations(at="live")
    except tachograph.RecordingError:
        return {}
    return {own(row.function): row.bytes for row in rows}


def kill_when_written(path: Path) -> float:
    """Record memory, kill the program once it is in the file; return how long that took."""
    loaded, told = os.pipe()
    child = os.fork()
    if child == 0:
        with tachograph.record(path, heap_rate_kb=64):
            rows = load()
            os.write(told, b"x")
            time.sleep(100)
            os._exit(len(rows))
    os.read(loaded, 1)
    begin = time.monotonic()
    while live_bytes(path).get("load", 0) < 0.92 * 20_000_000 and time.monotonic() < begin + 40:
        time.sleep(0.05)
    waited = time.monotonic() - begin
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(loaded)
    os.close(told)
    return waited


@pytest.mark.full_only
def test_a_killed_program_leaves_the_picture_of_its_last_batch(tmp_path: Path) -> None:
    kill_when_written(tmp_path / "killed.tacho")

    found = live_bytes(tmp_path / "killed.tacho")
    assert found["load"] == pytest.approx(20_000_000, rel=0.08)


@pytest.mark.full_only
@pytest.mark.measures
def test_what_a_killed_program_leaves_is_at_most_a_second_old(tmp_path: Path) -> None:
    waited = kill_when_written(tmp_path / "killed.tacho")

    # One second to the next batch, and another for a busy machine.
    assert waited < 2.5


@pytest.mark.full_only
def test_a_leak_is_told_and_steady_work_is_not() -> None:
    leaked: list[bytes] = []
    with tachograph.record(heap_rate_kb=16) as recording:
        begin = time.monotonic()
        while time.monotonic() < begin + 1.6 or len(leaked) < 200:
            leaked.append(bytes(20_000))
            steady = bytes(30_000)
            time.sleep(0.005)
        lasted = time.monotonic() - begin
        del steady

    leaks = recording.leaks()

    assert [own(leak.function).split(".")[-1] for leak in leaks] == [
        "test_a_leak_is_told_and_steady_work_is_not"
    ]
    assert leaks[0].bytes_per_second == pytest.approx(len(leaked) * 20_033 / lasted, rel=0.4)
