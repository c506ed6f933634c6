"""Runs everything `make test` promises, and stops at the first step that fails.

Lints, Rust tests, then one wheel, built once, on every interpreter of the
machine: all tests on the main version, those that depend on the version on the
others, the flame graph in a browser, and the stress programs on each.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from browser import run_browser_tests
from environments import install_wheel, test_environment, tool_environment
from interpreters import Interpreter, find_interpreters, missing_minors, table
from steps import ROOT, StepFailed, Steps, run
from suite import run_pytest, run_stress
from wheels import build_wheel

WANTED_MINORS = [(3, 11), (3, 12), (3, 13)]
MAIN_MINOR = (3, 12)
STRESS_BUDGET_SECONDS = 200

# The extension module leaves Python's symbols to the interpreter that loads
# it, so a test program of that crate cannot be linked; pytest tests it.
CARGO_TESTS = ("cargo", "test", "--workspace", "--locked", "--exclude", "tachograph-py")


def main_interpreter(found: list[Interpreter]) -> Interpreter:
    """Return the one that runs every test: the main version, else the newest."""
    of_main_version = [one for one in found if one.minor == MAIN_MINOR]
    return (of_main_version or found)[-1]


def check_interpreters(found: list[Interpreter], required_minors: int) -> None:
    """Say which versions are missing; fail when fewer than required are there."""
    print(table(found))
    missing = missing_minors(found, WANTED_MINORS)
    if missing:
        print(f"missing: CPython {', '.join(missing)}; what they alone would show is not tested")
    present = {one.minor for one in found}
    if len(present) < required_minors:
        raise StepFailed(
            f"{len(present)} minor versions of CPython found, {required_minors} required; "
            f"install {', '.join(missing)}, for example with pyenv"
        )


def lint_rust(environment: dict[str, str]) -> None:
    """Check the form of the Rust code and deny every warning of Clippy."""
    run("cargo", "fmt", "--check")
    clippy = ("cargo", "clippy", "--workspace", "--all-targets", "--locked")
    run(*clippy, "--", "-D", "warnings", environment=environment)


def lint_python(tools: Path) -> None:
    """Check the form and the types of the Python code, and the stubs."""
    run(tools, "-m", "ruff", "check")
    run(tools, "-m", "ruff", "format", "--check")
    run(tools, "-m", "mypy", "--strict", "python/tachograph")
    sources = {"MYPYPATH": str(ROOT / "python")}
    stubtest = (tools, "-m", "mypy.stubtest", "--mypy-config-file", "pyproject.toml")
    run(*stubtest, "tachograph", environment=sources)


def run_all(steps: Steps, required_minors: int, stress_seconds: int) -> None:
    """Run the steps in order; the first failure is raised as `StepFailed`."""
    with steps.step("interpreters"):
        found = find_interpreters()
        check_interpreters(found, required_minors)
        main = main_interpreter(found)
    python_of_rust = {
        "PYO3_PYTHON": str(main.program),
        # What the interpreter reader's tests read from outside.
        "TACHOGRAPH_TEST_PYTHONS": os.pathsep.join(str(one.program) for one in found),
    }

    with steps.step("tools"):
        tools = tool_environment(main)
    with steps.step("Rust lints"):
        lint_rust(python_of_rust)
    with steps.step("Rust tests"):
        run(*CARGO_TESTS, environment=python_of_rust)
    with steps.step("wheel"):
        wheel = build_wheel(tools, main)
    with steps.step("environments"):
        pythons = [(one, test_environment(one, tools, wheel)) for one in found]
        install_wheel(tools, tools, wheel)
    with steps.step("Python lints"):
        lint_python(tools)
    for interpreter, python in sorted(pythons, key=lambda pair: pair[0] != main):
        with steps.step(f"Python tests, {interpreter.name}"):
            run_pytest(python, everything=interpreter == main)
    with steps.step("browser"):
        run_browser_tests(tools, dict(pythons)[main])
    with steps.step("stress"):
        run_stress(pythons, stress_seconds)


def main() -> int:
    """Run the suite and print where the time went."""
    parser = argparse.ArgumentParser(description="Run all lints and tests.")
    in_ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
    parser.add_argument(
        "--require-minors",
        type=int,
        default=len(WANTED_MINORS) if in_ci else 1,
        metavar="N",
        help="fail below N minor versions of CPython (default: 3 when CI is set, otherwise 1)",
    )
    parser.add_argument(
        "--stress-seconds",
        type=int,
        default=STRESS_BUDGET_SECONDS,
        metavar="SECONDS",
        help="time for all stress programs together (default: %(default)s)",
    )
    options = parser.parse_args()

    steps = Steps()
    try:
        run_all(steps, options.require_minors, options.stress_seconds)
        failure = None
    except StepFailed as error:
        failure = error
    return steps.finish(failure)


if __name__ == "__main__":
    sys.exit(main())
