"""Builds the wheels that the tests install.

One stable-ABI wheel serves every interpreter with a GIL. A free-threaded one
has another ABI and gets a wheel of its own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from interpreters import Interpreter
from steps import ROOT, StepFailed, run

WHEELS = ROOT / ".wheels"


def build_wheel(tools: Path, interpreter: Interpreter) -> Path:
    """Build the wheel that `interpreter` installs and return its path."""
    folder = WHEELS / (interpreter.short_name if interpreter.free_threaded else "abi3")
    shutil.rmtree(folder, ignore_errors=True)
    run(
        *(tools, "-m", "maturin", "build", "--release", "--locked"),
        *("--interpreter", interpreter.program, "--out", folder),
        environment={"PYO3_PYTHON": str(interpreter.program)},
    )
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise StepFailed(f"expected one wheel in {folder}, found {[one.name for one in wheels]}")
    return wheels[0]
