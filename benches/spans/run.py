"""Measures what spans, timed functions and metrics cost, beside other tools.

`python benches/spans/run.py` takes some two minutes, `--quick` half a minute.
See README.md for how to read the result.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import peers
import sections
import threads
from figures import Row, verdicts

SECTIONS = {
    "blocks": sections.blocks,
    "calls": sections.calls,
    "coroutines": sections.coroutines,
    "values": sections.values,
    "threads": sections.in_threads,
    "export": sections.export,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what spans and timers cost.")
    parser.add_argument("--quick", action="store_true", help="half a minute, with more noise")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="measure only this part (repeatable)"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PROGRAM",
        help="also measure threads on this interpreter, which has tachograph (repeatable)",
    )
    options = parser.parse_args()
    peers.make_importable()
    rounds = 15 if options.quick else 61
    rows: list[Row] = []
    begin = time.monotonic()
    for name in options.only or SECTIONS:
        print(f"\n== {name}", flush=True)
        rows += SECTIONS[name](rounds)
    for program in options.python:
        print(f"\n== threads of {program}", flush=True)
        rows += threads.rows(program, rounds)
    print(f"\n== promises and verdicts ({time.monotonic() - begin:.0f} s)\n{verdicts(rows)}")
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
