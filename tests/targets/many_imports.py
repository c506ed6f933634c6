"""Imports modules whose bodies do the work, and runs text that is made and dropped.

Right answer: the code of a module's body is freed as soon as the import is over,
and still every sample in it names its file and a line of its loop. The same
holds for text that `exec` runs: no function keeps its code alive.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

# The loop is on the second and third line after the blank ones.
TEXT = """\
{blank}total = 0
for number in range({rounds}):
    total += number * number % 7
"""
HOT_LINES = (2, 3)
WAITING_TEXT = """\
from time import sleep
{blank}sleep({seconds})
"""
MOST_BLANK = 40


def blank_lines(number: int) -> int:
    """Return how many lines stand before the text of module `number`."""
    return number * 7 % MOST_BLANK


def text(number: int, rounds: int) -> str:
    """Return the text of module `number`."""
    return TEXT.format(blank="\n" * blank_lines(number), rounds=rounds)


def write(folder: Path, count: int, rounds: int) -> None:
    """Write `count` modules that each take `rounds` rounds to import."""
    for number in range(count):
        (folder / f"made_module_{number}.py").write_text(text(number, rounds))


def write_waiting(folder: Path, count: int, seconds: float) -> None:
    """Write `count` modules that each wait on their last line."""
    for number in range(count):
        body = WAITING_TEXT.format(blank="\n" * blank_lines(number), seconds=seconds)
        (folder / f"made_module_{number}.py").write_text(body)


def run_imports(folder: Path, count: int) -> None:
    """Import the modules in `folder`, and forget them."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        for number in range(count):
            importlib.import_module(f"made_module_{number}")
            del sys.modules[f"made_module_{number}"]
    finally:
        sys.path.remove(str(folder))


def run_texts(count: int, rounds: int) -> None:
    """Compile, run and drop `count` texts, each under a file name of its own."""
    for number in range(count):
        exec(compile(text(number, rounds), f"<text {number}>", "exec"), {})
