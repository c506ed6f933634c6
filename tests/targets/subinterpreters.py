"""Python code in a second interpreter of the same process.

Right answer: no crash; where the version lets a thread tell its interpreter,
samples stand in `in_the_other_interpreter`.
"""

from __future__ import annotations

import importlib
from types import ModuleType

TEXT = """
import time

def in_the_other_interpreter(seconds):
    total = 0
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for number in range(1000):
            total += number * number % 7
    return total

in_the_other_interpreter({seconds})
"""


def interpreters() -> ModuleType | None:
    """Return the module that makes interpreters, under whichever name."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def run(seconds: float) -> None:
    """Work for `seconds` of CPU time in a second interpreter."""
    module = interpreters()
    if module is None:
        raise RuntimeError("this Python cannot make interpreters")
    number = module.create()
    try:
        module.run_string(number, TEXT.format(seconds=seconds))
    finally:
        module.destroy(number)
