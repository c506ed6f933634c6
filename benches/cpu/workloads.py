"""Programs whose speed is measured with and without a profiler.

Each is a class with `window()`: a fixed piece of work of roughly 60 ms, so that
the time it takes can be compared with itself. What is slow to prepare happens
in the constructor.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import queue
import sys
import threading
import time

WINDOW_SECONDS = 0.06


class Workload:
    """A piece of work in units; `window()` does as many as take about 60 ms."""

    units = 1

    def work(self, units: int) -> None:
        """Do so many units."""
        raise NotImplementedError

    def size(self) -> None:
        """Find out how many units a window has."""
        self.work(1)
        best = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            self.work(1)
            best = min(best, time.perf_counter() - begin)
        units = max(1, round(WINDOW_SECONDS / best))
        begin = time.perf_counter()
        self.work(units)
        self.units = max(1, round(units * WINDOW_SECONDS / (time.perf_counter() - begin)))

    def window(self) -> None:
        """Do one window's work."""
        self.work(self.units)


def fib(number: int) -> int:
    return number if number < 2 else fib(number - 1) + fib(number - 2)


def under(depth: int, number: int) -> int:
    return under(depth - 1, number) if depth else fib(number)


class Deep(Workload):
    """Calls and returns all the time, a hundred frames down."""

    def work(self, units: int) -> None:
        for _ in range(units):
            under(90, 14)


class Shallow(Workload):
    """One loop in one frame."""

    def work(self, units: int) -> None:
        total = 0
        for _ in range(units):
            for number in range(10_000):
                total += number * number % 7


class Threads16(Workload):
    """Sixteen threads that take short jobs from one queue: they switch all the time."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[int] = queue.SimpleQueue()
        for _ in range(16):
            threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            rounds = self.jobs.get()
            total = 0
            for number in range(rounds):
                total += number * number % 7
            self.done.put(total)

    def work(self, units: int) -> None:
        for _ in range(units * 4):
            self.jobs.put(2_000)
        for _ in range(units * 4):
            self.done.get()


class Aio200(Workload):
    """Two hundred asyncio tasks that step in turn."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    async def _task(self, steps: int) -> int:
        total = 0
        for _ in range(steps):
            for number in range(30):
                total += number * number % 7
            await asyncio.sleep(0)
        return total

    async def _all(self, steps: int) -> None:
        await asyncio.gather(*(self._task(steps) for _ in range(200)))

    def work(self, units: int) -> None:
        self.loop.run_until_complete(self._all(units * 2))


class Numpyw(Workload):
    """Array arithmetic in native code, with the GIL released here and there."""

    def __init__(self) -> None:
        import numpy

        self.matrix = numpy.random.default_rng(1).random((160, 160))
        self.vector = numpy.random.default_rng(2).random(200_000)

    def work(self, units: int) -> None:
        for _ in range(units):
            product = self.matrix @ self.matrix
            product.sum()
            (self.vector * 1.5 + 2.0).mean()
            self.vector.argsort()


class Imports(Workload):
    """Imports of the standard library, again and again."""

    packages = ("json", "email", "xml", "http", "unittest", "urllib", "logging", "concurrent")
    names = (
        "json.tool",
        "email.mime.text",
        "xml.dom.minidom",
        "http.cookiejar",
        "unittest.mock",
        "urllib.robotparser",
        "logging.config",
    )

    def work(self, units: int) -> None:
        for _ in range(units):
            kept = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in self.packages}
            for name in kept:
                del sys.modules[name]
            for name in self.names:
                importlib.import_module(name)
            sys.modules.update(kept)


WORKLOADS: dict[str, type[Workload]] = {
    "deep": Deep,
    "shallow": Shallow,
    "threads16": Threads16,
    "aio200": Aio200,
    "numpyw": Numpyw,
    "imports": Imports,
}


def make(name: str) -> Workload:
    """Return the workload `name`, prepared and sized."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    workload = WORKLOADS[name]()
    workload.size()
    return workload
