"""Runs a command in a terminal of its own, as a person would."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

COMMAND = [sys.executable, "-m", "tachograph"]


def plain_environment(**more: str) -> dict[str, str]:
    """Return an environment in which nothing but `more` decides how text looks."""
    left_out = {"NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "CI", "LC_ALL", "LC_CTYPE", "LANG"}
    kept = {name: text for name, text in os.environ.items() if name not in left_out}
    return {**kept, "TERM": "xterm-256color", "LANG": "C.UTF-8", **more}


def tachograph(
    *words: str | Path, folder: Path, environment: dict[str, str] | None = None, text: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal."""
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=folder,
        env=environment or plain_environment(),
        input=text,
        capture_output=True,
        text=True,
        timeout=90,
    )


class Terminal:
    """A command on a terminal of `rows` and `columns`, with all it has written so far."""

    def __init__(
        self,
        *words: str | Path,
        folder: Path,
        environment: dict[str, str] | None = None,
        rows: int = 24,
        columns: int = 100,
    ) -> None:
        self.text = ""
        self.pid, self._screen = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(folder)
                size = struct.pack("HHHH", rows, columns, 0, 0)
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                command = [*COMMAND, *map(str, words)]
                os.execve(command[0], command, environment or plain_environment())
            finally:
                os._exit(127)

    def read_until(self, wanted: str | Callable[[str], bool], seconds: float = 60) -> None:
        """Read until a text has appeared, or all that was written is as it is wanted."""
        until = time.monotonic() + seconds
        while not (wanted in self.text if isinstance(wanted, str) else wanted(self.text)):
            assert self._read(until), f"{wanted!r} never appeared in {self.text!r}"

    def show_until(self, text: str, seconds: float = 60) -> None:
        """Read until `text` stands on the screen, whatever way it was drawn."""
        until = time.monotonic() + seconds
        while text not in picture(self.text):
            assert self._read(until), f"{text!r} never appeared in\n{picture(self.text)}"

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._screen, text.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self, seconds: float = 60) -> int:
        """Read to the end and return the exit status, negative for a signal."""
        until = time.monotonic() + seconds
        while self._read(until):
            pass
        if time.monotonic() > until:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self._screen)
        return os.waitstatus_to_exitcode(status)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return False
        try:
            found = os.read(self._screen, 1 << 16)
        except OSError:  # the other side is closed
            return False
        self.text += found.decode(errors="replace")
        return bool(found)


PART = re.compile(r"\x1b\[(?P<numbers>[0-9;?]*)(?P<letter>[A-Za-z])|(?P<text>[^\x1b])|\x1b.")


def picture(written: str) -> str:
    """Return what stands on a screen on which programs move the cursor and write."""
    cells: dict[tuple[int, int], str] = {}
    row = column = 1
    for part in PART.finditer(written):
        if (letter := part["text"]) is not None:
            if letter == "\r":
                column = 1
            elif letter == "\n":
                row += 1
            else:
                cells[row, column] = letter
                column += 1
        elif part["letter"] == "H":
            numbers = [int(number or 1) for number in part["numbers"].split(";")]
            row, column = (*numbers, 1, 1)[:2] if part["numbers"] else (1, 1)
        elif part["letter"] == "J" and part["numbers"] == "2":
            cells.clear()
    rows = range(1, max((row for row, _ in cells), default=0) + 1)
    width = max((column for _, column in cells), default=0)
    columns = range(1, width + 1)
    return "\n".join("".join(cells.get((row, at), " ") for at in columns) for row in rows)
