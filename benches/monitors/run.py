"""Measures what watching the process and the machine costs, beside psutil.

`python benches/monitors/run.py` takes about a minute, `--quick` ten seconds.
See README.md for how to read the result.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "spans"))

import sections
import watched_calls
from figures import Row, verdicts

SECTIONS = {
    "readings": sections.readings,
    "blocks": sections.blocks,
    "truth": sections.truth,
    "sampler": sections.sampler,
    "decorators": watched_calls.rows,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what monitors cost.")
    parser.add_argument("--quick", action="store_true", help="ten seconds, with more noise")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="measure only this part (repeatable)"
    )
    options = parser.parse_args()
    rounds = 11 if options.quick else 61
    rows: list[Row] = []
    begin = time.monotonic()
    for name in options.only or SECTIONS:
        print(f"\n== {name}", flush=True)
        rows += SECTIONS[name](rounds)
    print(f"\n== promises and verdicts ({time.monotonic() - begin:.0f} s)\n{verdicts(rows)}")
    return 1 if any(row.verdict == "MISS" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
