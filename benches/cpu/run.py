"""Measures cost and truth of CPU recording, beside other profilers, as one table.

`python benches/cpu/run.py` takes some half an hour, `--quick` three minutes.
Only the standard library is needed; other profilers are installed on first use
into an environment of their own. See README.md for how to read the result.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import sections
from figures import Row, verdicts

SECTIONS = {
    "cost": sections.cost,
    "accuracy": sections.accuracy,
    "stacks": sections.stacks,
    "signals": sections.signals,
    "files": sections.files,
    "peers": sections.peers_cost,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure cost and truth of CPU recording.")
    parser.add_argument("--quick", action="store_true", help="three minutes, with more noise")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="measure only this part (repeatable)"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PROGRAM",
        help="also count impossible stacks on this interpreter (repeatable)",
    )
    parser.add_argument(
        "--workload",
        action="append",
        choices=sections.WORKLOADS,
        help="what cost and peers run (repeatable; all of them)",
    )
    parser.add_argument(
        "--peer",
        action="append",
        choices=sections.Options.peers,
        help="compare with this profiler (repeatable; all of them)",
    )
    words = parser.parse_args()
    options = sections.Options(
        quick=words.quick,
        pythons=tuple(words.python),
        workloads=tuple(words.workload or sections.WORKLOADS),
        peers=tuple(words.peer or sections.Options.peers),
    )
    rows: list[Row] = []
    begin = time.monotonic()
    for name in words.only or SECTIONS:
        print(f"\n== {name}", flush=True)
        rows += SECTIONS[name](options)
    print(f"\n== promises and verdicts ({time.monotonic() - begin:.0f} s)\n{verdicts(rows)}")
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
