"""Fork, exec, exit and second interpreters while a recording runs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import children
import pytest
import subinterpreters
import tachograph
from answers import counts_by_function, fewest_looks, short
from clockwork import cpu_ns, rounds_per_ms, spin
from programs import TARGETS, Programs

ONCE_A_MILLISECOND = 1


def test_a_forked_child_is_not_recording_and_can_start() -> None:
    def child() -> None:
        assert not tachograph.is_active()
        assert tachograph.stats() is None
        tachograph.start(interval_ms=1)
        spent = cpu_ns(spin, rounds_per_ms() * 200)
        profile = tachograph.stop()
        counts = counts_by_function(profile, ["spin"])
        assert counts["spin"] > max(fewest_looks(profile, spent), 0), counts

    tachograph.start(interval_ms=1)
    spent = cpu_ns(spin, rounds_per_ms() * 50)
    status = children.in_forked_child(child)
    spent += cpu_ns(spin, rounds_per_ms() * 200)
    profile = tachograph.stop()

    assert status == 0
    assert counts_by_function(profile, ["spin"])["spin"] > max(fewest_looks(profile, spent), 0)


def test_a_child_forked_without_a_session_can_start() -> None:
    def child() -> None:
        tachograph.start(interval_ms=1)
        spent = cpu_ns(spin, rounds_per_ms() * 100)
        profile = tachograph.stop()
        assert len(profile.samples) > max(fewest_looks(profile, spent), 0)

    assert children.in_forked_child(child) == 0


def test_a_child_that_only_exits_leaves_the_parents_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "parent.tacho"
    tachograph.start(interval_ms=1, output_path=path)
    spin(rounds_per_ms() * 50)
    child = os.fork()
    if child == 0:
        # An ordinary end of a child runs what `atexit` holds.
        try:
            import atexit

            atexit._run_exitfuncs()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    spent = cpu_ns(spin, rounds_per_ms() * 100)
    profile = tachograph.stop()

    reopened = tachograph.open(path)
    assert sum(row.self_weight for row in reopened.functions()) > 0
    assert counts_by_function(profile, ["spin"])["spin"] > max(fewest_looks(profile, spent), 0)


def test_forking_again_and_again_under_sampling_never_hangs() -> None:
    tachograph.start(interval_ms=1)
    statuses = Counter(children.in_forked_child(lambda: spin(100) and None) for _ in range(100))
    tachograph.stop()

    assert statuses == {0: 100}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_works_while_recording(method: str) -> None:
    tachograph.start(interval_ms=1)
    with multiprocessing.get_context(method).Pool(2) as pool:
        squares = pool.map(children.square, range(20))
    profile = tachograph.stop()

    assert squares == [number * number for number in range(20)]
    assert len(profile.samples) > 0


def test_subprocesses_work_while_recording() -> None:
    tachograph.start(interval_ms=1)
    answers = {
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", "print(6 * 7)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(10)
    }
    tachograph.stop()

    assert answers == {"42"}


@pytest.mark.parametrize("trigger", ["tick", "perf", "cpu-timer"])
def test_the_program_put_in_its_place_by_exec_survives(programs: Programs, trigger: str) -> None:
    for attempt in range(8):
        arguments = ("1", trigger, str(20 + attempt))
        result = programs.run(TARGETS / "exec_again.py", *arguments)
        assert result.stdout == "survived"


EXITS = {
    "by falling off the end": ("", 0),
    "by sys.exit": ("sys.exit(3)", 3),
    "by an exception": ("raise ValueError('on purpose')", 1),
    "with a busy daemon thread": (
        "threading.Thread(target=lambda: [spin(100) for _ in iter(int, 1)], daemon=True).start()\n"
        "spin(rounds_per_ms() * 50)",
        0,
    ),
}


@pytest.mark.parametrize("how", EXITS)
def test_a_program_that_exits_while_recording_leaves_its_file(programs: Programs, how: str) -> None:
    text, status = EXITS[how]
    result = programs.text(
        "import sys, threading, tachograph\n"
        "from clockwork import rounds_per_ms, spin\n"
        "tachograph.start(interval_ms=1, output_path='left.tacho')\n"
        "spin(rounds_per_ms() * 200)\n" + text,
        check=False,
    )

    assert result.returncode == status, result.stderr
    names = {row.function for row in tachograph.open(programs.folder / "left.tacho").functions()}
    assert "spin" in {short(name) for name in names}


def test_a_program_that_leaves_by_os_exit_dies_quietly(programs: Programs) -> None:
    programs.text(
        "import os, tachograph\n"
        "from clockwork import rounds_per_ms, spin\n"
        "tachograph.start(interval_ms=1)\n"
        "spin(rounds_per_ms() * 100)\n"
        "os._exit(0)\n"
    )


def test_a_killed_program_leaves_a_readable_recording(programs: Programs) -> None:
    result = programs.text(
        "import os, signal, tachograph\n"
        "from clockwork import rounds_per_ms, spin\n"
        "tachograph.start(interval_ms=1, output_path='killed.tacho')\n"
        "spin(rounds_per_ms() * 2500)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        check=False,
    )

    assert result.returncode == -signal.SIGKILL
    recording = tachograph.open(programs.folder / "killed.tacho")
    spun = sum(row.total_weight for row in recording.functions() if short(row.function) == "spin")
    # At most the last second or so is lost.
    assert spun > 0.8e9


def test_a_start_that_fails_leaves_an_earlier_recording_alone(programs: Programs) -> None:
    result = programs.text(
        "import os, pathlib, resource, tachograph\n"
        "path = pathlib.Path('earlier.tacho')\n"
        "tachograph.start(interval_ms=1, output_path=path)\n"
        "tachograph.stop()\n"
        "earlier = path.read_bytes()\n"
        "most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "failed = 0\n"
        "for room in range(8):\n"
        "    used = max(map(int, os.listdir('/proc/self/fd')))\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (used + room, most))\n"
        "    try:\n"
        "        tachograph.start(interval_ms=1, output_path=path)\n"
        "    except (OSError, tachograph.TachographError):\n"
        "        failed += 1\n"
        "        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n"
        "        assert path.read_bytes() == earlier, room\n"
        "    else:\n"
        "        tachograph.stop()\n"
        "        break\n"
        "print(failed)\n"
    )

    assert int(result.stdout) > 0


def test_a_second_interpreter_is_no_harm() -> None:
    if subinterpreters.interpreters() is None:
        pytest.skip("this Python cannot make interpreters")
    tachograph.start(interval_ms=1)
    for _ in range(5):
        subinterpreters.run(0.08)
    profile = tachograph.stop()

    fewest = fewest_looks(profile, 5 * 0.08e9)
    assert len(profile.samples) > max(fewest, 0)
    if sys.version_info >= (3, 12):
        counts = counts_by_function(profile, ["in_the_other_interpreter"])
        assert counts["in_the_other_interpreter"] > max(fewest, 0)
