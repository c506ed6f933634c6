"""Prints how long start() and a snapshot take, and how much memory the profiler has."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import tachograph.memprof as memprof


def milliseconds(work: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return (time.perf_counter() - begin) * 1e3, result


def main() -> None:
    rounds = int(sys.argv[1])
    with open("/proc/self/maps", encoding="utf-8") as maps:
        objects = {line.split()[-1] for line in maps if ".so" in line}
    found: dict[str, Any] = {"objects": len(objects)}
    found["start_ms"] = []
    for _ in range(rounds):
        found["start_ms"].append(milliseconds(memprof.start)[0])
        memprof.stop()
    memprof.start()
    kept = [bytes(500) for _ in range(100_000)]
    found["own_mb"] = memprof.get_stats().profiler_bytes / 1e6
    memprof.stop()
    del kept
    memprof.start(sampling_rate_kb=1)
    many = [bytes(2_000) for _ in range(100_000)]
    found["snapshot_ms"], found["objects_ms"] = [], []
    for _ in range(min(rounds, 9)):
        spent, snapshot = milliseconds(memprof.get_snapshot)
        found["snapshot_ms"].append(spent)
        found["objects_ms"].append(milliseconds(lambda shot=snapshot: shot.samples)[0])
    found["samples"] = snapshot.live_samples
    del many
    print(json.dumps(found))


main()
