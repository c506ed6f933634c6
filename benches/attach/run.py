"""Measures recording from outside beside py-spy, as one table of promises.

`python benches/attach/run.py` takes some ten minutes, `--quick` two. Only the standard
library is needed; py-spy is installed on first use into an environment of its own.
See README.md for how to read the result.
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
    "rate": sections.rate,
    "slowdown": sections.slowdown,
    "stacks": sections.stacks,
    "dump": sections.dump,
    "startup": sections.startup,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure recording from outside.")
    parser.add_argument("--quick", action="store_true", help="two minutes, with more noise")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="measure only this part (repeatable)"
    )
    options = parser.parse_args()
    rows: list[Row] = []
    begin = time.monotonic()
    for name in options.only or SECTIONS:
        print(f"\n== {name}", flush=True)
        rows += SECTIONS[name](options.quick)
    print(f"\n== promises and verdicts ({time.monotonic() - begin:.0f} s)\n{verdicts(rows)}")
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
