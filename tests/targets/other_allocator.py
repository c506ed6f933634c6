"""Keeps, resizes, drops and leaks memory, and prints what the profiler told of it.

Run with another allocator in `LD_PRELOAD`. The argument is a folder to build in.
Right answers: `held` and `resized` are what the program holds, everything is 0 once it
was dropped, and the only leak is `leaky`'s.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import tachograph.memprof as memprof
from native_blocks import NativeBlocks

RATE_KB = 64
OBJECTS, EACH = 30_000, 300
BLOCKS, SIZE = 10_000, 1_000
LARGE = 3_000_000

leaked: list[bytes] = []


def objects() -> list[bytes]:
    return [bytes(EACH - 33) for _ in range(OBJECTS)]


def large() -> list[bytearray]:
    return [bytearray(LARGE - 1) for _ in range(5)]


def leaky() -> None:
    leaked.append(bytes(40_000))


def held() -> dict[str, int]:
    """Return live bytes by the last part of the function's name."""
    found: dict[str, int] = {}
    for site in memprof.get_snapshot().top_allocators(10_000):
        name = site["function"].removesuffix(".<locals>.<listcomp>").split(".")[-1]
        found[name] = found.get(name, 0) + site["estimated_bytes"]
    return found


def main() -> None:
    native = NativeBlocks(Path(sys.argv[1]))
    memprof.start(RATE_KB)
    kept = objects()
    wide = large()
    native.keep(BLOCKS, SIZE, how="without the lock")
    native.keep(BLOCKS, SIZE, how="in a thread of C")
    answer: dict[str, object] = {"held": held()}
    native.resize(2 * SIZE)
    answer["resized"] = held()
    native.drop()
    del kept, wide
    answer["dropped"] = held()
    memprof.stop()
    memprof.start(RATE_KB)
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        leaky()
        short = bytes(50_000)
        del short
        time.sleep(0.002)
    answer["leaks"] = [row.function for row in memprof.leaks()]
    stats = memprof.get_stats()
    answer["lost"] = stats.dropped_samples
    answer["notes"] = memprof.get_snapshot().notes
    memprof.shutdown()
    print(json.dumps(answer))


main()
