"""The door of ``tachograph run``: records this process from its start to its end."""

from __future__ import annotations

import os
import sys

from .._native import finish_when_told_to_end
from . import host
from .fork_warning import keep_quiet_about_own_threads
from .settings import settings_of
from .window import Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_window: Window | None = None


def start(wishes: dict[str, str]) -> None:
    """Open the recording that the command line asked for.

    Args:
        wishes: What ``tachograph run`` put into the environment.

    Raises:
        OSError: The recording cannot be written.
        TachographError: This interpreter or machine cannot be sampled.
    """
    is_family = wishes["family"] == "1"
    if not _open(wishes):
        return
    _exit_after_finishing()
    keep_quiet_about_own_threads()
    if is_family:
        os.register_at_fork(after_in_child=lambda: _open_in_child(wishes))


def _open(wishes: dict[str, str]) -> bool:
    """Claim a file and record into it; false if another process was first."""
    global _window
    path = _claim(wishes["output"], wishes["family"] == "1")
    if path is None:
        return False
    settings = settings_of(wishes)
    host.started_script = wishes.get("script", "")
    try:
        _window = Window(settings, path, fallback="tacho")
    except BaseException:
        os.unlink(path)
        raise
    finish_when_told_to_end()
    return True


def _claim(output: str, is_family: bool) -> str | None:
    """Create the file for this process's recording.

    A family has one for each process, and one more for each program that a
    process becomes. Otherwise the first Python that starts is recorded.
    """
    stem = output.removesuffix(".tacho")
    number = 1
    while True:
        path = output
        if is_family:
            path = f"{stem}.{os.getpid()}{f'-{number}' if number > 1 else ''}.tacho"
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        except FileExistsError:
            if not is_family:
                return None
            number += 1
        else:
            return path


def _open_in_child(wishes: dict[str, str]) -> None:
    """Record a forked child; it runs on whatever happens."""
    try:
        _open(wishes)
    except Exception as error:
        print(f"tachograph: cannot record process {os.getpid()}: {error}", file=sys.stderr)


def _finish() -> None:
    if _window is not None and _window.is_open:
        _window.finish()


def _exit_after_finishing() -> None:
    """Let ``os._exit`` finish the recording: it runs no exit handlers.

    Children of ``multiprocessing`` end by it, all of them.
    """
    leave = os._exit

    def _exit(status: int) -> NoReturn:
        try:
            _finish()
        finally:
            leave(status)

    _exit.__doc__ = leave.__doc__
    _exit.__qualname__ = "_exit"
    _exit.__module__ = leave.__module__
    os._exit = _exit
