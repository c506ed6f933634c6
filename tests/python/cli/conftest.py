"""Lets the tests of the command line import their terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[2] / "targets"))

DATA = Path(__file__).parents[2] / "data"

BUSY = """\
import sys, time

def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(500))

before = time.thread_time()
work(float(sys.argv[1]))
with open("worked", "w") as file:
    file.write(f"{time.thread_time() - before:.9f}")
"""


@pytest.fixture
def recording() -> Path:
    """Return a recording that never changes."""
    return DATA / "train.tacho"


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    """Return a program that works for as many CPU seconds as it is told.

    What it really used is in the file `worked`.
    """
    program = tmp_path / "busy.py"
    program.write_text(BUSY)
    return program
