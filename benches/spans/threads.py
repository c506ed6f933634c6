"""Eight threads against one, asked of any interpreter that has tachograph."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from figures import Figure, Row, at_most

PROGRAM = Path(__file__).with_name("many_threads.py")


def rows(python: str, rounds: int) -> list[Row]:
    """Measure with `python`; only a free-threaded one has a promise to keep."""
    command = [python, PROGRAM, str(rounds)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = result.stderr.strip().splitlines()[-1:]
        print(f"{python} is left out: {''.join(reason)}", file=sys.stderr)
        return []
    told = json.loads(result.stdout)
    figure = Figure.of(told["ratios"])
    name = f"8 threads / one, CPU per span, {told['python']}"
    if told["free_threaded"]:
        return [at_most(name, figure, 1.5)]
    print(f"{name}: {figure} (one thread at a time runs there)")
    return []
