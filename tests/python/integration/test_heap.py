"""Memory is attributed to the line that holds it, whoever allocates and however.

Sampling gaps are uniform between half and one and a half of the rate, so the
estimate of a site with n samples has a relative standard error of sqrt(1/12/n)
when it allocates alone. Where other allocations come in between, such as the
numbers that a loop makes and drops, a sample is the site's with a chance p, and
that adds (1-p)/n to the variance. Limits are at least four standard errors.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import mmap
import os
import sys
import threading
import time
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import children
import hidden_leak
import known_peak
import pytest
import tachograph
import tachograph.memprof as memprof
from native_blocks import NativeBlocks

RATE_KB = 64


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> NativeBlocks:
    return NativeBlocks(tmp_path_factory.mktemp("native"))


@pytest.fixture(autouse=True)
def stopped_afterwards() -> Iterator[None]:
    gc.collect()
    yield
    memprof.stop()


def held_by(name: str, snapshot: memprof.HeapSnapshot | None = None) -> int:
    """Return the live bytes of the sites in functions whose name ends so."""
    snapshot = snapshot or memprof.get_snapshot()
    sites = snapshot.top_allocators(10_000)
    return sum(s["estimated_bytes"] for s in sites if last_part(s["function"]) == name)


def last_part(function: str) -> str:
    """Return a function's own name; up to 3.11 a comprehension is a function inside it."""
    return function.removesuffix(".<locals>.<listcomp>").split(".")[-1]


def error_of(size: int, rate_kb: int = RATE_KB) -> float:
    """Return four standard errors of an estimate of `size` bytes."""
    return 4 * sqrt(rate_kb * 1024 / size / 12)


def test_a_known_peak_is_found_with_its_sites_and_sizes() -> None:
    memprof.start(RATE_KB)
    known_peak.run()

    peak = memprof.get_snapshot().at_peak

    assert peak is not None
    assert held_by("images", peak) == pytest.approx(known_peak.IMAGES, rel=0.05)
    assert held_by("labels", peak) == pytest.approx(known_peak.LABELS, rel=0.08)
    assert held_by("buffers", peak) == 0
    whole = known_peak.IMAGES + known_peak.LABELS
    assert peak.estimated_heap_bytes == pytest.approx(whole, rel=0.05)
    assert all(sample.address == 0 for sample in peak.samples)
    assert held_by("images") < 1_000_000


def test_a_small_object_leak_in_recycled_arenas_is_told_at_its_own_line() -> None:
    hidden_leak.kept.clear()
    memprof.start(RATE_KB)
    hidden_leak.warm_up()
    hidden_leak.leak()

    snapshot = memprof.get_snapshot()

    truth = hidden_leak.COUNT * hidden_leak.EACH
    # The list that keeps them grows at the same line and counts as well.
    held = held_by("leak", snapshot)
    assert held == pytest.approx(truth, rel=0.25), snapshot.top_allocators(4)
    assert snapshot.top_allocators(1)[0]["function"] == "leak"
    assert held_by("warm_up", snapshot) < truth / 10
    hidden_leak.kept.clear()


def test_live_bytes_of_large_sites_are_within_a_tenth() -> None:
    def small() -> list[bytes]:
        return [bytes(100) for _ in range(280_000)]

    def middle() -> list[bytearray]:
        return [bytearray(5_000) for _ in range(2_000)]

    def large() -> list[bytearray]:
        return [bytearray(1_000_000) for _ in range(10)]

    memprof.start(RATE_KB)
    kept: list[Any] = [small(), middle(), large()]
    snapshot = memprof.get_snapshot()

    # The list itself stands at the same line. Four samples in five are the site's,
    # so of its 600 samples the standard error is 2.2 %.
    truth = 280_000 * sys.getsizeof(bytes(100)) + sys.getsizeof(kept[0])
    assert held_by("small", snapshot) == pytest.approx(truth, rel=0.1)
    # 152 samples, nearly alone: 2.6 %.
    assert held_by("middle", snapshot) == pytest.approx(2_000 * 5_001, rel=0.1)
    assert held_by("large", snapshot) == pytest.approx(10 * 1_000_001, rel=0.01)


