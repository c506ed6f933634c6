"""What is measured: rates, slowdowns, CPU, truth, dumps, start-up."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from figures import Figure, Row, at_least, at_most, exactly_at_most, table

from tools import ROOT, Program, Recording, our_command, py_spy_command, worker

OURS = "tachograph"
PYTHON_ONLY = "tachograph (Python frames)"


def tools() -> dict[str, Path]:
    """Return the tools by name; the peer only where it can be had."""
    command = our_command()
    found = {OURS: command, PYTHON_ONLY: command}
    peer = py_spy_command()
    if peer is None:
        print("py-spy cannot be installed here: it is left out")
    else:
        found["py-spy"] = peer
    return found


def rate(quick: bool) -> list[Row]:
    """Samples per second of one thread, flat out."""
    seconds = 2.0 if quick else 5.0
    rows, cells = [], []
    with tempfile.TemporaryDirectory() as folder:
        for depth in (10, 100):
            with worker(depth) as program:
                for name, command in tools().items():
                    asked = 1_000_000 if name != "py-spy" else 20_000
                    recording = Recording(name, command, program.pid, asked, Path(folder))
                    time.sleep(seconds)
                    run = recording.stop()
                    pace = run.samples / run.wall_seconds
                    per_thousand = 1e6 * run.cpu_seconds / max(1, run.samples)
                    cells.append(
                        (f"depth {depth}", name, f"{pace:.0f}/s", f"{per_thousand:.0f} ms")
                    )
                    if name == PYTHON_ONLY:
                        text = f"{pace:.0f}/s"
                        rows.append(at_least(f"samples/s, depth {depth}", pace, 15_000, text))
    print(table(cells, ("flat out", "tool", "samples", "CPU per 1000")))
    return rows


def slowdown(quick: bool) -> list[Row]:
    """How much slower the program is while it is recorded: windows on, between windows off."""
    windows, seconds = (3, 1.0) if quick else (9, 1.5)
    rows, cells = [], []
    cases = [(100, 1, 1000, 1.10), (10, 1, 1000, None), (100, 1, 100, None), (10, 16, 1000, 1.15)]
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        for depth, threads, hertz, limit in cases:
            label = f"depth {depth}, {threads} thread{'s' * (threads > 1)}, {hertz} Hz"
            with worker(depth, threads) as program:
                noise = [program.pace(seconds) / program.pace(seconds) for _ in range(windows)]
                cells.append((label, "off/off", str(Figure.of(noise)), ""))
                if hertz == 100:
                    # Less than a window without a tool can be off by is not told from zero.
                    limit = 1 + max(abs(value - 1) for value in noise)
                for name, command in tools().items():
                    figure, cost = on_off(
                        program, name, command, hertz, windows, seconds, Path(folder)
                    )
                    cells.append((label, name, str(figure), f"{cost:.0f} ms"))
                    if name == OURS and limit is not None:
                        rows.append(at_most(f"slowdown, {label}", figure, limit))
                    if name == OURS and hertz == 1000 and threads == 1:
                        text = f"{cost:.0f} ms"
                        promise = f"own CPU per 1000 samples, {label}"
                        rows.append(exactly_at_most(promise, cost, 50, text))
                        costs[depth] = cost
    ratio = costs[100] / costs[10]
    promise = "own CPU, depth 100 against depth 10"
    rows.append(exactly_at_most(promise, ratio, 1.3, f"{ratio:.2f}x"))
    print(table(cells, ("case", "tool", "slowdown", "CPU per 1000")))
    return rows


def on_off(
    program: Program,
    name: str,
    command: Path,
    hertz: int,
    windows: int,
    seconds: float,
    folder: Path,
) -> tuple[Figure, float]:
    """Return the slowdown, and milliseconds of the tool's CPU per 1000 samples."""
    ratios, cpu, samples = [], 0.0, 0
    for _ in range(windows):
        before = program.pace(seconds)
        recording = Recording(name, command, program.pid, hertz, folder)
        time.sleep(0.3)  # it begins
        during = program.pace(seconds)
        run = recording.stop()
        after = program.pace(seconds)
        ratios.append((before + after) / 2 / during)
        cpu += run.cpu_seconds
        samples += run.samples
    return Figure.of(ratios), 1e6 * cpu / max(1, samples)


