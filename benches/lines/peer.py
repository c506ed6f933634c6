"""line_profiler in the same process, used as its documentation shows.

It is installed on first use into a folder of the user's cache; if it cannot be
installed it is left out, and said.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rounds import Case, Prepared
from workloads import Work


def make_importable() -> None:
    """Install it if need be, and let this process import it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}{sys.abiflags}"
    folder = cache / "tachograph" / f"bench-line-peer-{version}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        install = [sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
        command = [*install, "--target", str(folder), "--upgrade", "line_profiler"]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            print("line_profiler cannot be installed here: it is left out", file=sys.stderr)
        (folder / "complete").touch()
    sys.path.append(str(folder))


def case(work: Work) -> Case | None:
    """Return `work` profiled by line_profiler; `None` if it is not there."""
    try:
        from line_profiler import LineProfiler
    except ImportError:
        return None
    profiler = LineProfiler()
    profiler.add_function(work)
    return Prepared(work, profiler.enable_by_count, profiler.disable_by_count)
