"""The heap's hooks under everything that loads, forks, ends or allocates at once."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from arena import prepare, seconds_asked
from tachograph import _native

HERE = Path(__file__).parent

# Each is a way to link that makes the loader treat the slots of a library differently.
WAYS = {
    "lazy": ["-Wl,-z,lazy", "-Wl,-z,norelro"],
    "lazy_relro": ["-Wl,-z,lazy", "-Wl,-z,relro"],
    "now": ["-Wl,-z,now", "-Wl,-z,relro"],
    "no_plt": ["-fno-plt", "-Wl,-z,now", "-Wl,-z,relro"],
    "relr": ["-Wl,-z,pack-relative-relocs", "-Wl,-z,now"],
    "table": ["-DPOINTERS=6000", "-Wl,-z,now", "-Wl,-z,relro"],
    "table_lazy": ["-DPOINTERS=6000", "-Wl,-z,lazy", "-Wl,-z,relro"],
    "table_open": ["-DPOINTERS=6000", "-Wl,-z,lazy", "-Wl,-z,norelro"],
}

COUNTS = (
    *("opened", "forked", "allocated", "threads", "walked"),
    *("stuck", "hung", "failed", "damaged"),
)


def compile_c(source: Path, target: Path, options: list[str]) -> None:
    compiler = shutil.which("gcc") or "cc"
    shared = ["-O1", "-shared", "-fPIC", "-pthread", "-fno-builtin"]
    subprocess.run([compiler, *shared, *options, "-o", target, source], check=True)


class Storm:
    """The C threads, from `with` to its end."""

    def __init__(self, folder: Path) -> None:
        self.libraries = []
        for name, options in WAYS.items():
            library = folder / f"libstorm_{name}.so"
            compile_c(HERE / "heap_storm_library.c", library, options)
            self.libraries.append(str(library).encode())
        driver = folder / "libstorm.so"
        compile_c(HERE / "heap_storm.c", driver, [])
        self.driver = ctypes.CDLL(str(driver))

    def __enter__(self) -> Storm:
        names = (ctypes.c_char_p * len(self.libraries))(*self.libraries)
        self.driver.storm_begin(names, len(self.libraries))
        return self

    def __exit__(self, *_: object) -> None:
        counts = (ctypes.c_uint64 * len(COUNTS))()
        self.driver.storm_end(counts)
        self.counts = dict(zip(COUNTS, counts, strict=True))


def until(end: float, work: Callable[[], object]) -> threading.Thread:
    def repeat() -> None:
        while time.monotonic() < end:
            work()

    thread = threading.Thread(target=repeat)
    thread.start()
    return thread


def objects() -> None:
    kept = [(number, str(number), [number]) for number in range(2_000)]
    kept += [{"a": number} for number in range(500)]
    text = "".join(f"{number:x}" for number in range(500))
    del kept, text


def short_threads() -> None:
    def fill() -> None:
        kept = [bytearray(3_000) for _ in range(50)]
        del kept

    made = [threading.Thread(target=fill) for _ in range(4)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


def open_client(rate: int, *, cpu: bool, native: bool) -> _native.Client:
    return _native.Client.open(
        interval_ns=1_000_000,
        mode="cpu",
        trigger="tick",
        native=native,
        max_depth=0,
        path=None,
        memory_limit_bytes=0,
        source=False,
        python=("", "CPython", sys.executable, False),
        command=[],
        roots=("", "", [], []),
        thread_names=[],
        cpu=cpu,
        heap=(rate, True, native, 0),
    )


def main() -> None:
    prepare()
    seconds = seconds_asked(__doc__ or "")
    cycles = blocks = 0
    with tempfile.TemporaryDirectory() as folder:
        storm = Storm(Path(folder))
        end = time.monotonic() + seconds
        with storm:
            threads = [until(end, objects), until(end, short_threads)]
            while time.monotonic() < end:
                client = open_client(
                    16 << 10 if cycles % 2 else 64 << 10, cpu=cycles % 3 == 0, native=cycles % 4 > 0
                )
                time.sleep(0.02 * (cycles % 5))
                client.pause_heap()
                inner = open_client(256 << 10, cpu=False, native=True)
                objects()
                inner.finish([])
                recording, error = client.finish([])
                assert error is None, error
                blocks += len(recording.to_bytes())
                cycles += 1
            for thread in threads:
                thread.join()
    print(f"stress_heap: {cycles} on/off cycles, {blocks} bytes recorded, {storm.counts}")
    for wrong in ("hung", "failed", "damaged"):
        assert storm.counts[wrong] == 0, storm.counts
    assert cycles > 0 and storm.counts["opened"] > 0, storm.counts


if __name__ == "__main__":
    main()
