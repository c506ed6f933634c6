"""Runs a block in a process and a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Long enough for a dozen samples at the default interval, and it allocates.
DO_WORK = """
import time

def do_work(cpu_seconds=0.2):
    end = time.thread_time() + cpu_seconds
    kept = []
    while time.thread_time() < end:
        kept.append(bytearray(1000))
        sum(i * i for i in range(1000))
    return len(kept)
"""


def run_script(script: str, folder: Path) -> None:
    """Run `script` in `folder`; what it prints is shown when it fails."""
    file = folder / "block.py"
    file.write_text(script, encoding="utf-8")
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    done = subprocess.run(
        [sys.executable, file.name],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n--- the script:\n{script}"
