"""Measures what exact line counting costs, beside line_profiler.

`python benches/lines/run.py` takes half a minute, `--quick` ten seconds. See
README.md for how to read the result.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(1, str(Path(__file__).parents[1]))
sys.path.insert(2, str(Path(__file__).parents[1] / "spans"))
sys.path.insert(3, str(Path(__file__).parents[2] / "tests" / "targets"))

import line_costs
import peer
import tachograph
from figures import Row, at_most, exactly_at_most, table, verdicts
from rounds import Case, Prepared, Rounds
from workloads import LINES, Work, copy, tight, unrelated, unrelated_exceptions

MODERN = sys.version_info >= (3, 12)


def ours(work: Work) -> Case:
    """Return a copy of `work` that is watched while it is measured."""
    own = copy(work)
    watch = tachograph.lines(own)
    return Prepared(own, watch.start, watch.stop)


def profiled(work: Work, rounds: int) -> list[Row]:
    """Measure one workload without tools, with ours, and with line_profiler."""
    cases: dict[str, Case] = {"plain": copy(work), "tachograph": ours(work)}
    theirs = peer.case(copy(work))
    if theirs is not None:
        cases["line_profiler"] = theirs
    told = Rounds(cases, rounds, seconds=0.003)
    name, lines = work.__name__, LINES[work]
    shown = [
        (
            case,
            f"{told.ns(case, 'plain') / lines:.0f}" if case != "plain" else "",
            str(told.ratio(case, "plain")),
        )
        for case in cases
    ]
    print(table(shown, (name, "ns per line", "of plain")), end="\n\n", flush=True)
    rows = []
    if MODERN:
        ns = told.ns("tachograph", "plain") / lines
        rows.append(exactly_at_most(f"{name}: ns per line", ns, 60, f"{ns:.0f}"))
    if theirs is not None:
        ratio = told.ratio("tachograph", "line_profiler", "plain")
        rows.append(at_most(f"{name}: slowdown / line_profiler's", ratio, 0.25))
    return rows


def others(rounds: int) -> list[Row]:
    """Measure code that nobody watches, while something else is watched."""
    watch = tachograph.lines(copy(tight))
    cases: dict[str, Case] = {
        "plain": copy(unrelated),
        "beside a watch": Prepared(copy(unrelated), watch.start, watch.stop),
    }
    told = Rounds(cases, 3 * rounds, seconds=0.003)
    failing: dict[str, Case] = {
        "exceptions, plain": copy(unrelated_exceptions),
        "exceptions, beside a watch": Prepared(copy(unrelated_exceptions), watch.start, watch.stop),
    }
    raised = Rounds(failing, rounds, seconds=0.003)
    shown = [(case, str(told.ratio(case, "plain"))) for case in cases]
    shown += [(case, str(raised.ratio(case, "exceptions, plain"))) for case in failing]
    print(table(shown, ("unwatched code", "of plain")), end="\n\n", flush=True)
    ratio = told.ratio("beside a watch", "plain")
    return [at_most("unwatched code beside a watch", ratio, 1.02)]


def left_out(processes: int) -> list[Row]:
    """Measure how much of what counting takes is in the lines' times.

    What counting takes is measured once in a process, so each figure is the median
    of several processes.
    """
    asked = [line_costs.ask() for _ in range(processes)]
    near = median(near.told_share for near, _ in asked)
    more = median(far.told_share - near.told_share for near, far in asked)
    shown = [("near the top of a file", f"{near:.2f}"), ("more, far down", f"{more:.2f}")]
    print(table(shown, ("in the lines' times", "of what counting takes")), end="\n\n", flush=True)
    return [
        exactly_at_most("counting in the lines' times", near, 0.5, f"{near:.2f}"),
        exactly_at_most("more of it far down in a file", more, 0.15, f"{more:.2f}"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what counting lines costs.")
    parser.add_argument("--quick", action="store_true", help="ten seconds, with more noise")
    options = parser.parse_args()
    peer.make_importable()
    rounds = 15 if options.quick else 61
    begin = time.monotonic()
    rows: list[Row] = []
    for work in LINES:
        rows += profiled(work, rounds)
    rows += others(rounds)
    rows += left_out(5 if options.quick else 21)
    print(f"== promises and verdicts ({time.monotonic() - begin:.0f} s)\n{verdicts(rows)}")
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
