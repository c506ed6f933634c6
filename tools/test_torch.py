"""Runs the tests that need the real torch, in an environment of their own.

Torch and what it brings take several gigabytes, so `make test` does without:
its tests know torch from a stand-in.
"""

from __future__ import annotations

import sys

from environments import ENVIRONMENTS, install_wheel, pip, tool_environment
from interpreters import find_interpreters
from run_tests import main_interpreter
from steps import ROOT, StepFailed, Steps, run
from suite import CLEAN
from wheels import build_wheel

REQUIREMENTS = ROOT / "tests" / "torch" / "requirements.txt"


def run_all(steps: Steps) -> None:
    """Prepare, build, install and test; the first failure is raised."""
    with steps.step("tools"):
        interpreter = main_interpreter(find_interpreters())
        tools = tool_environment(interpreter)
    with steps.step("torch"):
        folder = ENVIRONMENTS / "torch"
        python = folder / "bin" / "python"
        if not python.exists():
            run(interpreter.program, "-m", "venv", "--without-pip", folder, quiet=True)
        run(*pip(tools, python), "-r", REQUIREMENTS)
    with steps.step("wheel"):
        install_wheel(python, tools, build_wheel(tools, interpreter))
    with steps.step("tests with torch"):
        run(python, "-m", "pytest", "-q", "tests/torch", environment=CLEAN)


def main() -> int:
    """Run the tests and print where the time went."""
    steps = Steps()
    try:
        run_all(steps)
        failure = None
    except StepFailed as error:
        failure = error
    return steps.finish(failure)


if __name__ == "__main__":
    sys.exit(main())
