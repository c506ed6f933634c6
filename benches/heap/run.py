"""Measures what sampling the heap costs and how true it is, beside other tools.

`python benches/heap/run.py` takes some twenty minutes, `--quick` some five. See
README.md for how to read the result.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import sections
from figures import Row, verdicts
from workloads import WORKLOADS

SECTIONS = {
    "truth": sections.truth,
    "sizes": sections.sizes,
    "pairs": sections.pairs,
    "cost": sections.cost,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what sampling the heap costs.")
    parser.add_argument("--quick", action="store_true", help="some minutes, with more noise")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="measure only this part (repeatable)"
    )
    parser.add_argument(
        "--workload", action="append", choices=WORKLOADS, help="cost of this one (repeatable)"
    )
    parser.add_argument(
        "--no-peers", action="store_true", help="leave the other tools out of the cost"
    )
    parser.add_argument("--rounds", type=int, help="how often each thing is measured")
    options = parser.parse_args()
    rows: list[Row] = []
    begin = time.monotonic()
    for name in options.only or SECTIONS:
        print(f"\n== {name}", flush=True)
        rounds = (5 if options.quick else 15) if name == "cost" else (9 if options.quick else 31)
        rounds = options.rounds or rounds
        if name == "cost":
            rows += sections.cost(rounds, options.workload, with_peers=not options.no_peers)
        else:
            rows += SECTIONS[name](rounds)
    print(f"\n== promises and verdicts ({time.monotonic() - begin:.0f} s)\n{verdicts(rows)}")
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
