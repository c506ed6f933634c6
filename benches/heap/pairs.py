"""Prints what one pair of malloc and free costs more, in nanoseconds, round by round."""

from __future__ import annotations

import json
import sys

import tachograph.memprof as memprof
from native import library

PAIRS = 400_000


def main() -> None:
    rounds = int(sys.argv[1])
    pair_ns = library().pair_ns
    pair_ns(PAIRS)
    # Before the first start nothing is patched; afterwards it always is.
    before = [pair_ns(PAIRS) for _ in range(rounds)]
    base = sorted(before)[len(before) // 2]
    found: dict[str, list[float]] = {
        "noise": [value - base for value in before],
        "stopped": [],
        "512 KB": [],
    }
    for _ in range(rounds):
        memprof.start()
        found["512 KB"].append(pair_ns(PAIRS) - base)
        memprof.stop()
        found["stopped"].append(pair_ns(PAIRS) - base)
    print(json.dumps(found))


main()
