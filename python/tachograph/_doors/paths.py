"""Where results go: refused before the run when they cannot be written, not after it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

_REMEDY = "choose a directory that exists and is writable"


def writable_path(path: str | PathLike[str]) -> str:
    """Return `path` as an absolute path that can be written to.

    A file that is there keeps its contents; none is left behind otherwise.

    Raises:
        PermissionError: The file or its directory does not let us write.
        FileNotFoundError: The directory does not exist.
        OSError: Anything else that keeps the file from being written.
    """
    absolute = os.path.abspath(os.fspath(path))
    existed = os.path.lexists(absolute)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        os.close(os.open(absolute, flags, 0o666))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        message = f"cannot write to {absolute!r} ({reason}); {_REMEDY}"
        raise OSError(error.errno, message) from None
    if not existed:
        os.unlink(absolute)
    return absolute