def stacks(quick: bool) -> list[Row]:
    """Stacks that cannot have existed, on all processors and on one."""
    seconds = "2" if quick else "8"
    sys.path.insert(0, str(ROOT / "tests" / "python" / "cli"))
    from outside_program import collapsed_stacks, impossible, started

    core = str(min(os.sched_getaffinity(0)))
    rows = []
    for label, before in (("all processors", ()), ("one processor", ("taskset", "-c", core))):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "out.tacho"
            with started(sys.executable, "calls", before=before) as pid:
                words = ["attach", pid, "-d", seconds, "-r", "10khz", "-o", path, "--quiet"]
                command = [*before, our_command(), *words]
                subprocess.run(list(map(str, command)), check=True)
            export = [our_command(), "export", path, "-f", "collapsed", "-o", "-"]
            text = subprocess.run(export, capture_output=True, text=True, check=True).stdout
        seen = wrong = 0
        for frames, count in collapsed_stacks(text):
            own = [frame for frame in frames if frame.file.endswith("outside.py")]
            if own and own[-1].function != "ready":
                seen += count
                wrong += count * bool(impossible(own))
        rows.append(exactly_at_most(f"impossible stacks, {label}", wrong, 0, f"{wrong} of {seen}"))
    return rows


def dump(quick: bool) -> list[Row]:
    """Time of one dump of eight busy threads."""
    rounds = 7 if quick else 25
    found = tools()
    times: dict[str, list[float]] = {}
    with worker(20, 8) as program:
        for _ in range(rounds):
            for name, command in found.items():
                if name == PYTHON_ONLY:
                    words = ["dump", str(program.pid), "--no-native"]
                elif name == OURS:
                    words = ["dump", str(program.pid)]
                else:
                    words = ["dump", "-p", str(program.pid)]
                times.setdefault(name, []).append(timed([str(command), *words])[0])
    cells = [(name, f"{1000 * median(values):.1f} ms") for name, values in times.items()]
    print(table(cells, ("dump of 8 threads", "wall")))
    if "py-spy" not in times:
        return []
    # py-spy's dump has Python frames only unless asked, so that is what is compared.
    ratio = [ours / peer for ours, peer in zip(times[PYTHON_ONLY], times["py-spy"], strict=True)]
    return [at_most("dump against py-spy's", Figure.of(ratio), 1.0)]


def startup(quick: bool) -> list[Row]:
    """What a recording from outside adds to a program that does nothing."""
    rounds = 9 if quick else 31
    command = our_command()
    extra, peer_extra = [], []
    peer = py_spy_command()
    nothing = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "out.tacho")
        for _ in range(rounds):
            base = timed(nothing)[0]
            begin = time.perf_counter()
            program = subprocess.Popen(nothing)
            words = [str(command), "attach", str(program.pid), "-o", path, "--force", "--quiet"]
            subprocess.run(words, check=False, capture_output=True)
            program.wait()
            extra.append(1000 * (time.perf_counter() - begin - base))
            if peer is not None:
                words = [str(peer), "record", "-f", "raw", "-o", path, "--", *nothing]
                peer_extra.append(1000 * (timed(words)[0] - base))
    cells = [("tachograph attach", str(Figure.of(extra)))]
    if peer_extra:
        cells.append(("py-spy record --", str(Figure.of(peer_extra))))
    print(table(cells, ("extra time of a no-op", "ms")))
    rows = [at_most("extra ms of a wrapped no-op", Figure.of(extra), 15)]
    with worker(10) as program, tempfile.TemporaryDirectory() as folder:
        first = [first_sample(command, program.pid, Path(folder)) for _ in range(rounds)]
    rows.append(at_most("ms from attach to the first sample", Figure.of(first), 100))
    return rows


def first_sample(command: Path, pid: int, folder: Path) -> float:
    """Return the milliseconds from the start of the command to the first sample."""
    path = folder / "out.tacho"
    words = [str(command), "attach", str(pid), "-r", "10khz", "-d", "0.001", "-o", str(path)]
    return 1000 * timed([*words, "--force", "--quiet"])[0]


def timed(words: list[str]) -> tuple[float, float]:
    """Run a command; return its wall and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(words, check=False, capture_output=True)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
