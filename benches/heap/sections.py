"""The parts of the measurement; each prints its own table and returns its verdicts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import peers
from figures import Figure, Row, at_most, exactly_at_most, table
from workloads import WORKLOADS

HERE = Path(__file__).parent
LIMITS = {"tachograph 512": 1.05, "tachograph 64": 1.15, "tachograph stopped": 1.01}
# They show what a hook and a sample cost, and have no target.
FLOORS = ("buffers", "bare")
THREAD_LIMITS = {"tachograph 512": 1.10, "tachograph 64": 1.15, "tachograph stopped": 1.01}


def ask(*words: object) -> Any:
    """Run a program of this folder and return the JSON it prints; None if it failed."""
    command = [sys.executable, *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=HERE, check=False)
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"   {' '.join(map(str, words))}: status {result.returncode}: {last}", flush=True)
        return None
    return json.loads(result.stdout)


def cost(rounds: int, only: list[str] | None = None, *, with_peers: bool = True) -> list[Row]:
    """CPU of each workload under each tool, as a ratio to the same without one."""
    rows: list[Row] = []
    lines = []
    tools = ["alone again", "tachograph stopped", *peers.OURS]
    tools += peers.PEERS if with_peers else ()
    for workload in only or WORKLOADS:
        if workload in ("arrays", "buffers") and not peers.has("numpy"):
            print(f"   {workload} is left out: numpy cannot be installed")
            continue
        ratios = measure(workload, tools, rounds)
        figures = {tool: Figure.of(values) for tool, values in ratios.items() if values}
        cells = [str(figures[tool]) if tool in figures else "-" for tool in tools]
        lines.append([workload, *cells])
        print(f"   {workload}: " + ", ".join(f"{t} {figures[t]}" for t in figures), flush=True)
        noise = figures["alone again"].error if "alone again" in figures else 0.0
        if workload in FLOORS:
            continue
        limits = THREAD_LIMITS if workload == "threads" else LIMITS
        for tool, limit in limits.items():
            if tool not in figures:
                rows.append(Row(f"{workload}, {tool}", "failed", f"<= {limit:g}", "MISS"))
                continue
            figure = figures[tool]
            wide = Figure(figure.value, max(figure.error, noise))
            rows.append(at_most(f"{workload}, {tool}", wide, limit))
        ours = figures.get("tachograph 512")
        for peer in peers.PEERS:
            sees_it = workload != "threads" or peer != "tracemalloc"
            if ours is not None and peer in figures and sees_it:
                rows.append(at_most(f"{workload}, 512 against {peer}", ours, figures[peer].value))
    print(table(lines, ["CPU ratio", *tools]))
    return rows


def measure(workload: str, tools: list[str], rounds: int) -> dict[str, list[float]]:
    """Return the ratios of each tool; a tool that fails once is left out from then on."""
    ratios: dict[str, list[float]] = {tool: [] for tool in tools}
    base = peers.cpu_of("alone", workload, 0)
    if base is None:
        return {}
    units = int(base["units"])
    broken: set[str] = set()
    for _ in range(rounds):
        order = [tool for tool in tools if tool not in broken]
        random.shuffle(order)
        for tool in order:
            alone = peers.cpu_of("alone", workload, units)
            found = peers.cpu_of(tool, workload, units)
            if alone is None or found is None:
                print(f"   {tool} does not run {workload}: it is left out", flush=True)
                broken.add(tool)
                continue
            ratios[tool].append(found["cpu"] / alone["cpu"])
    return ratios


def pairs(rounds: int) -> list[Row]:
    """Nanoseconds that a pair of malloc and free costs more while on, and once stopped."""
    found = ask("pairs.py", rounds)
    if found is None:
        return [Row("malloc and free, stopped", "failed", "<= 1.5 ns", "MISS")]
    figures = {name: Figure.of(values) for name, values in found.items()}
    print(table([[name, str(figure)] for name, figure in figures.items()], ["pair", "ns more"]))
    return [at_most("malloc and free, stopped, ns", figures["stopped"], 1.5)]


def sizes(rounds: int) -> list[Row]:
    """How long start() and a snapshot take, and the memory of the profiler."""
    found = ask("sizes.py", rounds)
    if found is None:
        return [Row("start()", "failed", "<= 8 ms", "MISS")]
    start, snapshot = Figure.of(found["start_ms"]), Figure.of(found["snapshot_ms"])
    print(f"   {found['objects']} loaded objects, {found['samples']} live samples")
    print(f"   samples as objects: {Figure.of(found['objects_ms'])} ms")
    return [
        at_most("start(), ms", start, 8),
        at_most("snapshot of 100,000 live samples, ms", snapshot, 100),
        exactly_at_most("memory of the profiler, MB", round(found["own_mb"], 2), 8),
    ]


def truth(rounds: int) -> list[Row]:
    """Known answers, as the median error of several runs in percent."""
    rows: list[Row] = []
    found = ask("truth.py", max(3, rounds // 3))
    limits = {"peak, 60 MB site": 5, "peak, whole": 5, "site of 9 MB": 10, "resident size": 3}
    for name, limit in limits.items():
        if found is None:
            rows.append(Row(name, "failed", f"<= {limit} %", "MISS"))
        else:
            rows.append(exactly_at_most(f"{name}, % off", round(median(found[name]), 2), limit))
    if found is not None:
        wrong = sum(site != "leak" for site in found["hidden leak"])
        rows.append(exactly_at_most("hidden leak named wrongly, runs", wrong, 0))
    return rows
