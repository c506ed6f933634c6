"""Runs the version-dependent tests on the newer and the free-threaded CPythons.

`make test-newer` builds those interpreters first. With `--smoke`, as CI calls it,
only those that are already built take part, with the tests of stacks alone and a
short stress; one free-threaded build stands for all, because each needs a wheel
of its own.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import newer_interpreters
from environments import test_environment, tool_environment
from interpreters import Interpreter, ask, find_interpreters, table
from run_tests import main_interpreter
from steps import StepFailed, Steps
from suite import run_pytest, run_stress
from wheels import build_wheel

STRESS_BUDGET_SECONDS = 120
SMOKE_STRESS_SECONDS = 30


def present(names: list[str]) -> list[Interpreter]:
    """Return those of the named interpreters that are already built."""
    built = newer_interpreters.built_interpreters()
    asked = [
        ask(program, "built here") for name, program in built.items() if not names or name in names
    ]
    return [interpreter for interpreter in asked if interpreter is not None]


def run_all(steps: Steps, names: list[str], *, smoke: bool) -> None:
    """Prepare, build, install and test; the first failure is raised."""
    with steps.step("newer interpreters"):
        if not smoke:
            newer_interpreters.build_all(names)
        newer = present(names)
        if smoke:
            free_threaded = [one for one in newer if one.free_threaded]
            newer = [one for one in newer if one not in free_threaded[1:]]
        print(table(newer))
    if not newer:
        print("none is built; `make test-newer` builds them")
        return
    with steps.step("tools"):
        main = main_interpreter(find_interpreters() or newer)
        tools = tool_environment(main)

    wheels: dict[str, Path] = {}
    pythons = []
    with steps.step("wheels and environments"):
        for interpreter in newer:
            abi = interpreter.short_name if interpreter.free_threaded else "abi3"
            if abi not in wheels:
                builder = interpreter if interpreter.free_threaded else main
                wheels[abi] = build_wheel(tools, builder)
            pythons.append((interpreter, test_environment(interpreter, tools, wheels[abi])))
    for interpreter, python in pythons:
        with steps.step(f"Python tests, {interpreter.name}"):
            run_pytest(python, everything=False, smoke=smoke)
    with steps.step("stress"):
        run_stress(pythons, SMOKE_STRESS_SECONDS if smoke else STRESS_BUDGET_SECONDS)


def main() -> int:
    """Run the tests on the newer interpreters and print where the time went."""
    parser = argparse.ArgumentParser(description="Test the newer and free-threaded CPythons.")
    newer_interpreters.add_names(parser)
    parser.add_argument(
        "--smoke", action="store_true", help="use only what is built, for two minutes"
    )
    options = parser.parse_args()

    steps = Steps()
    try:
        run_all(steps, options.names, smoke=options.smoke)
        failure = None
    except StepFailed as error:
        failure = error
    return steps.finish(failure)


if __name__ == "__main__":
    sys.exit(main())
