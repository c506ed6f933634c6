"""Measures how true the recorder's answers are, on programs that know the right one.

Run as a program it measures one case and prints JSON: `truth.py CASE`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TARGETS = Path(__file__).parents[2] / "tests" / "targets"
sys.path.insert(0, str(TARGETS))

import answers  # noqa: E402
import beat  # noqa: E402
import by_thread  # noqa: E402
import c_calls  # noqa: E402
import foreign_threads  # noqa: E402
import kernel_time  # noqa: E402
import raw_poll  # noqa: E402
import short_calls  # noqa: E402
import short_functions  # noqa: E402
import sleep_mix  # noqa: E402
import split  # noqa: E402
import tachograph  # noqa: E402
import torn  # noqa: E402
from clockwork import shares, spin  # noqa: E402


def recorded(work: Callable[[], Any], **settings: Any) -> tuple[Any, Any]:
    tachograph.start(**settings)
    truth = work()
    return truth, tachograph.stop()


def largest_error(truth: dict[str, Any], seen: dict[str, Any]) -> float:
    """Return the largest error of any share, in points."""
    right, found = shares(truth), shares(seen)
    return max(100 * abs(found.get(name, 0) - share) for name, share in right.items())


def by_function(work: Callable[[], Any], names: tuple[str, ...], **settings: Any) -> float:
    truth, profile = recorded(work, **settings)
    return largest_error(truth, answers.weight_by_function(profile, names))


def short_error(trigger: str, seconds: float) -> float:
    before = short_functions.own_ns()
    settings = {"interval_ms": 1, "trigger": trigger}
    _, profile = recorded(lambda: short_functions.run(seconds), **settings)
    right = short_functions.truth(before, short_functions.own_ns())
    return largest_error(right, answers.weight_by_function(profile, short_functions.NAMES))


def call_error(trigger: str, seconds: float) -> float:
    settings = {"interval_ms": 1, "trigger": trigger}
    _, profile = recorded(lambda: short_calls.run(seconds), **settings)
    seen = answers.weight_by_function(profile, short_calls.NAMES)
    return largest_error(short_calls.truth(), seen)


def thread_error(trigger: str, seconds: float) -> float:
    truth, profile = recorded(lambda: by_thread.run(seconds), interval_ms=1, trigger=trigger)
    weights = answers.weight_by_thread(profile)
    return largest_error(truth, {name: weights.get(name, 0) for name in truth})


def sleeper_cpu(trigger: str, seconds: float) -> float:
    _, profile = recorded(lambda: sleep_mix.run(seconds), interval_ms=1, trigger=trigger)
    return 100 * shares(answers.weight_by_function(profile, sleep_mix.NAMES)).get("asleep", 0)


def sleeper_wall(trigger: str, seconds: float) -> float:
    settings = {"interval_ms": 1, "mode": "wall", "trigger": trigger}
    truth, profile = recorded(lambda: sleep_mix.run(seconds), **settings)
    return largest_error(truth.wall_ns, answers.weight_by_function(profile, sleep_mix.NAMES))


# Each: (trigger, seconds) -> the largest error of a share, in points.
CASES: dict[str, Callable[[str, float], float]] = {
    "split": lambda t, s: by_function(lambda: split.run(s), split.NAMES, interval_ms=1, trigger=t),
    "short functions": short_error,
    "by thread": thread_error,
    "c calls": lambda t, s: by_function(
        lambda: c_calls.run(s), c_calls.NAMES, interval_ms=1, trigger=t
    ),
    "kernel": lambda t, s: by_function(
        lambda: kernel_time.run(s), kernel_time.NAMES, interval_ms=1, trigger=t
    ),
    "short calls": call_error,
    "beat 1 ms at 1 ms": lambda t, s: by_function(
        lambda: beat.run(s, 1.0), beat.NAMES, interval_ms=1, trigger=t
    ),
    "beat 10 ms at 10 ms": lambda t, s: by_function(
        lambda: beat.run(4 * s, 10.0), beat.NAMES, interval_ms=10, trigger=t
    ),
    "sleeper, CPU": sleeper_cpu,
    "sleeper, wall": sleeper_wall,
}


def accuracy(case: str, trigger: str, seconds: float, runs: int) -> dict[str, Any]:
    return {"errors": [CASES[case](trigger, seconds) for _ in range(runs)]}


def impossible(samples: int, *, pinned: bool) -> dict[str, Any]:
    """Count stacks that cannot have existed, in sessions of some seconds."""
    if pinned:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rules = torn.Rules()
    seen = wrong = dropped = 0
    why: dict[str, int] = {}
    while seen < samples:
        tachograph.start(interval_ms=1)
        torn.torn_root(min(10.0, max(0.5, (samples - seen) / 900)))
        profile = tachograph.stop()
        dropped += profile.dropped_count
        for sample in profile.samples:
            seen += 1
            reason = rules.why_impossible(answers.python_stack(sample))
            if reason:
                wrong += 1
                why[reason] = why.get(reason, 0) + 1
    return {"samples": seen, "impossible": wrong, "dropped": dropped, "why": why}


def interrupted(wait_ms: tuple[int, ...], seconds: float, **settings: Any) -> dict[str, int]:
    """Count the raw waits that were cut short."""
    tachograph.start(interval_ms=1, **settings)
    waits = raw_poll.run(seconds, wait_ms, threads=6)
    tachograph.stop()
    return {"interrupted": waits.interrupted, "waits": waits.done}


def start_stop(times: int) -> dict[str, list[float]]:
    """Return the milliseconds of `start()` and `stop()` together."""
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        tachograph.start(interval_ms=1)
        tachograph.stop()
        took.append(1000 * (time.perf_counter() - begin))
    return {"ms": took}


def foreign(threads: int) -> dict[str, int]:
    """Count short-lived threads of C that were seen within two periods of 10 ms."""
    with tempfile.TemporaryDirectory() as folder:
        library = foreign_threads.build(Path(folder))
        tachograph.start(interval_ms=10)
        main = os.getpid()
        for _ in range(threads):
            foreign_threads.run_in_c(library, 0.050)
            spin(10)
        profile = tachograph.stop()
    seen = {sample.thread_id for sample in profile.samples} - {main}
    return {"seen": len(seen), "threads": threads}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure one case of truth; print JSON.")
    parser.add_argument("case", choices=(*CASES, "torn", "eintr", "start-stop", "foreign"))
    parser.add_argument("--trigger", default="auto")
    parser.add_argument("--mode", default="cpu")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--pinned", action="store_true")
    parser.add_argument("--wait-ms", type=int, action="append", default=[])
    options = parser.parse_args()
    result: Any
    if options.case == "torn":
        result = impossible(options.samples, pinned=options.pinned)
    elif options.case == "eintr":
        waits = tuple(options.wait_ms)
        settings = {"mode": options.mode, "trigger": options.trigger}
        result = interrupted(waits, options.seconds, **settings)
    elif options.case == "start-stop":
        result = start_stop(options.runs)
    elif options.case == "foreign":
        result = foreign(options.runs)
    else:
        result = accuracy(options.case, options.trigger, options.seconds, options.runs)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
