"""Builds the stand-in driver libraries and runs programs that use them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

STAND_INS = Path(__file__).parents[2] / "stand_ins"

Program = Callable[..., str]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the libraries: nvml.so, nvml_old.so, cuda.so."""
    folder = tmp_path_factory.mktemp("stand_ins")
    for name, source, flags in (
        ("nvml", "nvml", []),
        ("nvml_old", "nvml", ["-DOLD_DRIVER"]),
        ("cuda", "cuda", []),
    ):
        command = ["gcc", "-O1", "-shared", "-fPIC", "-pthread", *flags]
        command += ["-o", str(folder / f"{name}.so"), str(STAND_INS / f"{source}.c")]
        subprocess.run(command, check=True)
    return folder


@pytest.fixture
def program(libraries: Path, tmp_path: Path) -> Program:
    """Return what runs a program in a fresh process and gives what it printed."""

    def run(
        code: str,
        *,
        nvml: str | None = "nvml",
        cuda: str | None = "cuda",
        fail: str = "",
        environment: dict[str, str] | None = None,
    ) -> str:
        given = {
            "PYTHONPATH": f"{STAND_INS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "PYTHONFAULTHANDLER": "1",
            "STAND_IN_FAIL": fail,
            "TACHOGRAPH_NVML_LIBRARY": str(libraries / f"{nvml}.so") if nvml else "",
            "TACHOGRAPH_CUDA_LIBRARY": str(libraries / f"{cuda}.so") if cuda else "",
            "TACHOGRAPH_SYS": str(tmp_path / "no_sys"),
            **(environment or {}),
        }
        file = tmp_path / "program.py"
        file.write_text(code, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(file)],
            env={**os.environ, **given},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
