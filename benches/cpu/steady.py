"""Runs one workload for some seconds and prints how long its windows took.

Profilers that wrap a program, or look at it from outside, are measured with it:
run once alone, once under the profiler, and compare.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median

import workloads


def main(name: str, seconds: str) -> None:
    workload = workloads.make(name)
    work = workload.work
    # Under a profiler the window has the size it had without.
    units = int(sys.argv[3]) if len(sys.argv) > 3 else workload.units
    walls = []
    cpu = time.process_time()
    end = time.perf_counter() + float(seconds)
    while time.perf_counter() < end:
        begin = time.perf_counter()
        work(units)
        walls.append(time.perf_counter() - begin)
    cpu = time.process_time() - cpu
    result = {"wall": median(walls), "cpu": cpu / len(walls), "units": units}
    with open("steady.json", "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(*sys.argv[1:3])
