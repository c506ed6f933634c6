"""`tachograph top` on a terminal: what it shows, and what its keys do."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from outside_program import goes_on, kernel_letter, one_interpreter, started
from terminal import Terminal, tachograph

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LEAVES_SCREEN = "\x1b[?1049l"


def test_functions_are_shown_sorted_filtered_and_explained(tmp_path: Path) -> None:
    with started(one_interpreter().program, "waits") as pid:
        screen = Terminal("top", str(pid), folder=tmp_path, rows=24, columns=120)
        screen.show_until("outside.py")
        screen.show_until("burn ")
        screen.type("?")
        screen.show_until("sort by total time")
        screen.type("x/nothing_is_called_so\r")
        screen.show_until("no function has that")
        screen.type("q")

        assert screen.end() == 0
        assert goes_on(pid)
    assert LEAVES_SCREEN in screen.text, "the terminal is as it was"


def test_wall_mode_shows_threads_that_wait(tmp_path: Path) -> None:
    with started(one_interpreter().program, "waits") as pid:
        screen = Terminal("top", str(pid), "--mode", "wall", folder=tmp_path, rows=60, columns=120)
        screen.show_until("sleeper")
        screen.show_until("waiter")
        screen.type("\x03")

        assert screen.end() == 0


def test_a_program_that_ends_gives_the_terminal_back_and_says_so(tmp_path: Path) -> None:
    with started(one_interpreter().program, "waits") as pid:
        screen = Terminal("top", str(pid), folder=tmp_path, columns=120)
        screen.show_until("burn ")
        os.kill(pid, signal.SIGKILL)
        status = screen.end()

    assert status == 3
    assert f"process {pid} has ended" in ESCAPE.sub("", screen.text.rpartition(LEAVES_SCREEN)[2])


def test_a_kill_of_top_leaves_the_program_running(tmp_path: Path) -> None:
    with started(one_interpreter().program, "waits") as pid:
        screen = Terminal("top", str(pid), "-r", "5khz", folder=tmp_path, columns=120)
        screen.show_until("burn ")
        time.sleep(0.3)
        os.kill(screen.pid, signal.SIGKILL)
        screen.end()

        assert kernel_letter(pid) not in "tT"
        assert goes_on(pid)


def test_without_a_terminal_it_says_what_to_use_instead(tmp_path: Path) -> None:
    done = tachograph("top", "1", folder=tmp_path)

    assert done.returncode == 2
    assert "tachograph dump 1" in done.stderr
