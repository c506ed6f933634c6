"""``tachograph attach --heap``: the recorder is loaded into a program that runs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tachograph as package
from outside_program import INTERPRETERS, Interpreter, started
from terminal import COMMAND, plain_environment
from terminal import tachograph as command

# Says which process it is, then holds a megabyte more every few milliseconds.
GROWS = """\
import os, time

held = []

def grow():
    held.append(bytearray(1 << 20))
    until = time.thread_time() + 0.005
    while time.thread_time() < until:
        sum(range(500))

print(os.getpid(), flush=True)
while len(held) < 2000:
    grow()
    time.sleep(0.001)
"""

# Says which process it is, and runs no Python from then on.
WAITS = """\
import os, threading
print(os.getpid(), flush=True)
lock = threading.Lock()
lock.acquire()
lock.acquire()
"""

HAS_HOOK = [one for one in INTERPRETERS if one.version >= (3, 14) and not one.free_threaded]
NEEDS_HOOK = pytest.mark.skipif(not HAS_HOOK, reason="there is no CPython 3.14 with a GIL here")
EVERY = pytest.mark.parametrize("python", HAS_HOOK, ids=lambda one: one.name)


@pytest.fixture
def grows(tmp_path: Path) -> Path:
    program = tmp_path / "grows.py"
    program.write_text(GROWS)
    return program


@NEEDS_HOOK
@EVERY
def test_memory_and_time_of_a_running_program_are_recorded(
    python: Interpreter, grows: Path, tmp_path: Path
) -> None:
    with started(python.program, program=grows) as pid:
        shown = command("attach", "--heap", "-d", "1", str(pid), folder=tmp_path)
        assert shown.returncode == 0, shown.stderr
        assert Path(f"/proc/{pid}").exists(), "the program was to go on"

    recording = package.open(tmp_path / f"{pid}.tacho")
    # Blocks larger than a period are exact: whole megabytes, at least one.
    grown = [row for row in recording.allocations(at="live") if row.function == "grow"]
    assert sum(row.live_bytes for row in grown) >= 1 << 20
    assert "grow" in {row.function for row in recording.functions(measure="cpu")}
    assert recording.meta["command"][0].endswith("grows.py")
    assert recording.meta["python"]["version"].startswith("3.1")


@NEEDS_HOOK
def test_it_can_be_attached_to_again_and_leaves_no_name_behind(grows: Path, tmp_path: Path) -> None:
    grows.write_text(
        "import __main__\nbefore = None\n"
        + GROWS.replace(
            "    grow()\n    time",
            "    grow()\n"
            "    names = set(vars(__main__)) - {'before', 'names'}\n"
            "    assert before in (None, names), names\n"
            "    before = names\n    time",
        )
    )
    with started(HAS_HOOK[0].program, program=grows) as pid:
        for turn in range(2):
            path = tmp_path / f"{turn}.tacho"
            words = ("attach", "--heap", "-d", "0.5", "-o", str(path), str(pid))
            shown = command(*words, folder=tmp_path)
            assert shown.returncode == 0, shown.stderr
            package.open(path)
        assert Path(f"/proc/{pid}").exists()


@NEEDS_HOOK
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_the_recording_is_closed_inside_whatever_ends_the_command(
    how: signal.Signals, grows: Path, tmp_path: Path
) -> None:
    with started(HAS_HOOK[0].program, program=grows) as pid:
        path = tmp_path / "a.tacho"
        attached = subprocess.Popen(
            [*COMMAND, "attach", "-q", "--heap", "-o", str(path), str(pid)], env=plain_environment()
        )
        wait_until(lambda: path.exists() and path.stat().st_size > 0)
        attached.send_signal(how)
        assert attached.wait(60) == (0 if how == signal.SIGINT else -signal.SIGKILL)
        # The thread that listens is the last of ours to go.
        tasks = Path(f"/proc/{pid}/task")
        wait_until(lambda: not any(name.startswith("tacho-") for name in names_of(tasks)))
        package.open(path)


@NEEDS_HOOK
def test_a_program_that_ends_meanwhile_leaves_its_recording(tmp_path: Path) -> None:
    short, path = tmp_path / "short.py", tmp_path / "a.tacho"
    short.write_text(
        GROWS.replace(
            "while len(held) < 2000:\n",
            f"left = 100\nwhile left:\n    left -= os.path.exists({str(path)!r})\n",
        )
    )

    with started(HAS_HOOK[0].program, program=short) as pid:
        shown = command("attach", "--heap", "-o", path, str(pid), folder=tmp_path)

    assert shown.returncode == 3
    assert f"tachograph: process {pid} has ended\n" in shown.stderr
    package.open(path)


@NEEDS_HOOK
def test_a_main_thread_that_runs_no_python_is_told(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    with started(HAS_HOOK[0].program, program=tmp_path / "waits.py") as pid:
        shown = command("attach", "--heap", "-d", "1", str(pid), folder=tmp_path)

    assert shown.returncode == 3
    assert f"the main thread of process {pid} ran no Python code for 5 seconds" in shown.stderr
    assert not list(tmp_path.glob("*.tacho"))


@NEEDS_HOOK
def test_an_interpreter_that_lets_nobody_in_is_told(grows: Path, tmp_path: Path) -> None:
    environment = plain_environment(PYTHON_DISABLE_REMOTE_DEBUG="1")
    with started(HAS_HOOK[0].program, program=grows, environment=environment) as pid:
        shown = command("attach", "--heap", "-d", "1", str(pid), folder=tmp_path)

    assert shown.returncode == 3
    assert "PYTHON_DISABLE_REMOTE_DEBUG" in shown.stderr


@NEEDS_HOOK
def test_a_place_that_the_program_cannot_write_to_is_told(grows: Path, tmp_path: Path) -> None:
    with started(HAS_HOOK[0].program, program=grows) as pid:
        words = ("attach", "--heap", "-d", "1", "-o", "no/a.tacho", str(pid))
        shown = command(*words, folder=tmp_path)

    assert shown.returncode == 3
    assert f"process {pid} cannot be recorded: cannot write to " in shown.stderr


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it is about older ones")
def test_an_older_python_is_told_apart(grows: Path, tmp_path: Path) -> None:
    with started(sys.executable, program=grows) as pid:
        shown = command("attach", "--heap", "-d", "1", str(pid), folder=tmp_path)

    assert shown.returncode == 3
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"process {pid} runs CPython {version}, and only 3.14 and newer" in shown.stderr
    assert "  leave --heap out" in shown.stderr


FREE_THREADED = [one for one in INTERPRETERS if one.version >= (3, 14) and one.free_threaded]


@pytest.mark.skipif(not FREE_THREADED, reason="there is no free-threaded CPython 3.14 here")
@pytest.mark.skipif(
    not list(Path(package.__file__).parent.glob("_native.abi3.so")), reason="another wheel"
)
def test_a_process_that_cannot_load_the_package_is_told_how_to_get_it(
    grows: Path, tmp_path: Path
) -> None:
    with started(FREE_THREADED[0].program, program=grows) as pid:
        shown = command("attach", "--heap", "-d", "1", str(pid), folder=tmp_path)

    assert shown.returncode == 3
    assert f"process {pid} cannot load tachograph: " in shown.stderr
    assert "-m pip install tachograph==" in shown.stderr


def test_what_cannot_be_asked_for_is_wrong_usage(tmp_path: Path) -> None:
    pid = str(os.getpid())

    fast = command("attach", "--heap", "-r", "2khz", pid, folder=tmp_path)
    alone = command("attach", "--heap-rate", "64", pid, folder=tmp_path)

    assert fast.returncode == alone.returncode == 2
    assert "1000 times a second" in fast.stderr
    assert "--heap" in alone.stderr


def names_of(tasks: Path) -> list[str]:
    """Return the names of a process's threads that are still there."""
    names = []
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text())
    return names


def wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.02)
