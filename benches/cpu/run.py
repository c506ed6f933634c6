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
    options = parser.parse_args()
    rows: list[Row] = []
    begin = time.monotonic()
    for name in options.only or SECTIONS:
        print(f"\n== {name}", flush=True)
        rows += SECTIONS[name](options.quick, options.python)
    print(f"\n== promises and verdicts ({time.monotonic() - begin:.0f} s)\n{verdicts(rows)}")
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
