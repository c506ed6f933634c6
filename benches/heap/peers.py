"""Other memory profilers: how they are installed, and how each is run.

They live in an environment of their own in the user's cache folder. A peer that
cannot be installed is left out, and said. Everything runs on that environment's
interpreter, with tachograph made importable beside them, so that all ratios are
of one interpreter and one numpy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tachograph

HERE = Path(__file__).parent
PACKAGES = ("numpy", "memray", "scalene")
PEERS = ("memray", "memray objects", "tracemalloc", "scalene")
OURS = ("tachograph 512", "tachograph 64")


def interpreter() -> Path:
    """Return the interpreter that has the peers, made on first use."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache / "tachograph" / f"bench-heap-peers-{version}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        for package in PACKAGES:
            install = [python, "-m", "pip", "install", "-q", package]
            if subprocess.run(install, capture_output=True, check=False).returncode != 0:
                print(f"{package} cannot be installed here: it is left out", file=sys.stderr)
        (folder / "complete").touch()
    return python


def has(module: str) -> bool:
    """Tell whether the peers' interpreter can import `module`."""
    words = [interpreter(), "-c", f"import {module}"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def cpu_of(tool: str, workload: str, units: int) -> dict[str, float] | None:
    """Run `workload` under `tool`; return its units and CPU seconds, None if it failed."""
    words: list[str | Path] = [interpreter()]
    if tool == "scalene":
        words += ["-m", "scalene", "run", "-o", os.devnull]
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "steady.json"
        words += [HERE / "steady.py", workload, str(units), tool, result]
        path = os.path.dirname(os.path.dirname(tachograph.__file__))
        try:
            subprocess.run(
                words,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                timeout=120,
                check=False,
            )
            found: dict[str, float] = json.loads(result.read_text())
            return found
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None
