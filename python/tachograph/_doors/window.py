"""A door's window on the session: opened, asked for figures, finished once.

Every open window is known here, so that a program that exits while recording
still leaves its file, and a forked child does not take its parent's windows
for its own.
"""

from __future__ import annotations

import atexit
import os
from _thread import RLock

from .._native import Client, format_of
from ..exceptions import TachographError
from . import host
from .paths import Claim, writable_path
from .warn import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from .._native import Recording as NativeRecording
    from .._native import _Stats
    from .settings import Settings

_MB = 1 << 20

# Ten readings of the machine a second cost less than can be measured.
_MACHINE_NS = 100_000_000

_lock = RLock()
_open_windows: dict[int, Window] = {}
_exit_hook_is_set = False


class Window:
    """A stretch of time that one door records.

    Args:
        settings: How to record.
        path: Where the result goes when the window is finished.
        fallback: The format of a file whose name does not say one.
    """

    __slots__ = (
        "_claim",
        "_client",
        "_finished",
        "_finishing",
        "_format",
        "_pid",
        "path",
        "settings",
    )

    def __init__(
        self,
        settings: Settings,
        path: str | PathLike[str] | None = None,
        *,
        fallback: str = "speedscope",
    ) -> None:
        self.settings = settings
        self.path = None if path is None else writable_path(path)
        self._format = None if self.path is None else format_of(self.path) or fallback
        self._pid = os.getpid()
        self._finished: NativeRecording | None = None
        self._finishing = RLock()
        self._claim = Claim(self.path)
        try:
            # Only a recording can be written while it is made.
            in_file = self.path if self._format == "tacho" else None
            self._client = open_client(settings, in_file)
        except BaseException:
            self._claim.give_back()
            raise
        _remember(self)

    @property
    def is_own(self) -> bool:
        """Whether this process opened it; false in a forked child."""
        return self._pid == os.getpid()

    @property
    def is_open(self) -> bool:
        """Whether it is still recording."""
        return self._finished is None and self.is_own

    def stats(self) -> _Stats | None:
        """Return live figures, or ``None`` once it is finished."""
        return self._client.stats() if self.is_open else None

    def finish(self) -> NativeRecording:
        """Close the window and return what it recorded; again and again the same.

        A result that cannot be written to its file is announced with a
        ``RuntimeWarning`` and stays in memory.
        """
        if not self.is_own:
            raise TachographError(
                f"this window belongs to process {self._pid}, which forked this one; "
                "start a new one here"
            )
        with self._finishing:
            if self._finished is None:
                names = host.thread_names()
                self._finished, file_error = self._client.finish(names)
                _forget(self)
                try:
                    self._deliver(self._finished, file_error)
                finally:
                    self._claim.give_back()
            return self._finished

    def _deliver(self, recording: NativeRecording, file_error: str | None) -> None:
        """Write the file, unless it was written while recording."""
        if self.path is None:
            return
        problem = file_error
        if self._format != "tacho":
            try:
                recording.save(self.path, self._format, None)
            except OSError as error:
                problem = error.strerror or str(error)
            except TachographError as error:
                problem = str(error)
        if problem is not None:
            warn(f"{self.path!r} is not complete: {problem}; save it elsewhere")


def open_client(settings: Settings, path: str | None) -> Client:
    """Open a window on the session that writes to `path` while it records."""
    heap = (settings.heap_rate_kb * 1024, True, settings.native, 0)
    return Client.open(
        interval_ns=settings.interval_ns,
        mode=settings.mode,
        trigger=settings.trigger,
        native=settings.native,
        max_depth=settings.max_depth,
        path=path,
        memory_limit_bytes=settings.memory_limit_mb * _MB,
        source=settings.source,
        heap=heap if settings.heap else None,
        python=host.python_facts(),
        command=host.command(),
        roots=host.roots(),
        thread_names=host.thread_names(),
        machine_interval_ns=_MACHINE_NS if settings.machine else None,
    )


def _remember(window: Window) -> None:
    global _exit_hook_is_set
    with _lock:
        _open_windows[id(window)] = window
        if not _exit_hook_is_set:
            atexit.register(_finish_all)
            _exit_hook_is_set = True


def _forget(window: Window) -> None:
    with _lock:
        _open_windows.pop(id(window), None)


def _finish_all() -> None:
    """Finish what is still open, so that its file is complete."""
    for window in list(_open_windows.values()):
        try:
            window.finish()
        except Exception as error:
            warn(f"a recording could not be finished: {error}")


def _forget_all() -> None:
    """Start afresh in a forked child; another thread may have held the lock."""
    global _lock
    _lock = RLock()
    _open_windows.clear()


os.register_at_fork(after_in_child=_forget_all)
