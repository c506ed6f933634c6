"""Measures the recording of a varied program: its size, and how fast it opens and exports.

Prints JSON. The source text of the program is left out, as the promise says.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

import tachograph
import workloads

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "targets"))

import c_calls
import tasks
import torn


def varied(seconds: float) -> None:
    """Do many kinds of work: calls, imports, tasks, C, with a second thread beside."""
    end = time.monotonic() + seconds
    beside = threading.Thread(target=_beside, args=(end,), name="beside")
    beside.start()
    kinds = [workloads.make(name) for name in ("deep", "shallow", "imports", "aio200")]
    while time.monotonic() < end:
        for kind in kinds:
            kind.window()
        torn.torn_root(0.2)
        tasks.run(0.1)
    beside.join()


def _beside(end: float) -> None:
    while time.monotonic() < end:
        c_calls.run(0.05)
        time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the size of a recording; print JSON.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--native", action="store_true", help="with native frames")
    parser.add_argument("--all", action="store_true", help="with the heap and the machine too")
    options = parser.parse_args()
    sources = {"native": options.native, "heap": options.all, "machine": options.all}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "varied.tacho"
        with tachograph.record(path, interval_ms=1, source=False, **sources):
            varied(options.seconds)
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            tachograph.open(path).save(Path(folder) / "varied.json", format="speedscope")
            times.append(time.perf_counter() - begin)
        result = {
            "bytes": path.stat().st_size,
            "samples": tachograph.open(path).sample_count,
            "open_export_s": sorted(times)[2],
        }
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
