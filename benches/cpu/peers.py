"""Other profilers: how they are installed, and what they cost the same workloads.

They live in an environment of their own in the user's cache folder, so that the
package under test keeps none of their dependencies. A peer that cannot be
installed is left out, and said.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
PACKAGES = ("py-spy", "pyinstrument", "scalene", "echion")

Command = Callable[[Path, int], list[str]]


def py_spy(binaries: Path, interval_ms: int) -> list[str]:
    rate = str(1000 // interval_ms)
    options = ["record", "-r", rate, "-d", "unlimited", "-f", "raw", "-o", "out.txt", "--"]
    return [str(binaries / "py-spy"), *options, str(binaries / "python")]


def scalene(binaries: Path, interval_ms: int) -> list[str]:
    rate = str(interval_ms / 1000)
    options = ["run", "--cpu-only", "-o", "out.json", "--cpu-sampling-rate", rate]
    return [str(binaries / "python"), "-m", "scalene", *options]


def echion(binaries: Path, interval_ms: int) -> list[str]:
    options = ["-i", str(interval_ms * 1000), "-o", "out.echion"]
    return [str(binaries / "echion"), *options, str(binaries / "python")]


def alone(binaries: Path, interval_ms: int) -> list[str]:
    del interval_ms
    return [str(binaries / "python")]


WRAPPERS: dict[str, Command] = {"py-spy": py_spy, "scalene": scalene, "echion": echion}


def environment() -> Path:
    """Return the folder with the peers' programs, made on first use."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "tachograph" / f"bench-peers-{sys.version_info[0]}.{sys.version_info[1]}"
    binaries = folder / "bin"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [binaries / "python", "-m", "pip", "install", "-q"]
        for package in (*PACKAGES, "numpy"):
            result = subprocess.run([*install, package], capture_output=True, check=False)
            if result.returncode != 0:
                print(f"{package} cannot be installed here: it is left out", file=sys.stderr)
        (folder / "complete").touch()
    return binaries


def ratios(peer: str, workload: str, interval_ms: int, pairs: int) -> tuple[float, float] | None:
    """Return the wall and CPU ratio of `workload` under `peer`; None if it does not run.

    The CPU is the program's own: a profiler in another process hides its own here.
    """
    binaries = environment()
    walls, cpus = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(pairs):
            base = _steady(alone(binaries, interval_ms), workload, folder, None)
            if base is None:
                return None
            command = WRAPPERS[peer](binaries, interval_ms)
            with_peer = _steady(command, workload, folder, base["units"])
            if with_peer is None:
                return None
            walls.append(with_peer["wall"] / base["wall"])
            cpus.append(with_peer["cpu"] / base["cpu"])
    return median(walls), median(cpus)


def _steady(
    command: list[str], workload: str, folder: str, units: float | None
) -> dict[str, float] | None:
    result = Path(folder) / "steady.json"
    result.unlink(missing_ok=True)
    words = [*command, str(HERE / "steady.py"), workload, "1.5"]
    if units is not None:
        words.append(str(int(units)))
    try:
        subprocess.run(words, cwd=folder, capture_output=True, timeout=90, check=False)
        return json.loads(result.read_text())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
