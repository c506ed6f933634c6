"""Threads started in C: one burns CPU there, one calls back into Python.

Right answer: both are seen although nobody registered them. The C thread's
samples have no Python frame; those of the other stand in `called_back`. `run_*`
return the CPU nanoseconds the thread used.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from pathlib import Path

from clockwork import rounds_per_ms

SOURCE = Path(__file__).with_name("foreign_threads.c")


def build(folder: Path, *flags: str) -> ctypes.CDLL:
    """Compile the C half into `folder` and load it."""
    library = folder / "libforeign.so"
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise RuntimeError("no C compiler was found; install gcc")
    options = ["-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-pthread", *flags]
    subprocess.run([compiler, *options, "-o", library, SOURCE], check=True)
    return load(library)


def load(library: Path) -> ctypes.CDLL:
    """Load the compiled C half."""
    foreign = ctypes.CDLL(str(library))
    foreign.foreign_burn.argtypes = [ctypes.c_double]
    foreign.foreign_burn.restype = ctypes.c_uint64
    foreign.run_in_c.argtypes = [ctypes.c_double]
    return foreign


def called_back(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def run_in_c(foreign: ctypes.CDLL, cpu_seconds: float) -> None:
    """Burn CPU in a thread of C, while this one waits without the GIL."""
    foreign.run_in_c(cpu_seconds)


def run_in_python(foreign: ctypes.CDLL, cpu_seconds: float) -> int:
    """Work in `called_back` on a thread of C; return its CPU nanoseconds."""
    rounds = int(rounds_per_ms() * cpu_seconds * 1000)
    spent: list[int] = []

    def callback() -> None:
        begin = time.thread_time_ns()
        called_back(rounds)
        spent.append(time.thread_time_ns() - begin)

    foreign.run_in_python(ctypes.CFUNCTYPE(None)(callback))
    return spent[0]
