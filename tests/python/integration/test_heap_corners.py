"""What else changes the allocator: each is either seen right, or told by name.

Each in a program of its own, since most of it cannot be taken back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

TARGETS = Path(__file__).parents[2] / "targets"
RATE = 64 * 1024
# Thirty thousand objects, of 500 bytes in most builds, and the list that keeps them.
TRUTH = 30_000 * sys.getsizeof(bytes(467)) + 250_000

# What `PYTHONMALLOC` can be; a build without the lock has no allocator but mimalloc.
ALLOCATORS = ["debug"]
if not sysconfig.get_config_var("Py_GIL_DISABLED"):
    ALLOCATORS += ["pymalloc", "malloc", "pymalloc_debug", "malloc_debug"]
if sysconfig.get_config_var("WITH_MIMALLOC"):
    ALLOCATORS += ["mimalloc", "mimalloc_debug"]

PROLOGUE = """
import json, sys, time, tracemalloc
sys.path.insert(0, {targets!r})
import tachograph
import tachograph.memprof as memprof

def keep(): return [bytes(467) for _ in range(30_000)]

# What the interpreter needs to find so many objects, it makes once and never gives back.
len([keep(), keep()])

def held(name="keep"):
    sites = memprof.get_snapshot().top_allocators(10_000)
    own = [s for s in sites if s["function"].removesuffix(".<locals>.<listcomp>") == name]
    return sum(site["estimated_bytes"] for site in own)
"""


def told_by(script: str, **variables: str) -> Any:
    """Run `script` and return the JSON it prints."""
    text = PROLOGUE.format(targets=str(TARGETS)) + script
    found = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def is_near(found: int, least: int, most: int | None = None) -> bool:
    """Tell whether `found` is within five standard errors of what was held.

    Nine samples in ten are the site's: the others are numbers that the loop drops.
    """
    error = 5 * sqrt((1 / 12 + 0.1) / (least / RATE))
    return least * (1 - error) <= found <= (most or least) * (1 + error)


@pytest.mark.parametrize("kind", ALLOCATORS)
def test_objects_count_once_with_every_allocator_of_the_interpreter(kind: str) -> None:
    script = """
memprof.start(64)
kept = keep()
first = held()
del kept
print(json.dumps([first, held(), memprof.get_snapshot().notes]))
"""
    first, after, notes = told_by(script, PYTHONMALLOC=kind)

    # Debugging adds 32 bytes to each, which makes them too large for an arena: where they
    # are blocks of malloc, so are these bytes.
    more = 30_000 * 32 if "debug" in kind else 0
    assert is_near(first, TRUTH, TRUTH + more), first
    assert after == 0
    assert notes == []


def test_tracemalloc_that_is_started_later_does_not_disturb() -> None:
    script = """
memprof.start(64)
tracemalloc.start()
kept = keep()
traced, _ = tracemalloc.get_traced_memory()
tracemalloc.stop()
kept += keep()
both = held()
del kept
print(json.dumps([traced, both, held(), memprof.get_snapshot().notes]))
"""
    traced, both, after, notes = told_by(script)

    assert traced >= TRUTH - 100_000
    assert is_near(both, 2 * TRUTH)
    assert after == 0
    assert notes == []


def test_tracemalloc_that_was_started_first_is_named_when_it_takes_the_hooks_out() -> None:
    script = """
tracemalloc.start()
with tachograph.record(heap_rate_kb=64) as recording:
    before = keep()
    tracemalloc.stop()
    unseen = keep()
notes = [note.text for note in recording.notes]
memprof.start(64)
again = keep()
print(json.dumps([notes, held()]))
"""
    notes, again = told_by(script)

    assert any("tracemalloc.stop()" in note and "record again" in note for note in notes), notes
    assert is_near(again, TRUTH), "the next start puts the hooks back"


@pytest.mark.full_only
def test_a_library_that_another_tool_left_writable_is_named(tmp_path: Path) -> None:
    script = f"""
import ctypes
from pathlib import Path
from native_blocks import NativeBlocks
native = NativeBlocks(Path({str(tmp_path)!r}))
rows = [line.split() for line in open("/proc/self/maps") if "libblocks.so" in line]
# What the loader made read-only last lies before what stays writable.
place = [row[0] for row, after in zip(rows, rows[1:]) if after[1] == "rw-p"][0]
start, end = (int(part, 16) for part in place.split("-"))
libc = ctypes.CDLL(None)
assert libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(end - start), 3) == 0
memprof.start(64)
native.keep(5_000, 2_000, how="without the lock")
kept = keep()
# Loading a library may leave it writable for a while; after seconds that is no loading.
end = time.monotonic() + 40
while not memprof.get_snapshot().notes and time.monotonic() < end:
    time.sleep(0.1)