@pytest.mark.parametrize("how", ["with the lock", "without the lock", "in a thread of C"])
def test_blocks_of_c_belong_to_the_line_that_asked_for_them(native: NativeBlocks, how: str) -> None:
    memprof.start(RATE_KB)
    size = native.keep(5_000, 2_000, how=how)
    snapshot = memprof.get_snapshot()
    native.drop()

    # A thread that Python never saw stands under the line that made it.
    found = held_by("keep", snapshot)
    assert found == pytest.approx(size, rel=error_of(size)), snapshot.top_allocators(4)
    assert held_by("keep") == 0


def test_blocks_that_are_resized_count_with_their_new_size(native: NativeBlocks) -> None:
    memprof.start(RATE_KB)
    native.keep(5_000, 1_000, how="without the lock")
    native.resize(4_000)
    snapshot = memprof.get_snapshot()
    native.drop()

    found = held_by("keep", snapshot) + held_by("resize", snapshot)
    assert found == pytest.approx(20_000_000, rel=error_of(20_000_000))
    assert held_by("resize") == 0


def test_buffers_of_numpy_are_seen() -> None:
    numpy = pytest.importorskip("numpy")

    def arrays() -> Any:
        return [numpy.zeros(10_000) for _ in range(200)]

    memprof.start(RATE_KB)
    kept = arrays()
    snapshot = memprof.get_snapshot()

    size = 200 * 80_000
    assert held_by("arrays", snapshot) == pytest.approx(size, rel=0.1)
    del kept
    assert held_by("arrays") < size / 20


def test_memory_that_was_never_touched_is_live_but_not_resident() -> None:
    memprof.start(RATE_KB)
    # Zeros that the kernel has not brought yet. An object of that size would be served
    # from what other tests have touched on a build without the lock.
    kept = mmap.mmap(-1, 200_000_000)
    snapshot = memprof.get_snapshot()

    assert snapshot.estimated_heap_bytes >= 200_000_000
    rss = snapshot.rss
    assert rss is not None
    assert rss.sites < 20_000_000, rss
    del kept


def test_the_resident_size_is_explained() -> None:
    memprof.start(RATE_KB)
    kept: list[Any] = [[bytes(500) for _ in range(40_000)], bytearray(b"x" * 50_000_000)]
    dropped = [bytes(700) for _ in range(40_000)]
    del dropped
    rss = memprof.get_snapshot().rss
    del kept

    assert rss is not None
    parts = (rss.sites, rss.before_start, rss.allocator_slack, rss.free_room)
    parts += (rss.mapped_files, rss.stacks, rss.profiler)
    assert sum(parts) + rss.unexplained == rss.resident
    assert rss.sites == pytest.approx(72_000_000, rel=0.1)
    assert rss.unexplained_share <= 0.03, str(rss)


def test_threads_and_tasks_are_seen() -> None:
    kept: list[Any] = []

    def in_thread() -> None:
        kept.append([bytearray(2_000) for _ in range(5_000)])

    async def in_task() -> None:
        await asyncio.sleep(0)
        kept.append([bytearray(2_000) for _ in range(5_000)])

    async def main() -> None:
        await asyncio.gather(in_task())

    memprof.start(RATE_KB)
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    asyncio.run(main())
    snapshot = memprof.get_snapshot()

    for name in ("in_thread", "in_task"):
        found = held_by(name, snapshot)
        assert found == pytest.approx(10_000_000, rel=0.2), snapshot.top_allocators(4)


