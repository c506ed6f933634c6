"""The tools that are compared, and the programs they look at."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


def our_command() -> Path:
    """Return the command, built for speed; `TACHOGRAPH_BINARY` names another."""
    if named := os.environ.get("TACHOGRAPH_BINARY"):
        return Path(named)
    build = ["cargo", "build", "--release", "-q", "-p", "tachograph-cli"]
    subprocess.run(build, cwd=ROOT, check=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return folder / "release" / "tachograph"


def py_spy_command() -> Path | None:
    """Return py-spy, installed on first use; None if it cannot be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "tachograph" / "bench-attach"
    program = folder / "bin" / "py-spy"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [folder / "bin" / "python", "-m", "pip", "install", "-q", "py-spy"]
        subprocess.run(install, check=False, capture_output=True)
    return program if program.exists() else None


@dataclass(frozen=True)
class Program:
    """A running worker."""

    pid: int
    numbers: mmap.mmap

    def done(self) -> int:
        """Return how much work all threads have done."""
        return sum(struct.unpack(f"<{len(self.numbers) // 8}Q", self.numbers[:]))

    def pace(self, seconds: float) -> float:
        """Return the work done per second during the next `seconds`."""
        begin, before = time.perf_counter(), self.done()
        time.sleep(seconds)
        return (self.done() - before) / (time.perf_counter() - begin)


@contextmanager
def worker(depth: int, threads: int = 1, python: str = sys.executable) -> Iterator[Program]:
    """Run a worker until the block is left."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(8 * threads))
        file.flush()
        numbers = mmap.mmap(file.fileno(), 8 * threads)
        words = [python, str(HERE / "worker.py"), str(depth), str(threads), file.name]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            time.sleep(0.3)
            yield Program(pid, numbers)
        finally:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Run:
    """What a recording took."""

    samples: int
    cpu_seconds: float
    wall_seconds: float


class Recording:
    """A tool that is recording in the background."""

    def __init__(self, name: str, program: Path, pid: int, rate: int, folder: Path) -> None:
        self.name, self.program = name, program
        self.path = folder / f"{name}.out"
        self.path.unlink(missing_ok=True)
        if name == "py-spy":
            options = ["record", "-p", pid, "-r", rate, "-d", "3600", "-f", "raw", "-o", self.path]
        else:
            options = ["attach", pid, "-r", rate, "-o", self.path, "--quiet", "--no-source"]
            if name == "tachograph (Python frames)":
                options.append("--no-native")
        words = [str(program), *map(str, options)]
        self.before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.begin = time.perf_counter()
        self.process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
        )

    def stop(self) -> Run:
        """End the recording and say what it took."""
        wall = time.perf_counter() - self.begin
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=120)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - self.before.ru_utime - self.before.ru_stime
        return Run(self._samples(), cpu, wall)

    def _samples(self) -> int:
        if not self.path.exists():
            return 0
        if self.name == "py-spy":
            lines = self.path.read_text().splitlines()
            return sum(int(line.rpartition(" ")[2]) for line in lines)
        export = [str(self.program), "export", str(self.path), "-f", "collapsed", "-o", "-"]
        text = subprocess.run(export, capture_output=True, text=True, check=True).stdout
        return sum(int(line.rpartition(" ")[2]) for line in text.splitlines())
