"""``--subprocesses``: a program and its children in one view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tachograph
from answers import missed_looks
from terminal import tachograph as command

# Four jobs of 0.2 CPU seconds each, in two processes; prints what they really used.
POOL = """\
import multiprocessing, os, sys, time

def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(500))
    return os.getpid(), seconds + time.thread_time() - until

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(2) as pool:
        done = pool.map(work, [0.2] * 4, chunksize=1)
    print(len({pid for pid, _ in done}) <= 2, sum(used for _, used in done))
"""


def work_seconds(path: Path) -> float:
    rows = tachograph.open(path).functions(measure="cpu")
    return sum(row.total_weight for row in rows if row.function == "work") / 1e9


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_work_of_a_pool_is_all_there(method: str, tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(POOL)

    shown = command(
        "run", "--subprocesses", "-r", "1khz", "-o", "a.tacho", "pool.py", method, folder=tmp_path
    )

    assert shown.returncode == 0, shown.stderr
    are_two, used = shown.stdout.split()
    assert are_two == "True"
    assert " processes · " in shown.stderr.splitlines()[0]
    # A pool ends its processes with SIGTERM; nothing of the last second is lost. The clock
    # of a thread is shared out over its looks, so each of the four jobs may have one look
    # too much or too little at either end, and those that the recorder says it missed.
    path = tmp_path / "a.tacho"
    unseen = (8 + missed_looks(tachograph.open(path).profile)) * 0.001
    assert work_seconds(path) == pytest.approx(float(used), abs=0.02 + unseen)
    assert list(tmp_path.glob("*.tacho")) == [tmp_path / "a.tacho"]


def test_children_by_fork_spawn_and_exec_are_members(tmp_path: Path) -> None:
    (tmp_path / "family.py").write_text(
        "import os, subprocess, sys\n"
        "if not os.fork(): os._exit(0)\n"
        "os.wait()\n"
        "subprocess.run([sys.executable, '-c', 'pass'])\n"
        "subprocess.run([sys.executable, '-c', 'pass'], env=dict(os.environ))\n"
        "os.execv(sys.executable, [sys.executable, '-c', 'pass'])\n"
    )

    shown = command("run", "--subprocesses", "-o", "a.tacho", "family.py", folder=tmp_path)

    assert shown.returncode == 0, shown.stderr
    facts = json.loads(command("info", "a.tacho", "--json", folder=tmp_path).stdout)
    # The program, its fork, two it started, and what it became.
    assert facts["counts"]["processes"] == 5


def test_without_the_option_children_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(POOL)

    shown = command("run", "-o", "a.tacho", "pool.py", "fork", folder=tmp_path)

    assert shown.returncode == 0, shown.stderr
    assert work_seconds(tmp_path / "a.tacho") == 0
    assert list(tmp_path.glob("*.tacho")) == [tmp_path / "a.tacho"]


def test_a_process_that_outlives_the_program_is_named(tmp_path: Path) -> None:
    # It says that it runs, closes what it has of ours, and goes on until it is told to end.
    (tmp_path / "child.py").write_text(
        "import os, time\n"
        "os.write(1, b'up')\n"
        "os.close(1)\n"
        "until = time.monotonic() + 60\n"
        "while not os.path.exists('enough') and time.monotonic() < until:\n"
        "    time.sleep(0.05)\n"
    )
    (tmp_path / "daemon.py").write_text(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, 'child.py'], stdout=subprocess.PIPE,"
        " stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)\n"
        "assert child.stdout.read() == b'up'\n"
    )

    shown = command("run", "--subprocesses", "-o", "a.tacho", "daemon.py", folder=tmp_path)
    (tmp_path / "enough").touch()

    assert shown.returncode == 0
    assert "still runs; its recording is " in shown.stderr
    assert len(list(tmp_path.glob("a.*.tacho"))) == 1
