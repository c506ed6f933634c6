"""The command on every interpreter: what a program sees, and what is recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tachograph
from answers import tolerance

COMMAND = [sys.executable, "-m", "tachograph"]

PROGRAM = """\
import json, os, sys, time

def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(500))

work(0.4)
print(json.dumps([sys.argv, __name__, sys.path, sorted(os.environ), sys.orig_argv]))
sys.exit(3)
"""


def test_a_program_runs_as_it_would_alone_and_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["program.py", "--fast"]

    alone = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True)
    recorded = subprocess.run(
        [*COMMAND, "run", "-q", "-r", "1khz", *words], cwd=tmp_path, capture_output=True, text=True
    )

    assert (recorded.returncode, recorded.stderr) == (3, "")
    assert json.loads(recorded.stdout) == json.loads(alone.stdout)
    rows = tachograph.open(tmp_path / "program.tacho").functions(measure="cpu")
    assert "work" in {row.function for row in rows}


@pytest.mark.measures
def test_the_time_of_a_program_is_told_as_its_clock_does(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)

    subprocess.run([*COMMAND, "run", "-q", "-r", "1khz", "program.py"], cwd=tmp_path, check=False)

    recording = tachograph.open(tmp_path / "program.tacho")
    rows = recording.functions(measure="cpu")
    work = sum(row.total_weight for row in rows if row.function == "work")
    whole = sum(row.self_weight for row in rows)
    # How the whole is split is as good as its samples; some of it is the start of Python.
    chance = tolerance(0.4e9 / whole, recording.sample_count) * whole
    assert work == pytest.approx(0.4e9, abs=chance)


def test_a_family_of_processes_is_joined(tmp_path: Path) -> None:
    (tmp_path / "family.py").write_text(
        "import os, subprocess, sys\n"
        "if not os.fork(): os._exit(0)\n"
        "os.wait()\n"
        "subprocess.run([sys.executable, '-c', 'pass'], check=True)\n"
    )

    shown = subprocess.run(
        [*COMMAND, "run", "--subprocesses", "family.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert shown.returncode == 0, shown.stderr
    assert "family.py · exit 0 · 3 processes · " in shown.stderr


def test_files_are_looked_at_without_a_program(tmp_path: Path) -> None:
    with tachograph.record(tmp_path / "a.tacho"):
        pass

    shown = subprocess.run(
        [*COMMAND, "info", "a.tacho"], cwd=tmp_path, capture_output=True, text=True
    )

    assert shown.returncode == 0, shown.stderr
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"CPython {version}" in shown.stdout
