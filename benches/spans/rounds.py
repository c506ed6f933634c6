"""Cases measured in turn, many times, so that the machine's moods hit all alike.

One chunk of a case is some hundred microseconds on the thread's CPU clock. Each
round runs every case once, in a new order; a ratio is taken within a round, and
the figure is the median over all rounds.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Mapping
from statistics import median

from figures import Figure

Case = Callable[[int], object]


class Prepared:
    """A case with something to do before and after it, which is not measured."""

    def __init__(
        self, case: Case, before: Callable[[], object], after: Callable[[], object] = int
    ) -> None:
        self.case, self.before, self.after = case, before, after

    def __call__(self, size: int) -> None:
        self.case(size)


class Rounds:
    """Nanoseconds per operation of each case, round by round."""

    def __init__(self, cases: Mapping[str, Case], rounds: int, seconds: float = 0.0008) -> None:
        self.times: dict[str, list[float]] = {name: [] for name in cases}
        sizes = {name: _size(case, seconds) for name, case in cases.items()}
        order = list(cases)
        gc.collect()
        for _ in range(rounds):
            random.shuffle(order)
            for name in order:
                self.times[name].append(_chunk(cases[name], sizes[name]))

    def ns(self, name: str, base: str | None = None) -> float:
        """Return the median of a case, without what `base` takes."""
        return median(self._above(name, base))

    def ratio(self, name: str, reference: str, base: str | None = None) -> Figure:
        """Return a case as a multiple of another, both without what `base` takes."""
        pairs = zip(self._above(name, base), self._above(reference, base), strict=True)
        return Figure.of([own / other for own, other in pairs if other > 0])

    def _above(self, name: str, base: str | None) -> list[float]:
        if base is None:
            return self.times[name]
        pairs = zip(self.times[name], self.times[base], strict=True)
        return [own - empty for own, empty in pairs]


def _chunk(case: Case, size: int) -> float:
    if isinstance(case, Prepared):
        case.before()
        took = _chunk(case.case, size)
        case.after()
        return took
    begin = time.thread_time_ns()
    case(size)
    return (time.thread_time_ns() - begin) / size


def _size(case: Case, seconds: float) -> int:
    """Return how many operations fill a chunk; the case is warm afterwards."""
    size = 8
    while True:
        took = _chunk(case, size) * size
        if took >= seconds * 1e9 or size > 1_000_000:
            return size
        size *= 2
