"""Runs target programs, and texts of a few lines, on the interpreter under test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TARGETS = Path(__file__).parent


class Programs:
    """Runs programs in one folder, with the targets importable."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(
        self, *arguments: str | Path, timeout: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run the interpreter with `arguments`; unless told not to, demand success."""
        result = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(TARGETS)},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and result.returncode != 0:
            told = f"status {result.returncode}\n{result.stdout}{result.stderr}"
            raise subprocess.SubprocessError(told)
        return result

    def text(
        self, text: str, *arguments: str | Path, timeout: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run `text` as a program."""
        program = self.folder / "program.py"
        program.write_text(text)
        return self.run(program, *arguments, timeout=timeout, check=check)
