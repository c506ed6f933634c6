"""Signals reach the program, and the recording survives whatever ends it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tachograph
from answers import missed_looks
from terminal import COMMAND, Terminal, plain_environment

# Says when it has begun, then works until something ends it, and writes down
# how much CPU time it has used.
ENDLESS = """\
import time

def work():
    used = time.thread_time()
    with open("used", "w") as file:
        while True:
            sum(range(500))
            file.seek(0)
            file.write(f"{time.thread_time() - used:.6f}")
            file.flush()

print("ready", flush=True)
work()
"""


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    program = tmp_path / "endless.py"
    program.write_text(ENDLESS)
    return program


def begin(*words: str, folder: Path, start_new_session: bool = False) -> subprocess.Popen[str]:
    """Start a command and wait until its program has begun."""
    started = subprocess.Popen(
        [*COMMAND, "run", *words],
        cwd=folder,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=start_new_session,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def wait_for_work(folder: Path, cpu_seconds: float) -> float:
    """Wait until the program says that it has used so much; returns what it says."""
    file = folder / "used"
    while not (file.exists() and float(file.read_text() or 0) >= cpu_seconds):
        time.sleep(0.01)
    return float(file.read_text())


def child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0])


def recorded_work(path: Path) -> float:
    rows = tachograph.open(path).functions(measure="cpu")
    return sum(row.total_weight for row in rows if row.function == "work") / 1e9


@pytest.mark.parametrize("to_whom", ["us", "the program"])
def test_sigterm_ends_the_program_and_keeps_all_of_the_recording(
    to_whom: str, endless: Path, tmp_path: Path
) -> None:
    run = begin("-r", "1khz", "-o", "a.tacho", endless.name, folder=tmp_path)
    program = child_of(run.pid)
    used_before = wait_for_work(tmp_path, 0.3)
    os.kill(run.pid if to_whom == "us" else program, signal.SIGTERM)
    _, told = run.communicate(timeout=60)

    assert run.returncode == -signal.SIGTERM
    assert " · killed by SIGTERM · " in told.splitlines()[0]
    used = float((tmp_path / "used").read_text())
    # Nothing waits for the next second's batch; while the files are completed the program
    # works on. The thread's clock is shared out over its looks, and the work is one stretch:
    # at both ends one look may have too much or too little, and those the recorder says it
    # missed.
    path = tmp_path / "a.tacho"
    recorded = recorded_work(path)
    unseen = 0.01 + (2 + missed_looks(tachograph.open(path).profile)) * 0.001
    assert used_before - unseen <= recorded <= used + unseen


def test_a_handler_of_the_program_has_the_signal_to_itself(tmp_path: Path) -> None:
    (tmp_path / "handles.py").write_text(
        "import signal, sys, time\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(8))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.01)\n"
    )
    run = begin("-o", "a.tacho", "handles.py", folder=tmp_path)

    run.terminate()
    run.communicate(timeout=60)

    assert run.returncode == 8
    tachograph.open(tmp_path / "a.tacho")


def test_other_signals_are_passed_on(tmp_path: Path) -> None:
    (tmp_path / "counts.py").write_text(
        "import signal, sys\n"
        "signal.signal(signal.SIGUSR1, lambda *_: print('one', flush=True))\n"
        "signal.signal(signal.SIGUSR2, lambda *_: sys.exit(2))\n"
        "print('ready', flush=True)\n"
        "while True: signal.pause()\n"
    )
    run = begin("-q", "-o", "a.tacho", "counts.py", folder=tmp_path)

    run.send_signal(signal.SIGUSR1)
    assert run.stdout is not None
    assert run.stdout.readline() == "one\n"
    run.send_signal(signal.SIGUSR2)
    run.communicate(timeout=60)

    assert run.returncode == 2


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    code = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    line = f"trap '' HUP; {' '.join(COMMAND)} run -q -o a.tacho -c '{code}'"

    shown = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=plain_environment(), capture_output=True, text=True
    )

    assert shown.stdout == "True\n", shown.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_death_by_a_signal_is_passed_on(number: signal.Signals, tmp_path: Path) -> None:
    code = f"import os, signal; os.kill(os.getpid(), {int(number)})"

    shown = subprocess.run(
        [*COMMAND, "run", "-q", "-o", "a.tacho", "-c", code],
        cwd=tmp_path,
        env=plain_environment(),
        stderr=subprocess.DEVNULL,
    )

    assert shown.returncode == -number


def test_a_program_killed_at_any_moment_leaves_all_but_its_last_second(
    endless: Path, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    for attempt in range(3):
        path = tmp_path / f"{attempt}.tacho"
        run = begin("-q", "-o", path.name, endless.name, folder=tmp_path)
        time.sleep(moments.uniform(1.2, 3.0))
        os.kill(child_of(run.pid), signal.SIGKILL)
        run.communicate(timeout=60)

        assert run.returncode == -signal.SIGKILL
        used = float((tmp_path / "used").read_text() or 0)
        kept = recorded_work(path)
        # A batch is written every second; 0.3 s more for one that came late on a
        # busy machine. In CPU time, which never passes faster than the clock.
        assert used - kept < 1.3, (used, kept)
        assert kept < used + 0.05


def test_ctrl_c_is_the_programs_and_keeps_the_recording(endless: Path, tmp_path: Path) -> None:
    screen = Terminal("run", "-o", "a.tacho", endless.name, folder=tmp_path)
    screen.read_until("ready")
    wait_for_work(tmp_path, 0.3)
    screen.type("\x03")
    status = screen.end()

    assert status == -signal.SIGINT  # Python ends by the signal after its traceback
    assert screen.text.count("KeyboardInterrupt") == 1
    assert "killed by SIGINT" in screen.text
    assert recorded_work(tmp_path / "a.tacho") > 0.05


def test_our_own_death_does_not_end_the_program(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import os, time\nprint('ready', flush=True)\n"
        "while not os.path.exists('alone'): time.sleep(0.02)\n"
        "open('done', 'w').close()\n"
    )
    run = begin("-q", "-o", "a.tacho", "slow.py", folder=tmp_path)
    child = child_of(run.pid)

    run.kill()
    run.wait()
    (tmp_path / "alone").touch()

    until = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert (tmp_path / "done").exists()
    # Nobody was left to give it its name.
    tachograph.open(tmp_path / f"a.{run.pid}.tacho")


def test_a_second_sigterm_does_not_wait(tmp_path: Path) -> None:
    code = (
        "import os, signal, time\n"
        "import tachograph._native as native\n"
        "os.kill(os.getpid(), signal.SIGTERM); os.kill(os.getpid(), signal.SIGTERM)\n"
        "time.sleep(30)\n"
    )
    began = time.monotonic()

    shown = subprocess.run(
        [*COMMAND, "run", "-q", "-o", "a.tacho", "-c", code], cwd=tmp_path, env=plain_environment()
    )

    assert shown.returncode == -signal.SIGTERM
    assert time.monotonic() - began < 25


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_forked_child_that_is_not_recorded_dies_of_sigterm(tmp_path: Path) -> None:
    code = (
        "import os, signal, time\n"
        "child = os.fork()\n"
        "if not child: time.sleep(60); os._exit(0)\n"
        "time.sleep(0.1); os.kill(child, signal.SIGTERM)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )

    shown = subprocess.run(
        [*COMMAND, "run", "-q", "-o", "a.tacho", "-c", code],
        cwd=tmp_path,
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=50,
    )

    assert shown.stdout == "-15\n"
