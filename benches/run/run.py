"""What `tachograph run` adds to a program that does nothing, and what `attach` takes.

Each round starts a bare interpreter, a recorded one and the other tools in a
new order; the figure is the median of what a round took over its bare start,
and `±` its robust standard error. `off/off` is a second bare start measured the
same way: the noise.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Name, promise in milliseconds, words after the interpreter.
Case = tuple[str, float | None, list[str]]


def cases(folder: Path, waiting: int) -> list[Case]:
    """List what is started; all but `bare` record `noop.py`, or the process `waiting`."""
    run = ["-m", "tachograph", "run", "-q", "--force", "-o", str(folder / "a.tacho")]
    help_text = subprocess.run(
        [sys.executable, "-m", "tachograph", "run", "--help"], capture_output=True, text=True
    ).stdout
    has_heap = "--no-heap" in help_text
    without = ["--no-heap"] if has_heap else []
    found: list[Case] = [
        ("bare", None, []),
        ("off/off", None, []),
        ("import tachograph", None, ["-c", "import tachograph"]),
        ("run", 30, [*run, *without]),
    ]
    attach = ["-m", "tachograph", "attach", "-q", "--force", "-o", str(folder / "b.tacho")]
    found.append(("attach", 15, [*attach, "-d", "0.001", str(waiting)]))
    if has_heap:
        found.append(("run, heap", 40, run))
    for tool, words in (
        ("pyinstrument", ["-m", "pyinstrument", "-o", str(folder / "p.txt")]),
        ("cProfile", ["-m", "cProfile", "-o", str(folder / "c.prof")]),
    ):
        if subprocess.run([sys.executable, "-c", f"import {tool}"], capture_output=True).returncode:
            continue
        found.append((tool, None, words))
    return found


# Cases that start no program of their own.
WITHOUT_PROGRAM = ("import tachograph", "attach")


def measure(folder: Path, listed: list[Case], rounds: int) -> dict[str, list[float]]:
    """Return milliseconds by case, one per round, over the round's bare start."""
    program = folder / "noop.py"
    program.write_text("pass\n")
    taken: dict[str, list[float]] = {name: [] for name, _, _ in listed}
    shuffle = random.Random(1)
    for turn in range(rounds + 2):
        order = list(listed)
        shuffle.shuffle(order)
        times = {}
        for name, _, words in order:
            command = [sys.executable, *words]
            command += [] if name in WITHOUT_PROGRAM else [str(program)]
            begun = time.perf_counter()
            subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
            times[name] = (time.perf_counter() - begun) * 1e3
        if turn < 2:  # files are read into memory first
            continue
        for name in times:
            taken[name].append(times[name] - times["bare"] if name != "bare" else times[name])
    return taken


def main() -> int:
    """Measure, print the table, and say which promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="rounds (default: 40)")
    parser.add_argument("--quick", action="store_true", help="12 rounds, with more noise")
    wanted = parser.parse_args()
    os.environ.pop("PYTHONSTARTUP", None)
    words = [sys.executable, "-c", "import time; time.sleep(600)"]
    with tempfile.TemporaryDirectory() as name, subprocess.Popen(words) as waiting:
        folder = Path(name)
        listed = cases(folder, waiting.pid)
        promises = {name: promise for name, promise, _ in listed}
        try:
            taken = measure(folder, listed, 12 if wanted.quick else wanted.rounds)
        finally:
            waiting.kill()
    print(f"{'start of':20} {'added':>10} {'±':>8} {'promise':>10}")
    kept = True
    for name, values in taken.items():
        middle = statistics.median(values)
        spread = statistics.median(abs(value - middle) for value in values) * 1.4826
        error = 1.2533 * spread / len(values) ** 0.5
        promise = promises[name]
        said = ""
        if promise is not None:
            holds = middle - 2 * error <= promise
            kept = kept and holds
            said = f"{promise:.0f} ms {'kept' if holds else 'BROKEN'}"
        added = f"{middle:.1f} ms" if name == "bare" else f"{middle:+.1f} ms"
        print(f"{name:20} {added:>10} {error:>8.1f} {said:>15}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