def test_a_forked_child_begins_afresh_and_the_parent_goes_on() -> None:
    def keep() -> list[bytearray]:
        return [bytearray(2_000) for _ in range(5_000)]

    def child() -> None:
        assert not memprof._running
        with memprof.MemoryProfiler(RATE_KB) as profiler:
            kept = keep()
        assert profiler.snapshot is not None
        found = profiler.snapshot.estimated_heap_bytes
        assert 8_000_000 < found < 12_500_000, profiler.snapshot.top_allocators(4)
        del kept

    memprof.start(RATE_KB)
    kept = keep()
    assert children.in_forked_child(child) == 0
    kept += keep()

    assert memprof.get_snapshot().estimated_heap_bytes == pytest.approx(20_000_000, rel=0.15)


def test_what_an_import_allocates_belongs_to_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heavy_module.py").write_text("TABLE = [bytes(2_000) for _ in range(5_000)]\n")
    monkeypatch.syspath_prepend(tmp_path)

    memprof.start(RATE_KB)
    importlib.import_module("heavy_module")
    top = memprof.get_snapshot().top_allocators(1)[0]
    del sys.modules["heavy_module"]

    assert os.path.basename(top["file"]) == "heavy_module.py"
    assert top["estimated_bytes"] == pytest.approx(10_000_000, rel=0.15)


def test_a_destructor_that_allocates_is_named() -> None:
    kept: list[bytearray] = []

    class Last:
        def __del__(self) -> None:
            kept.extend([bytearray(2_000_000)] * 1)

    memprof.start(RATE_KB)
    for _ in range(5):
        Last()
    gc.collect()

    assert held_by("__del__") == pytest.approx(10_000_000, rel=0.02)


def test_a_second_start_leaves_earlier_blocks_out() -> None:
    def keep() -> bytearray:
        return bytearray(5_000_000)

    memprof.start(RATE_KB)
    first = keep()
    memprof.stop()
    memprof.start(512)
    assert held_by("keep") == 0
    second = keep()
    del first

    assert held_by("keep") == pytest.approx(5_000_000, abs=100)
    assert memprof.get_stats().sampling_rate_bytes == 512 * 1024
    del second


def test_differences_name_what_grew_and_what_went() -> None:
    def grows() -> bytearray:
        return bytearray(4_000_000)

    def goes() -> bytearray:
        return bytearray(3_000_000)

    memprof.start(RATE_KB)
    going = goes()
    before = memprof.get_snapshot()
    growing = grows()
    del going
    after = memprof.get_snapshot()
    del growing

    changes = memprof.diff(before, after)
    grown, gone = changes[0], changes[-1]
    assert (last_part(grown.function), last_part(gone.function)) == ("grows", "goes")
    assert grown.change_bytes == pytest.approx(4_000_000, abs=100)
    assert gone.change_bytes == pytest.approx(-3_000_000, abs=100)


def test_asking_before_the_start_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memprof, "_door", None)
    monkeypatch.setattr(memprof, "_last", None)
    monkeypatch.setattr(memprof, "_last_stats", None)
    for ask in (memprof.get_snapshot, memprof.get_stats, memprof.leaks):
        with pytest.raises(RuntimeError, match=r"call memprof\.start\(\) first"):
            ask()


def test_the_cpu_profiler_runs_beside() -> None:
    def churn() -> None:
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            [bytearray(1_000) for _ in range(200)]

    tachograph.start(interval_ms=1)
    memprof.start(RATE_KB)
    kept = bytearray(9_000_000)
    churn()
    profile = tachograph.stop()
    snapshot = memprof.get_snapshot()

    assert snapshot.estimated_heap_bytes == pytest.approx(9_000_000, rel=0.1)
    assert any("churn" in f.function_name for s in profile.samples for f in s.frames)
    del kept


def test_a_profiler_of_memory_takes_no_spans() -> None:
    memprof.start(sampling_rate_kb=RATE_KB)
    with tachograph.span("unseen") as during:
        pass
    with tachograph.record(heap=False, machine=False) as recording, tachograph.span("seen"):
        pass
    memprof.stop()
    with tachograph.span("unseen") as after:
        pass

    # It follows frees for as long as the program runs; spans must not pile up in it.
    assert (during.elapsed_ns, after.elapsed_ns) == (0, 0)
    assert [row.name for row in recording.spans()] == ["seen"]
