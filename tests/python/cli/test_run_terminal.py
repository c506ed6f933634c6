"""The line that shows a recording is being made, on a real terminal."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from terminal import Terminal, plain_environment

# Goes on until the file `enough` is there, where that is asked for.
TALKS = """\
import os, sys, time
for number in range(30):
    print("line", number, flush=True)
    time.sleep(0.06)
while sys.argv[1:] and not os.path.exists("enough"):
    time.sleep(0.02)
"""

LINE = re.compile(r"\x1b7\x1b\[24;1H\x1b\[2K(.*?)\x1b8")


def drawn_in(text: str) -> list[str]:
    """Return the lines that show a recording, as they were drawn."""
    return [line for line in LINE.findall(text) if "recording" in line]


def test_the_line_is_drawn_beside_the_programs_output_and_gone_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "talks.py").write_text(TALKS)

    screen = Terminal("run", "talks.py", "wait", folder=tmp_path, rows=24)
    screen.read_until(lambda text: len(drawn_in(text)) >= 2)
    (tmp_path / "enough").touch()
    assert screen.end() == 0

    drawn = drawn_in(screen.text)
    assert re.search(r"recording talks\.py  00:0\d  .*rss [\d.]+ MB", drawn[-1])
    assert "\x1b[31m●\x1b[0m" in drawn[-1]
    # The last row is taken out of what scrolls, and given back before the summary.
    assert "\x1b[1;23r" in screen.text
    given_back = screen.text.rindex("\x1b[24;1H\x1b[2K\x1b[r\x1b8")
    assert given_back < screen.text.index("tachograph · ")
    # Each line of the program is one write of its own, untouched.
    without = LINE.sub("", screen.text)
    assert [f"line {number}\r\n" in without for number in range(30)] == [True] * 30


def test_a_terminal_that_cannot_move_its_cursor_gets_no_line(tmp_path: Path) -> None:
    (tmp_path / "talks.py").write_text(TALKS)
    for change in ({"TERM": "dumb"}, {"CI": "true"}):
        screen = Terminal(
            "run", "--force", "talks.py", folder=tmp_path, environment=plain_environment(**change)
        )
        assert screen.end() == 0
        assert "recording talks.py" not in screen.text
        assert "tachograph · " in screen.text.replace("\x1b[2m", "")


def test_quiet_means_the_programs_output_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "talks.py").write_text(TALKS)

    screen = Terminal("run", "-q", "talks.py", folder=tmp_path)

    assert screen.end() == 0
    assert screen.text == "".join(f"line {number}\r\n" for number in range(30))


def test_the_program_has_the_terminal_for_its_input(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text("import sys\nprint(sys.stdin.isatty(), input('name? '))\n")

    screen = Terminal("run", "-q", "asks.py", folder=tmp_path)
    screen.read_until("name? ")
    screen.type("ada\n")

    assert screen.end() == 0
    assert "True ada" in screen.text


def test_a_resized_terminal_moves_the_line(tmp_path: Path) -> None:
    (tmp_path / "talks.py").write_text(TALKS)

    screen = Terminal("run", "talks.py", "wait", folder=tmp_path, rows=24)
    screen.read_until("\x1b[1;23r")
    screen.resize(30, 90)
    screen.read_until("\x1b[1;29r")
    (tmp_path / "enough").touch()

    assert screen.end() == 0


def test_a_stopped_command_gives_the_screen_back(tmp_path: Path) -> None:
    (tmp_path / "talks.py").write_text(TALKS)
    screen = Terminal("run", "talks.py", "wait", folder=tmp_path, rows=24)
    screen.read_until("\x1b[1;23r")

    screen.type("\x1a")
    _, status = os.waitpid(screen.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    screen.read_until("\x1b[r\x1b8")
    os.killpg(screen.pid, signal.SIGCONT)
    (tmp_path / "enough").touch()

    assert screen.end() == 0
    assert "line 29" in screen.text
