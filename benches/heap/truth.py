"""Prints how far estimates are from known answers at 64 KB, in percent, run by run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "targets"))

import hidden_leak
import known_peak
import tachograph.memprof as memprof

RATE_KB = 64


def held_by(name: str, snapshot: memprof.HeapSnapshot) -> int:
    sites = snapshot.top_allocators(10_000)
    own = [site for site in sites if site["function"].split(".")[0] == name]
    return sum(site["estimated_bytes"] for site in own)


def off(found: float, truth: float) -> float:
    return abs(found / truth - 1) * 100


def site() -> list[bytes]:
    return [bytes(67) for _ in range(90_000)]


def main() -> None:
    names = ("peak, 60 MB site", "peak, whole", "site of 9 MB", "resident size", "hidden leak")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for _ in range(int(sys.argv[1])):
        with memprof.MemoryProfiler(RATE_KB):
            known_peak.run()
            peak = memprof.get_snapshot().at_peak
        assert peak is not None
        found[names[0]].append(off(held_by("images", peak), known_peak.IMAGES))
        whole = known_peak.IMAGES + known_peak.LABELS
        found[names[1]].append(off(peak.estimated_heap_bytes, whole))
        with memprof.MemoryProfiler(RATE_KB) as profiler:
            kept = site()
        assert profiler.snapshot is not None
        truth = 90_000 * 100 + sys.getsizeof(kept)
        found[names[2]].append(off(held_by("site", profiler.snapshot), truth))
        rss = profiler.snapshot.rss
        assert rss is not None
        found[names[3]].append(rss.unexplained_share * 100)
        del kept
        hidden_leak.kept.clear()
        with memprof.MemoryProfiler(RATE_KB) as profiler:
            hidden_leak.warm_up()
            hidden_leak.leak()
        assert profiler.snapshot is not None
        found[names[4]].append(profiler.snapshot.top_allocators(1)[0]["function"])
    print(json.dumps(found))


main()
