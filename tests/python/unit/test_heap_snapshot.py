"""Snapshots of memory as plain objects, made by hand: their answers are known."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import tachograph.memprof as memprof
from tachograph._data.heap import (
    AllocationSample,
    FramePointerHealth,
    HeapSnapshot,
    MemProfStats,
    StackFrame,
)
from tachograph._data.heap_columns import picture_of, samples_of

MAIN = StackFrame(0, "main", "train.py", 9, True)
LOAD = StackFrame(0, "load", "data.py", 77, True)
MALLOC = StackFrame(0x1F40, "PyArray_New", "libnumpy.so", 0)


def sample(size: int, stack: list[StackFrame], time_ns: int = 1) -> AllocationSample:
    return AllocationSample(
        address=0x1000,
        size=size,
        weight=524288,
        estimated_bytes=size,
        timestamp_ns=time_ns,
        lifetime_ns=None,
        stack=stack,
    )


def snapshot(*samples: AllocationSample, timestamp_ns: int = 100) -> HeapSnapshot:
    return HeapSnapshot(
        samples=list(samples),
        total_samples=len(samples),
        live_samples=len(samples),
        estimated_heap_bytes=sum(s.estimated_bytes for s in samples),
        timestamp_ns=timestamp_ns,
        frame_pointer_health=FramePointerHealth(0, 3, 10.0, 10),
    )


def test_native_code_counts_for_the_line_that_called_it() -> None:
    snap = snapshot(sample(700, [MALLOC, LOAD, MAIN]), sample(100, [LOAD, MAIN]), sample(5, [MAIN]))

    top = snap.top_allocators(2)

    assert top[0] == {
        "function": "load",
        "file": "data.py",
        "line": 77,
        "estimated_bytes": 800,
        "sample_count": 2,
    }
    assert [site["function"] for site in top] == ["load", "main"]
    assert snap.top_allocators(0) == []


def test_a_stack_without_python_is_named_by_its_innermost_function() -> None:
    top = snapshot(sample(8, [MALLOC])).top_allocators()

    assert top[0]["function"] == "PyArray_New"


def test_speedscope_shows_one_profile_of_bytes_root_first(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    snapshot(sample(700, [LOAD, MAIN])).save(path)

    document = json.loads(path.read_text())

    (profile,) = document["profiles"]
    assert (profile["name"], profile["unit"], profile["endValue"]) == (
        "Memory Profile",
        "bytes",
        700,
    )
    names = [document["shared"]["frames"][i]["name"] for i in profile["samples"][0]]
    assert names == ["main", "load"]


def test_collapsed_stacks_are_bare_names_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "memory.collapsed"
    snap = snapshot(sample(700, [MALLOC, LOAD, MAIN]), sample(5, [MALLOC, LOAD, MAIN]))
    snap.save(path, format="collapsed")

    assert path.read_text() == "main;load;PyArray_New 705" == snap.to_collapsed()


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r'Unknown format "invalid".*collapsed'):
        snapshot().save(tmp_path / "x.txt", format="invalid")  # type: ignore[arg-type]


def test_a_flame_graph_by_blocks_can_be_saved(tmp_path: Path) -> None:
    snapshot(sample(700, [LOAD, MAIN])).save(tmp_path / "memory.svg", measure="blocks")

    assert "blocks allocated" in (tmp_path / "memory.svg").read_text()


def test_growth_over_the_whole_time_is_a_leak_and_growth_at_the_start_is_not() -> None:
    second = 1_000_000_000
    growing = [sample(1000, [LOAD, MAIN], i * second // 10) for i in range(100)]
    early = [sample(9000, [MAIN], i * second // 100) for i in range(100)]

    leaks = snapshot(*growing, *early, timestamp_ns=10 * second).leaks()

    assert [(leak.function, leak.line, leak.confidence) for leak in leaks] == [("load", 77, "high")]
    assert leaks[0].bytes_per_second == pytest.approx(10_000, rel=0.05)


def test_a_snapshot_made_by_hand_knows_no_peak_and_no_resident_size() -> None:
    snap = snapshot(sample(1, [MAIN]))

    assert snap.at_peak is None
    assert snap.rss is None


@pytest.mark.parametrize(
    ("shallow", "confidence"),
    [(0, "high"), (4, "high"), (5, "medium"), (19, "medium"), (20, "low")],
)
def test_confidence_follows_the_share_of_cut_stacks(shallow: int, confidence: str) -> None:
    health = FramePointerHealth(shallow, 100, 9.0, 2)

    assert health.truncation_rate == shallow / 100
    assert health.confidence == confidence
    assert bool(health.recommendation) == (confidence != "high")
    assert health.recommendation is None or "frame-pointer" in health.recommendation


def test_no_native_stacks_are_no_reason_for_doubt() -> None:
    assert FramePointerHealth(0, 0, 0.0, 0).confidence == "high"


def test_a_frame_is_printed_with_its_place() -> None:
    assert str(StackFrame(1, "f", "a.py", 42, True)) == "f (a.py:42)"
    assert str(MALLOC) == "PyArray_New (libnumpy.so)"


def test_fields_come_in_the_order_of_the_document() -> None:
    def names(of: type) -> list[str]:
        return [field.name for field in dataclasses.fields(of)]

    assert names(StackFrame) == ["address", "function", "file", "line", "is_python"]
    assert names(MemProfStats)[:8] == [
        "total_samples",
        "live_samples",
        "freed_samples",
        "unique_stacks",
        "estimated_heap_bytes",
        "heap_map_load_percent",
        "collisions",
        "sampling_rate_bytes",
    ]
    assert sample(1, []).is_live and not dataclasses.replace(sample(1, []), lifetime_ns=5).is_live


def test_the_library_for_preloading_is_named_also_when_it_is_missing() -> None:
    try:
        path = memprof.preload_path()
    except FileNotFoundError as error:
        assert "_preload.so" in str(error)
        assert "start() sees every allocator" in str(error)
    else:
        assert Path(path).is_file()


def test_samples_of_a_picture_have_every_field() -> None:
    made = snapshot(sample(700, [MALLOC, LOAD, MAIN], 3), sample(100, [LOAD, MAIN], 5))
    recorded = samples_of(picture_of(made.samples, made.timestamp_ns), rate=524288)

    # They are not made by `__init__`: equal, printable and copied like those that are.
    assert recorded == made.samples
    assert [dataclasses.replace(one) for one in recorded] == recorded
    assert repr(recorded) == repr(made.samples)
