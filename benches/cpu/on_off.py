"""Measures what recording costs, by turning it on and off inside one process.

One window is some 60 ms of fixed work. A window with the recorder on stands
between two with it off and is compared with them: on a shared machine only that
tells 1 % from nothing. Three windows that are all off, compared in the same way,
say what the noise is.

Prints JSON: per setting the wall and the process CPU ratios.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable

import workloads

Clock = tuple[float, float]


class Tachograph:
    """The recorder under test, with one set of settings."""

    def __init__(self, *, interval_ms: int, native: bool = False, trigger: str = "auto") -> None:
        import tachograph

        self.module = tachograph
        self.native = native
        self.settings = {"interval_ms": interval_ms, "trigger": trigger}

    def on(self) -> None:
        self.module.set_native_unwinding(self.native)
        self.module.start(**self.settings)

    def off(self) -> None:
        self.module.stop()


class Pyinstrument:
    """A peer that can be turned on and off in the process."""

    def __init__(self, *, interval_ms: int) -> None:
        import pyinstrument

        self.profiler = pyinstrument.Profiler(interval=interval_ms / 1000, async_mode="disabled")

    def on(self) -> None:
        self.profiler.start()

    def off(self) -> None:
        self.profiler.stop()
        self.profiler.reset()


class Nothing:
    """No profiler at all: what it shows is the noise."""

    def on(self) -> None:
        pass

    def off(self) -> None:
        pass


SETTINGS: dict[str, Callable[[], Tachograph | Pyinstrument | Nothing]] = {
    "nothing": Nothing,
    "10 ms": lambda: Tachograph(interval_ms=10),
    "1 ms": lambda: Tachograph(interval_ms=1),
    "1 ms native": lambda: Tachograph(interval_ms=1, native=True),
    "1 ms perf": lambda: Tachograph(interval_ms=1, trigger="perf"),
    "pyinstrument 10 ms": lambda: Pyinstrument(interval_ms=10),
    "pyinstrument 1 ms": lambda: Pyinstrument(interval_ms=1),
}


def window(work: Callable[[], None]) -> Clock:
    """Return the wall and the process CPU seconds of one window."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(workload: str, settings: list[str], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return the ratios of `rounds` rounds for each of `settings`."""
    prepared = workloads.make(workload)
    work = prepared.window

    def settle() -> None:
        # Starting goes on behind for some milliseconds; that is not the cost of recording.
        prepared.work(prepared.units)

    tools = {name: SETTINGS[name]() for name in settings}
    ratios: dict[str, dict[str, list[float]]] = {n: {"wall": [], "cpu": []} for n in settings}
    gc.disable()
    for turn in range(rounds):
        # In turn, so that nothing is measured at the same place of every round.
        first = turn % len(settings)
        for name in settings[first:] + settings[:first]:
            tool = tools[name]
            # Rubbish of one comparison must not slow down the next.
            gc.collect()
            settle()
            before = window(work)
            tool.on()
            settle()
            on = window(work)
            tool.off()
            settle()
            after = window(work)
            for index, clock in enumerate(("wall", "cpu")):
                off = (before[index] + after[index]) / 2
                ratios[name][clock].append(on[index] / off)
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the cost of recording, on against off.")
    parser.add_argument("workload", choices=workloads.WORKLOADS)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--setting", action="append", choices=SETTINGS, dest="settings")
    options = parser.parse_args()
    settings = options.settings or ["nothing", "10 ms", "1 ms", "1 ms native"]
    json.dump(measure(options.workload, settings, options.rounds), sys.stdout)


if __name__ == "__main__":
    main()
