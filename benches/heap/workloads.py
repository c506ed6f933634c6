"""Programs that allocate, each a function of how many units of work to do."""

from __future__ import annotations

import json
from collections.abc import Callable


def objects(units: int) -> None:
    """Make and drop small objects, a thousand live at a time."""
    for _ in range(units):
        kept = [{"a": i, "b": [i, str(i)]} for i in range(1_000)]
        del kept


def calls(units: int) -> None:
    """Call and return, with a frame and a few objects each."""

    def fib(number: int) -> int:
        return number if number < 2 else fib(number - 1) + fib(number - 2)

    for _ in range(units):
        fib(17)


def parse(units: int) -> None:
    """Parse a document of nested lists and dicts."""
    text = json.dumps([{"name": f"n{i}", "values": list(range(20))} for i in range(300)])
    for _ in range(units):
        json.loads(text)


def arrays(units: int) -> None:
    """Make and drop small arrays."""
    _make_arrays(units, 200)


def buffers(units: int) -> None:
    """Make and drop arrays of 16 KB: some thirty gigabytes a second."""
    _make_arrays(units, 2_000)


def _make_arrays(units: int, length: int) -> None:
    import numpy

    for _ in range(units):
        for _ in range(300):
            numpy.zeros(length) + 1.0


def threads(units: int) -> None:
    """Allocate and free on eight threads of C at once, and write each block sixteen times."""
    from native import library

    library().churn_in_threads(8, units * 5_000, 16)


def bare(units: int) -> None:
    """The same, and write nothing: allocating is all that they do."""
    from native import library

    library().churn_in_threads(8, units * 20_000, 0)


WORKLOADS: dict[str, Callable[[int], None]] = {
    "objects": objects,
    "calls": calls,
    "parse": parse,
    "arrays": arrays,
    "buffers": buffers,
    "threads": threads,
    "bare": bare,
}
