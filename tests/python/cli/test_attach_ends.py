"""Whatever ends a recording, the program goes on and the recording can be read."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import tachograph as package
from outside_program import (
    cpu_seconds,
    goes_on,
    kernel_letter,
    one_interpreter,
    started,
    wait_for_bytes,
)
from terminal import COMMAND, Terminal, plain_environment, tachograph


def test_a_kill_at_any_moment_leaves_the_program_running_and_a_readable_recording(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)
    with started(one_interpreter().program, "threads", "2") as pid:
        for number in range(8):
            path = tmp_path / f"{number}.tacho"
            words = ["attach", str(pid), "-o", str(path), "-r", "5khz", "--quiet"]
            recorder = subprocess.Popen([*COMMAND, *words], env=plain_environment())
            wait_for_bytes(path)
            time.sleep(chance.uniform(0, 2.5))
            recorder.send_signal(signal.SIGKILL)
            recorder.wait()

            assert kernel_letter(pid) not in "tT"
            assert goes_on(pid)
            assert package.open(path) is not None


def test_all_but_the_last_second_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "out.tacho"
    with started(one_interpreter().program, "deep", "5") as pid:
        words = ["attach", str(pid), "-o", str(path), "--quiet"]
        recorder = subprocess.Popen([*COMMAND, *words], env=plain_environment())
        wait_for_bytes(path)
        begin = cpu_seconds(pid)
        time.sleep(3.2)
        used = cpu_seconds(pid) - begin
        recorder.kill()
        recorder.wait()

    text = tachograph(
        "export", path, "-f", "collapsed", "-o", "-", "--measure", "cpu", folder=tmp_path
    )
    recorded = sum(int(line.rpartition(" ")[2]) for line in text.stdout.splitlines()) / 1e9
    # It is written once a second, a little later on a busy machine.
    assert recorded >= used - 1.5


def test_control_c_ends_the_recording_in_good_order(tmp_path: Path) -> None:
    with started(one_interpreter().program, "deep", "5") as pid:
        screen = Terminal("attach", str(pid), "-o", "out.tacho", folder=tmp_path)
        screen.read_until("recording outside.py")
        time.sleep(0.7)
        screen.type("\x03")
        status = screen.end()

        assert status == 0, screen.text
        assert goes_on(pid)
    assert "tachograph report out.tacho" in screen.text
    assert package.open(tmp_path / "out.tacho") is not None


def held_at_most(pid: int, looks: int = 1000) -> float:
    """Return a share of its time that a program is not held for longer than, while it is read."""
    held = 0
    for _ in range(looks):
        # Also while it waits for a processor on which to stop.
        held += "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()
        time.sleep(0.001)
    # Four standard errors of the count, and nine for one that may be none by chance.
    return (held + 4 * math.sqrt(held) + 9) / looks


def test_a_recorder_that_is_itself_stopped_does_not_stop_the_program(tmp_path: Path) -> None:
    path = tmp_path / "out.tacho"
    with started(one_interpreter().program, "deep", "5") as pid:
        words = ["attach", str(pid), "-o", str(path), "--quiet"]
        recorder = subprocess.Popen([*COMMAND, *words], env=plain_environment())
        wait_for_bytes(path)
        # Nothing can put off this signal, so it may come while a thread is held: 0.1 ms of
        # 10 ms, and on a busy machine as long as either of the two waits for a processor.
        by_chance = 10 * held_at_most(pid)
        stuck = 0
        for _ in range(10):
            recorder.send_signal(signal.SIGSTOP)
            stuck += not goes_on(pid, seconds=2)
            recorder.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait() == 0

    assert stuck <= by_chance + 4 * math.sqrt(by_chance), by_chance


def test_a_program_that_ends_is_said_with_status_3_and_keeps_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "out.tacho"
    with started(one_interpreter().program, "ends", str(path)) as pid:
        done = tachograph("attach", str(pid), "-o", path, "-r", "1khz", folder=tmp_path)

    assert done.returncode == 3
    assert f"process {pid} has ended" in done.stderr
    assert "tachograph run" in done.stderr
    assert package.open(path) is not None


def test_a_program_that_nobody_waited_for_has_ended(tmp_path: Path) -> None:
    # Its parent, this test, does not take note of its end until the block is left.
    python = one_interpreter().program
    program = subprocess.Popen([python, "-c", "import time; time.sleep(0.4)"])
    try:
        words = ("attach", str(program.pid), "-o", "out.tacho", "--mode", "wall")
        done = tachograph(*words, folder=tmp_path)
    finally:
        program.kill()
        program.wait()

    assert done.returncode == 3
    assert f"process {program.pid}" in done.stderr


def test_a_program_that_execs_is_said_with_status_3(tmp_path: Path) -> None:
    with started(one_interpreter().program, "exec") as pid:
        done = tachograph("attach", str(pid), "-o", "out.tacho", "-d", "20", folder=tmp_path)
        assert kernel_letter(pid) not in "tT"

    assert done.returncode == 3
    # A slow machine may find only what came after.
    assert "exec" in done.stderr or "no CPython" in done.stderr, done.stderr


@pytest.mark.parametrize("verb", ["attach", "dump"])
def test_a_process_that_is_not_python_is_said_with_status_3(verb: str, tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        done = tachograph(verb, str(sleeper.pid), folder=tmp_path)
    finally:
        sleeper.kill()
        sleeper.wait()

    assert done.returncode == 3
    assert f"process {sleeper.pid}" in done.stderr
    assert "sleep) runs no CPython" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["attach", "dump"])
def test_a_pid_that_is_not_there_is_said_with_status_3(verb: str, tmp_path: Path) -> None:
    done = tachograph(verb, "4194304", folder=tmp_path)

    assert done.returncode == 3
    assert "there is no process 4194304" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
@pytest.mark.parametrize("verb", ["attach", "dump"])
def test_a_process_of_another_user_is_said_with_its_remedy(verb: str, tmp_path: Path) -> None:
    endless = "import os; print(os.getpid(), flush=True); [0 for _ in iter(int, 1)]"
    other = subprocess.Popen(
        ["/usr/bin/python3", "-c", endless],
        user=65534,
        cwd="/",
        stdout=subprocess.PIPE,
        text=True,
        env={},
    )
    try:
        assert other.stdout is not None
        pid = int(other.stdout.readline())
        # Root may read everything, unless it has given that right away.
        without = ["setpriv", "--bounding-set", "-sys_ptrace"]
        words = [*without, *COMMAND, verb, str(pid)]
        done = subprocess.run(
            words, cwd=tmp_path, env=plain_environment(), capture_output=True, text=True
        )
    finally:
        other.kill()
        other.communicate()

    assert done.returncode == 3, done.stderr
    assert "belongs to user 65534 and you are user 0" in done.stderr
    assert "sudo" in done.stderr


def test_a_recording_is_not_replaced_unless_told(tmp_path: Path) -> None:
    (tmp_path / "out.tacho").write_text("precious")

    done = tachograph("attach", str(os.getpid()), "-o", "out.tacho", folder=tmp_path)

    assert done.returncode == 2
    assert (tmp_path / "out.tacho").read_text() == "precious"
