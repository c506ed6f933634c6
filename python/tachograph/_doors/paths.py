"""Where results go: refused before the run when they cannot be written, not after it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

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
