"""Runs work in several threads under the recorder and says what came of it.

A stress program passes when it ends: no crash, no hang, nothing but exit status
0. What it prints is for the person who looks into a failure.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import threading
import time
import warnings
from collections.abc import Callable

import tachograph


def seconds_asked(description: str) -> float:
    """Return the value of `--seconds`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to go on")
    return parser.parse_args().seconds


class Session:
    """One recording over a part of the time, with its figures."""

    def __init__(self, name: str, *, native: bool = False, **settings: object) -> None:
        self.name = name
        self.native = native and tachograph.native_unwinding_available()
        self.settings = settings

    def over(self, work: Callable[[], int]) -> None:
        """Record while `work` runs; print what both did."""
        tachograph.set_native_unwinding(self.native)
        begin = time.perf_counter()
        tachograph.start(**self.settings)  # type: ignore[arg-type]
        done = work()
        profile = tachograph.stop()
        lasted = time.perf_counter() - begin
        frames = sum(len(sample.frames) for sample in profile.samples)
        print(
            f"{self.name:28} {lasted:6.1f} s  {done:7} pieces  {len(profile.samples):8} samples  "
            f"{frames:9} frames  {profile.dropped_count:6} lost",
            flush=True,
        )


def pieces(
    kinds: list[Callable[[], None]], seconds: float, threads: int, *, rare: list[Callable[[], None]]
) -> int:
    """Do `kinds` in `threads` threads and `rare` ones in this one; count the pieces."""
    end = time.monotonic() + seconds
    done = itertools.count()
    failures: list[BaseException] = []

    def repeat(shift: int) -> None:
        try:
            for number in itertools.count(shift):
                if time.monotonic() > end:
                    return
                kinds[number % len(kinds)]()
                next(done)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=repeat, args=(i,), name=f"work-{i}") for i in range(threads)]
    for worker in workers:
        worker.start()
    turn = itertools.cycle([*rare, *kinds])
    while time.monotonic() < end:
        next(turn)()
        next(done)
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
    return next(done)


def prepare() -> None:
    """Make a crash or a hang tell where it was."""
    faulthandler.enable()
    # Forking beside threads is the point here.
    warnings.filterwarnings("ignore", category=DeprecationWarning)
