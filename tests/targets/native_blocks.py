"""Blocks that C allocates with and without the interpreter lock.

Right answer: `keep` holds what it was asked for, at its own line, whichever
thread of C allocated it.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("native_blocks.c")


class NativeBlocks:
    """The C half, compiled into `folder` and loaded."""

    def __init__(self, folder: Path) -> None:
        library = folder / "libblocks.so"
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            raise RuntimeError("no C compiler was found; install gcc")
        options = ["-O2", "-shared", "-fPIC", "-pthread"]
        subprocess.run([compiler, *options, "-o", library, SOURCE], check=True)
        self._free = ctypes.CDLL(str(library))
        self._locked = ctypes.PyDLL(str(library))
        for half in (self._free, self._locked):
            for name in ("native_keep", "native_keep_in_thread", "native_keep_at_fork"):
                getattr(half, name).argtypes = [ctypes.c_size_t, ctypes.c_size_t]
            half.native_resize.argtypes = [ctypes.c_size_t]

    def keep(self, number: int, size: int, *, how: str = "with the lock") -> int:
        """Keep `number` blocks of `size` bytes; return how many bytes that is."""
        if how == "with the lock":
            self._locked.native_keep(number, size)
        elif how == "without the lock":
            self._free.native_keep(number, size)
        else:
            self._free.native_keep_in_thread(number, size)
        return number * size

    def keep_at_fork(self, number: int, size: int) -> None:
        """Keep as much in a thread of C before each fork, which waits for the thread."""
        self._free.native_keep_at_fork(number, size)

    def resize(self, size: int) -> None:
        """Give every block a new size."""
        self._free.native_resize(size)

    def drop(self) -> None:
        """Free everything."""
        self._free.native_drop()
