"""Runs the measurements of one folder of `benches` in an environment of their own.

The first argument names the folder, `cpu` unless told otherwise; the others are
passed on: `make bench ARGS="spans --help"`. The environment has pip, because the
measurements install the tools they compare with.
"""

from __future__ import annotations

import subprocess
import sys

from environments import ENVIRONMENTS, install_wheel, tool_environment
from interpreters import find_interpreters
from run_tests import main_interpreter
from steps import ROOT, StepFailed, run
from wheels import build_wheel

BENCHES = ROOT / "benches"


def main() -> int:
    """Build the wheel, install it, measure."""
    words = sys.argv[1:]
    known = sorted(script.parent.name for script in BENCHES.glob("*/run.py"))
    folder = words.pop(0) if words and not words[0].startswith("-") else "cpu"
    if folder not in known:
        print(f"there is no benches/{folder}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    try:
        interpreter = main_interpreter(find_interpreters())
        tools = tool_environment(interpreter)
        python = ENVIRONMENTS / "bench" / "bin" / "python"
        if not python.exists():
            run(interpreter.program, "-m", "venv", ENVIRONMENTS / "bench", quiet=True)
            # A workload; where it cannot be had, that row is left out, and said.
            subprocess.run([python, "-m", "pip", "install", "-q", "numpy"], check=False)
        install_wheel(python, tools, build_wheel(tools, interpreter))
    except StepFailed as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    bench = BENCHES / folder / "run.py"
    return subprocess.run([python, bench, *words], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
