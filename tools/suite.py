"""The Python tests of one interpreter: pytest and the stress programs.

Both `run_tests.py` and `test_newer.py` run these, so that a newer interpreter
passes the very tests the others pass.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interpreters import Interpreter
from steps import ROOT, run

ALL_TESTS = ("tests/python", "tests/accuracy")
# What another interpreter could change; the rest is decided by one version.
VERSION_TESTS = ("tests/python/integration", "tests/python/unit/test_native_frames.py")
SMOKE_TESTS = ("tests/python/integration/test_stacks.py",)
STRESS_FOLDER = ROOT / "tests" / "stress"

# The heap's hooks change other libraries while they run, so they are strained longest.
STRESS_SHARES = {"stress_heap.py": 8}

# A stress program shorter than this has hardly started its threads.
SHORTEST_STRESS_SECONDS = 3

# An environment that must not leak in: it would change what is recorded.
CLEAN = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1"}


def run_pytest(python: Path, *, everything: bool, smoke: bool = False) -> None:
    """Run the tests of one interpreter.

    Args:
        python: The interpreter of an environment with the wheel under test.
        everything: Run also the tests that one version decides: those outside of
            `VERSION_TESTS`, and those marked `full_only`.
        smoke: Run only the tests that a new frame layout would break first.
    """
    tests = SMOKE_TESTS if smoke else ALL_TESTS if everything else VERSION_TESTS
    selection = () if everything else ("-m", "not full_only")
    run(python, "-m", "pytest", "-q", *tests, *selection, environment=CLEAN)


def stress_programs() -> list[Path]:
    """Return the programs that strain the recorder for a given time."""
    return sorted(STRESS_FOLDER.glob("stress_*.py"))


def run_stress(pythons: list[tuple[Interpreter, Path]], budget_seconds: int) -> None:
    """Run every stress program on every interpreter within about `budget_seconds`.

    Two interpreters are strained at a time: that the machine is busy is part of it.
    """
    programs = stress_programs()
    if not programs or not pythons:
        print("no stress programs")
        return
    at_once = min(2, os.cpu_count() or 1, len(pythons))
    shares = [STRESS_SHARES.get(program.name, 1) for program in programs]
    share_seconds = budget_seconds * at_once / len(pythons) / sum(shares)
    seconds = [max(SHORTEST_STRESS_SECONDS, int(share * share_seconds)) for share in shares]

    def strain(python: Path) -> None:
        for program, long in zip(programs, seconds, strict=True):
            run(python, program, "--seconds", str(long), environment=CLEAN, quiet=True)

    for program, long in zip(programs, seconds, strict=True):
        print(f"{program.name}: {long} s on each of {len(pythons)} interpreters", flush=True)
    with ThreadPoolExecutor(at_once) as workers:
        for done in [workers.submit(strain, python) for _, python in pythons]:
            done.result()
