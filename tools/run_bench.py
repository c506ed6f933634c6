"""Runs the measurements of `benches/cpu` in an environment of their own.

The environment has pip, because the measurements install the profilers they
compare with. Arguments are passed on: `make bench ARGS="--help"`.
"""

from __future__ import annotations

import subprocess
import sys

from environments import ENVIRONMENTS, install_wheel, tool_environment
from interpreters import find_interpreters
from run_tests import main_interpreter
from steps import ROOT, StepFailed, run
from wheels import build_wheel

BENCH = ROOT / "benches" / "cpu" / "run.py"


def main() -> int:
    """Build the wheel, install it, measure."""
    try:
        interpreter = main_interpreter(find_interpreters())
        tools = tool_environment(interpreter)
        python = ENVIRONMENTS / "bench" / "bin" / "python"
        if not python.exists():
            run(interpreter.program, "-m", "venv", ENVIRONMENTS / "bench", quiet=True)
        install_wheel(python, tools, build_wheel(tools, interpreter))
    except StepFailed as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    return subprocess.run([python, BENCH, *sys.argv[1:]], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
