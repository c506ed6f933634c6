"""Starts programs that are read from outside, and knows which stacks they can have."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "tests" / "targets" / "outside.py"

sys.path.insert(0, str(ROOT / "tools"))

from interpreters import Interpreter, find_interpreters  # noqa: E402

INTERPRETERS = find_interpreters(newer=True, oldest=(3, 9))


def one_interpreter() -> Interpreter:
    """Return the interpreter for tests that one version decides."""
    shared = [one for one in INTERPRETERS if one.shared and one.version >= (3, 12)]
    return (shared or INTERPRETERS)[0]


@contextmanager
def started(
    python: Path | str,
    *words: str,
    before: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    program: Path | str = PROGRAM,
) -> Iterator[int]:
    """Run the program until the block is left; gives its process id once it is ready."""
    process = subprocess.Popen(
        [*before, str(python), str(program), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the program ended before it was ready"
        yield int(line)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def wait_for_bytes(path: Path, seconds: float = 60) -> None:
    """Wait until a recording has been begun: an interpreter is started before that."""
    until = time.monotonic() + seconds
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < until, "the recording never began"
        time.sleep(0.01)


class Frame(NamedTuple):
    """A Python frame of a collapsed stack."""

    function: str
    file: str
    line: int


FRAME = re.compile(r"(?P<function>.+?) \((?P<file>.+):(?P<line>\d+)\)$")


def collapsed_stacks(text: str) -> Iterator[tuple[list[Frame], int]]:
    """Yield the Python frames of every stack, outermost first, and its weight."""
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        matches = (FRAME.match(frame) for frame in stack.split(";"))
        frames = [
            Frame(match["function"].rpartition(".")[2], match["file"], int(match["line"]))
            for match in matches
            if match
        ]
        yield frames, int(count)


@functools.cache
def legal_calls() -> dict[int, str]:
    """Return which function may be called on each line of the program."""
    found = {}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        match = re.search(r"# -> (\w+)", line)
        if match:
            found[number] = match[1]
    return found


def impossible(frames: list[Frame]) -> str:
    """Return what is impossible about a stack of the main thread, or nothing."""
    if not frames or frames[0].function != "<module>":
        return "it does not begin at the module"
    for caller, callee in pairwise(frames):
        if legal_calls().get(caller.line) != callee.function:
            return f"{callee.function} is not called in line {caller.line}"
    return ""


def kernel_letter(pid: int) -> str:
    """Return the kernel's letter for what a process does; `t` and `T` are stopped."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(") ")[2][0]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def goes_on(pid: int, seconds: float = 60) -> bool:
    """Whether a busy process uses CPU time from now on."""
    before, until = cpu_seconds(pid), time.monotonic() + seconds
    while time.monotonic() < until:
        if cpu_seconds(pid) > before and kernel_letter(pid) not in "tT":
            return True
        time.sleep(0.01)
    return False