print(json.dumps([held("NativeBlocks.keep"), held(), memprof.get_snapshot().notes]))
"""
    native, own, notes = told_by(script)

    assert native == 0, "it is left alone"
    assert is_near(own, TRUTH), "everything else is seen"
    assert len(notes) == 1
    assert "libblocks.so" in notes[0] and "left memory writable" in notes[0]


def test_threads_that_end_soon_are_neither_missed_nor_counted_twice(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from native_blocks import NativeBlocks
native = NativeBlocks(Path({str(tmp_path)!r}))
memprof.start(64)
size = sum(native.keep(20, 500, how="in a thread of C") for _ in range(5_000))
found = held("NativeBlocks.keep")
native.drop()
print(json.dumps([size, found, held("NativeBlocks.keep")]))
"""
    size, found, after = told_by(script)

    # Each thread allocates a sixth of what lies between two samples, so each is taken
    # or not by itself: 763 samples, less a sixth of their variance.
    error = 5 * sqrt((1 - 10_000 / RATE) / (size / RATE))
    assert found == pytest.approx(size, rel=error)
    assert after == 0


def test_stacks_that_find_no_room_at_once_are_counted_and_told() -> None:
    script = """
def functions(first):
    names = [f"f{i}" for i in range(first, first + 20_000)]
    space = {}
    exec("".join(f"def {name}(): return bytearray(200_000)\\n" for name in names), space)
    return [space[name] for name in names]

memprof.start(1)
made, stats = 0, memprof.get_stats()
# If the collector is quick, all of them find room; it will not be each time.
while stats.dropped_samples < 1_000 and made < 400_000:
    for function in functions(made):
        function()
    made += 20_000
    stats = memprof.get_stats()
kept = keep()
counts = stats.total_samples, stats.dropped_samples, stats.effective_rate_bytes
print(json.dumps([made, *counts, held()]))
"""
    made, taken, dropped, rate, found = told_by(script)

    # Each block is larger than the rate, so each is a sample: taken, or lost and told.
    assert taken + dropped >= made
    assert dropped >= 1_000
    assert rate > 1024
    assert found == pytest.approx(TRUTH, rel=0.1), "what comes later is seen again"


def test_a_fork_that_waits_for_threads_that_allocate_goes_on(tmp_path: Path) -> None:
    script = f"""
import os
from pathlib import Path
from native_blocks import NativeBlocks
native = NativeBlocks(Path({str(tmp_path)!r}))
native.keep_at_fork(1_000, 2_000)
memprof.start(1)
child = os.fork()
if child == 0:
    memprof.start(1)
    native.keep(1_000, 2_000)
    seen = memprof.get_snapshot().estimated_heap_bytes
    os._exit(not 1_900_000 < seen < 2_400_000)
in_child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps([in_child, memprof.get_snapshot().estimated_heap_bytes]))
"""
    in_child, seen = told_by(script)

    assert in_child == 0, "a child begins afresh"
    # Each block is larger than one and a half times the rate, so each is a sample.
    assert seen >= 2_000_000, "what the thread kept is seen"


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="sampled in place, so still hooked"
)
def test_the_interpreter_has_its_own_allocators_again_when_nobody_samples() -> None:
    script = """
import ctypes, os
def functions():
    found = []
    for domain in (1, 2):
        table = (ctypes.c_void_p * 5)()
        ctypes.pythonapi.PyMem_GetAllocator(domain, table)
        found.append(list(table))
    return found

before = functions()
memprof.start(64)
with tachograph.record():
    kept = keep()
    memprof.stop()
    during = functions()
after = functions()
first = held()
del kept
gone = held()
memprof.start(64)
kept = keep()
again = held()
child = os.fork()
if child == 0:
    memprof.start(64)
    memprof.stop()
    os._exit(functions() != before)
in_child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
tracemalloc.start()
memprof.stop()
under = functions()
tracemalloc.stop()
print(json.dumps([before, during, after, under, in_child, first, gone, again]))
"""
    before, during, after, under, in_child, first, gone, again = told_by(script)

    assert during != before, "a recording still samples"
    assert after == before
    assert under != before, "what stands around ours stays"
    assert in_child == 0, "a child has none of its parent's wishes"
    assert is_near(first, TRUTH), "what was sampled is still known"
    assert gone == 0, "and its end is seen"
    assert is_near(again, TRUTH)
