"""The parts of the measurement; each prints its own table and returns its verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import peers
from figures import Figure, Row, at_least, at_most, exactly_at_most, table

HERE = Path(__file__).parent
TARGETS = HERE.parents[1] / "tests" / "targets"
WORKLOADS = ("deep", "shallow", "threads16", "aio200", "numpyw", "imports")
WALL_LIMIT = {"10 ms": 1.01, "1 ms": 1.03}
CPU_LIMIT = 1.08
# Sixteen threads that switch all the time are allowed a little more.
SWITCHING_LIMITS = {"wall": 1.045, "cpu": 1.09}


@dataclass(frozen=True)
class Options:
    """What is to be measured, and how long."""

    quick: bool = False
    pythons: tuple[str, ...] = ()
    workloads: tuple[str, ...] = WORKLOADS
    peers: tuple[str, ...] = (*peers.WRAPPERS, "pyinstrument")


def ask(*words: object, python: str = sys.executable, timeout: float = 1200) -> Any:
    """Run a program of this folder and return the JSON it prints; None if it failed."""
    command = [python, *map(str, words)]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, cwd=HERE, check=False
    )
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"   {' '.join(map(str, words))}: status {result.returncode}: {last}", flush=True)
        return None
    return json.loads(result.stdout)


def failed(name: str, target: str) -> Row:
    """Return the verdict on a measurement that did not come to an end."""
    return Row(name, "failed", target, "MISS")


def cost(options: Options) -> list[Row]:
    """Slowdown and process CPU, on against off in one process."""
    rows: list[Row] = []
    lines = []
    for workload in options.workloads:
        if workload == "numpyw" and not has_numpy():
            print("   numpyw is left out: numpy is not installed")
            continue
        answer = ask("on_off.py", workload, "--rounds", 15 if options.quick else 80)
        if answer is None:
            rows.append(failed(f"slowdown, {workload}", "<= 1.03"))
            continue
        figures = {
            name: {clock: Figure.of(values) for clock, values in both.items()}
            for name, both in answer.items()
        }
        lines.append(
            [workload]
            + [str(figures[name][clock]) for name in figures for clock in ("wall", "cpu")]
        )
        for setting, limit in WALL_LIMIT.items():
            switching = workload == "threads16" and setting == "1 ms"
            allowed = SWITCHING_LIMITS["wall"] if switching else limit
            name = f"slowdown, {workload}, {setting}"
            rows.append(at_most(name, figures[setting]["wall"], allowed))
        allowed = SWITCHING_LIMITS["cpu"] if workload == "threads16" else CPU_LIMIT
        rows.append(at_most(f"process CPU, {workload}, 1 ms", figures["1 ms"]["cpu"], allowed))
    settings = ("off/off", "10 ms", "1 ms", "1 ms native")
    heading = ["on/off", *(f"{s} {clock}" for s in settings for clock in ("wall", "CPU"))]
    print(table(lines, heading))
    return rows


def has_numpy() -> bool:
    """Tell whether this interpreter has numpy."""
    found = subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True, check=False)
    return found.returncode == 0


def accuracy(options: Options) -> list[Row]:
    """Known splits: the largest error of any share, in points."""
    rows: list[Row] = []
    lines = []
    runs, seconds = (3, 1.5) if options.quick else (5, 3.0)
    for case in ("split", "short functions", "by thread", "c calls", "kernel"):
        for trigger in ("tick",) if options.quick else ("tick", "perf", "cpu-timer"):
            errors = errors_of(case, trigger, seconds, runs)
            if errors is None:
                rows.append(failed(f"{case}, {trigger}", "<= 1.5"))
                continue
            lines.append((case, trigger, f"{median(errors):.1f}", f"{max(errors):.1f}"))
            if trigger == "tick":
                rows.append(exactly_at_most(f"{case}, median", round(median(errors), 2), 1.5))
                rows.append(exactly_at_most(f"{case}, worst", round(max(errors), 2), 3))
    # The truth of short calls is each timed alone, which is good to two points or three.
    errors = errors_of("short calls", "tick", seconds, runs)
    if errors is None:
        rows.append(failed("short calls", "<= 5"))
    else:
        lines.append(("short calls", "tick", f"{median(errors):.1f}", f"{max(errors):.1f}"))
        rows.append(exactly_at_most("short calls, median", round(median(errors), 2), 5))
    limits = {"beat 1 ms at 1 ms": 3, "beat 10 ms at 10 ms": 3, "sleeper, CPU": 1}
    for case, limit in {**limits, "sleeper, wall": 1}.items():
        errors = errors_of(case, "tick", seconds, runs)
        if errors is None:
            rows.append(failed(case, f"<= {limit}"))
            continue
        lines.append((case, "tick", f"{median(errors):.1f}", f"{max(errors):.1f}"))
        rows.append(exactly_at_most(f"{case}, median", round(median(errors), 2), limit))
    print(table(lines, ("error in points", "trigger", "median", "worst")))
    return rows


def errors_of(case: str, trigger: str, seconds: float, runs: int) -> list[float] | None:
    """Return the errors of `runs` runs of an accuracy case."""
    words = ("--trigger", trigger, "--seconds", seconds, "--runs", runs)
    answer = ask("truth.py", case, *words)
    return None if answer is None else answer["errors"]


def stacks(options: Options) -> list[Row]:
    """Stacks that cannot have existed, free on all cores and pinned to one."""
    rows: list[Row] = []
    lines = []
    wanted = 6_000 if options.quick else 100_000
    for python in (sys.executable, *options.pythons):
        version = subprocess.run(
            [python, "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for pinned in (False, True):
            how = "pinned" if pinned else "free"
            words = ["torn", "--samples", wanted, *(["--pinned"] if pinned else [])]
            answer = ask("truth.py", *words, python=python)
            name = f"impossible stacks, {version}, {how}"
            if answer is None:
                rows.append(failed(name, "<= 0"))
                continue
            share = answer["dropped"] / max(1, answer["samples"])
            lines.append(
                (version, how, str(answer["impossible"]), str(answer["samples"]), f"{share:.3%}")
            )
            for why, count in sorted(answer["why"].items(), key=lambda pair: -pair[1])[:5]:
                print(f"   {version} {how}: {count} x {why}")
            rows.append(exactly_at_most(name, answer["impossible"], 0))
            text = f"{share:.3%}"
            rows.append(exactly_at_most(f"dropped, {version}, {how}", share, 0.003, text))
    print(table(lines, ("version", "cores", "impossible", "of", "dropped")))
    return rows


def signals(options: Options) -> list[Row]:
    """Waits cut short, programs that exec, threads of C, start and stop."""
    rows: list[Row] = []
    seconds = 4 if options.quick else 20
    cases = (
        ("waits of 50 ms and more cut short", (50, 80), "auto", "cpu", 0.0),
        ("waits of 50 ms cut short, wall mode", (50, 80), "auto", "wall", 0.0),
        ("waits of 2 to 4 ms cut short", (2, 3, 4), "auto", "cpu", 0.02),
        ("waits of 2 to 4 ms, CPU timer", (2, 3, 4), "cpu-timer", "cpu", 0.0),
    )
    for name, waits, trigger, mode, limit in cases:
        words = [f"--wait-ms={wait}" for wait in waits]
        settings = ("--trigger", trigger, "--mode", mode, "--seconds", seconds)
        answer = ask("truth.py", "eintr", *settings, *words)
        if answer is None:
            rows.append(failed(name, f"<= {limit}"))
            continue
        share = answer["interrupted"] / max(1, answer["waits"])
        text = f"{answer['interrupted']} of {answer['waits']}"
        rows.append(exactly_at_most(name, share, limit, text))
    for trigger in ("tick", "perf"):
        alive, tries = survivors(trigger, 20 if options.quick else 100)
        rows.append(at_least(f"exec survived, {trigger}", alive, tries, f"{alive} of {tries}"))
    answer = ask("truth.py", "foreign", "--runs", 20 if options.quick else 100)
    if answer:
        text = f"{answer['seen']} of {answer['threads']}"
        rows.append(at_least("threads of C seen", answer["seen"], answer["threads"], text))
    answer = ask("truth.py", "start-stop", "--runs", 30)
    if answer:
        rows.append(at_most("start() + stop(), ms", Figure.of(answer["ms"]), 20))
    return rows


def survivors(trigger: str, tries: int) -> tuple[int, int]:
    """Count the programs that came to life by exec out of a recorded one."""
    alive = 0
    for attempt in range(tries):
        words = [TARGETS / "exec_again.py", "1", trigger, str(20 + attempt % 20)]
        result = subprocess.run(
            [sys.executable, *map(str, words)], capture_output=True, text=True, check=False
        )
        alive += result.stdout == "survived"
    return alive, tries


def files(options: Options) -> list[Row]:
    """Size of a CPU profile, and how fast it opens and exports; beside it, of more sources."""
    seconds = 10 if options.quick else 60
    scaled = " (scaled)" if options.quick else ""
    rows: list[Row] = []
    for kind, words in (
        ("CPU profile", ()),
        ("with native frames", ("--native",)),
        ("with native frames, heap and machine", ("--native", "--all")),
    ):
        answer = ask("sizes.py", "--seconds", seconds, *words)
        name = f"60 s at 1 kHz, {kind}, KB"
        if answer is None:
            rows.append(failed(name, "<= 300"))
            continue
        kilobytes = answer["bytes"] / 1000 * 60 / seconds
        per_sample = answer["bytes"] / max(1, answer["samples"])
        text = f"{kilobytes:.0f}{scaled}, {per_sample:.1f} B/sample"
        export = answer["open_export_s"] * 60 / seconds
        if words:
            print(f"   {name}: {text}; opens and exports in {export:.2f} s{scaled}")
            continue
        rows.append(exactly_at_most(name, kilobytes, 300, text))
        rows.append(exactly_at_most("opens and exports, s", export, 0.2, f"{export:.3f}{scaled}"))
    return rows


def peers_cost(options: Options) -> list[Row]:
    """What other profilers cost the same workloads. No verdicts: they promised nothing."""
    lines = []
    for workload in ("deep",) if options.quick else options.workloads:
        for interval_ms in (1,) if options.quick else (10, 1):
            for peer in options.peers:
                if peer in peers.WRAPPERS:
                    found = peers.ratios(peer, workload, interval_ms, 1 if options.quick else 3)
                    told = ("-", "-") if found is None else (f"{found[0]:.2f}", f"{found[1]:.2f}")
                else:
                    told = inside(workload, interval_ms)
                lines.append((peer, workload, f"{interval_ms} ms", *told))
    print(table(lines, ("peer", "workload", "interval", "wall", "program's CPU")))
    return []


def inside(workload: str, interval_ms: int) -> tuple[str, str]:
    """Return what pyinstrument costs, turned on and off inside the process."""
    python = str(peers.environment() / "python")
    setting = f"pyinstrument {interval_ms} ms"
    answer = ask("on_off.py", workload, "--rounds", 6, "--setting", setting, python=python)
    if answer is None:
        return "-", "-"
    return tuple(f"{median(answer[setting][clock]):.2f}" for clock in ("wall", "cpu"))
