"""Libraries that are loaded and unloaded while threads are inside others, native frames on."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

from arena import Session, pieces, prepare, seconds_asked
from churn import callbacks_from_c, exceptions, generators, made_code

sys.path.insert(0, str(Path(__file__).parents[1] / "targets"))

import foreign_threads

DATA = bytes(range(256)) * 200


def compress() -> None:
    zlib.compress(DATA)


def come_and_go(libraries: list[Path]) -> Callable[[], None]:
    """Return work that loads a library, burns CPU in it and unloads it."""
    close = ctypes.CDLL(None).dlclose
    close.argtypes = [ctypes.c_void_p]
    turn = 0

    def work() -> None:
        nonlocal turn
        turn += 1
        foreign = foreign_threads.load(libraries[turn % len(libraries)])
        foreign.foreign_burn(0.002)
        foreign.run_in_c(0.002)
        close(foreign._handle)

    return work


def build_all(folder: Path) -> list[Path]:
    """Compile the same source in sizes that make base addresses come again."""
    libraries = []
    for number, padding in enumerate((0, 1, 5)):
        path = folder / f"libcome{number}.so"
        empty = folder / f"padding{number}.c"
        empty.write_text(f"char padding[{padding * 65536 + 1}] = {{1}};")
        options = ["-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-pthread"]
        compiler = shutil.which("gcc") or "cc"
        subprocess.run([compiler, *options, "-o", path, foreign_threads.SOURCE, empty], check=True)
        libraries.append(path)
    return libraries


def main() -> None:
    prepare()
    seconds = seconds_asked(__doc__ or "")
    with tempfile.TemporaryDirectory() as folder:
        coming = come_and_go(build_all(Path(folder)))
        kinds = [compress, callbacks_from_c, exceptions, generators, made_code]
        for trigger in ("tick", "perf"):
            session = Session(f"{trigger}, native", interval_ms=1, trigger=trigger, native=True)
            session.over(lambda: pieces(kinds, seconds / 2, 3, rare=[coming]))


if __name__ == "__main__":
    main()
