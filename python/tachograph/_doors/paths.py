"""Where results go: refused before the run when they cannot be written, not after it."""

from __future__ import annotations

import os
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

# Names of files that windows of this process are writing or will write.
_taken: set[str] = set()
_lock = RLock()

# What the kernel says of a file in use; `errno` need not be imported for it.
_EBUSY = 16

_REMEDY = "choose a directory that exists and is writable"
_REMEDY_FOR_DIRECTORY = "name a file in it"


def writable_path(path: str | PathLike[str]) -> str:
    """Return `path` as an absolute path that can be written to.

    A file that is there keeps its contents; none is left behind otherwise.

    Raises:
        PermissionError: The file or its directory does not let us write.
        FileNotFoundError: The directory does not exist.
        IsADirectoryError: It is a directory.
        OSError: Anything else that keeps the file from being written.
        TypeError: It is no path at all.
    """
    try:
        absolute = os.path.abspath(os.fsdecode(path))
    except TypeError:
        raise TypeError(f"a path must be a str or a PathLike, not {path!r}") from None
    existed = os.path.lexists(absolute)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        os.close(os.open(absolute, flags, 0o666))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        remedy = _REMEDY_FOR_DIRECTORY if os.path.isdir(absolute) else _REMEDY
        message = f"cannot write to {absolute!r} ({reason}); {remedy}"
        raise OSError(error.errno, message) from None
    if not existed:
        os.unlink(absolute)
    return absolute


class Claim:
    """A file that one window alone writes, until it is given back.

    Args:
        path: An absolute path, or ``None`` for a window without a file. Pipes
            and devices can be written to by several.

    Raises:
        OSError: Another window of this process has it.
    """

    __slots__ = ("_name",)

    def __init__(self, path: str | None) -> None:
        self._name: str | None = None
        if path is None or (os.path.exists(path) and not os.path.isfile(path)):
            return
        name = os.path.realpath(path)
        with _lock:
            if name in _taken:
                raise OSError(
                    _EBUSY,
                    f"another recording of this process is being written to {path!r}; "
                    "choose another name, or finish that one first",
                )
            _taken.add(name)
        self._name = name

    def give_back(self) -> None:
        """Let others write it."""
        if self._name is not None:
            _taken.discard(self._name)
            self._name = None


def _forget_all() -> None:
    """Start afresh in a forked child, which writes none of its parent's files."""
    global _lock
    _lock = RLock()
    _taken.clear()


os.register_at_fork(after_in_child=_forget_all)
