"""What one reading of the devices costs, and one measurement on a stream.

Run with `python benches/monitors/devices.py`. Both are measured against the
stand-in drivers of the tests, which answer at once: the figures are our own
part. What a real driver adds was not measured, because there was none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

STAND_INS = Path(__file__).parents[2] / "tests" / "stand_ins"
CALLS = 2_000
ROUNDS = 7


def per_call_us(work: Callable[[], object]) -> float:
    """Return the fastest of a few rounds: other programs only ever add time."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            work()
        best = min(best, (time.perf_counter_ns() - start) / CALLS / 1e3)
    return best


def measure() -> None:
    """Print the costs; the environment names the stand-ins."""
    import machine
    from tachograph import _native
    from tachograph.profiler import CUDATimer, MemoryTracker

    def block(timer: CUDATimer) -> Callable[[], None]:
        def run() -> None:
            with timer.measure("block"):
                pass

        return run

    def tracked() -> None:
        with tracker.track("block"):
            pass

    tracker = MemoryTracker(track_allocations=False, track_timeline=False)
    devices = len(_native.gpu_readings())
    reading = per_call_us(_native.gpu_readings)
    before = per_call_us(block(CUDATimer(enabled=False)))
    print(
        f"one reading of {devices} devices        {reading:8.2f} µs  ({reading / devices:.2f} each)"
    )
    print(f"a block on the wall clock       {before:8.2f} µs")
    machine.cuda.stand_in_make_context(0)
    print(f"a block timed by two events     {per_call_us(block(CUDATimer())):8.2f} µs, waiting")
    lazy = CUDATimer(synchronize=False)
    print(f"                                {per_call_us(block(lazy)):8.2f} µs, not waiting")
    print(f"a block of MemoryTracker.track  {per_call_us(tracked):8.2f} µs")


def main() -> None:
    """Build the stand-ins and measure in a process that finds them."""
    if "TACHOGRAPH_NVML_LIBRARY" in os.environ:
        measure()
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        for name in ("nvml", "cuda"):
            library = str(Path(folder) / f"{name}.so")
            source = str(STAND_INS / f"{name}.c")
            subprocess.run(
                ["gcc", "-O2", "-shared", "-fPIC", "-pthread", "-o", library, source], check=True
            )
            environment[f"TACHOGRAPH_{name.upper()}_LIBRARY"] = library
        paths = [str(STAND_INS), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        subprocess.run([sys.executable, __file__], env=environment, check=True)


if __name__ == "__main__":
    main()
