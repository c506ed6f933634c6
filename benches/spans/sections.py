"""The parts of the measurement, one per promise."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import peers
import tachograph
import threads
from figures import Figure, Row, at_least, at_most, table
from references import NullTimer, Timer, timed_by_hand, timed_by_hand_async
from rounds import Case, Prepared, Rounds
from tachograph.decorators import time_it
from tachograph.profiler import MetricsCollector
from tachograph.profiling import export_timeline

span = tachograph.span


def noop() -> None:
    pass


def empty(n: int) -> None:
    for _ in range(n):
        pass


def by_hand(n: int) -> None:
    for _ in range(n):
        with Timer("x"):
            pass


def null(n: int) -> None:
    for _ in range(n):
        with NullTimer():
            pass


def spans(n: int) -> None:
    for _ in range(n):
        with span("x"):
            pass


def spans_with_attributes(n: int) -> None:
    for _ in range(n):
        with span("x", rows=3, source="disk"):
            pass


def five_nested(n: int) -> None:
    for _ in range(n):
        with span("a"), span("b"), span("c"), span("d"), span("e"):
            pass


def switched(case: Case, on: bool) -> Case:
    """Return the case with the live report on or off."""
    return Prepared(case, lambda: tachograph.configure(profiling=on))


def blocks(rounds: int) -> list[Row]:
    """Measure `with span("x"):`, on, off, and while a recording is open."""
    cases = {
        "empty loop": empty,
        "timer class": by_hand,
        "null class": null,
        "span": switched(spans, True),
        "span, two attributes": switched(spans_with_attributes, True),
        "five nested spans": switched(five_nested, True),
        "span, off": switched(spans, False),
        "span, two attributes, off": switched(spans_with_attributes, False),
        **peers.blocks(),
    }
    told = Rounds(cases, rounds)
    with tachograph.record():
        recorded = {"empty loop": empty, "timer class": by_hand}
        recorded["span, recorded"] = switched(spans, False)
        recorded["span, recorded and reported"] = switched(spans, True)
        open_told = Rounds(recorded, rounds)
    show(told, "timer class", "empty loop")
    show(open_told, "timer class", "empty loop")

    def ratio(name: str) -> Figure:
        return told.ratio(name, "timer class", "empty loop")

    return [
        at_most("with span, live report on / timer class", ratio("span"), 0.25),
        at_most("the same with two attributes", ratio("span, two attributes"), 0.6),
        at_most("the same switched off", ratio("span, off"), 0.12),
    ]


def calls(rounds: int) -> list[Row]:
    """Measure decorated functions that do nothing."""

    def repeat(function: Callable[[], None]) -> Case:
        def run(n: int) -> None:
            for _ in range(n):
                function()

        return run

    cases = {
        "undecorated": repeat(noop),
        "by hand": repeat(timed_by_hand(noop)),
        "@signal": switched(repeat(tachograph.signal(noop)), True),
        "@signal, off": switched(repeat(tachograph.signal(noop)), False),
        "@time_it": repeat(time_it(noop)),
        **peers.calls(noop),
    }
    told = Rounds(cases, rounds)
    show(told, "by hand", "undecorated")
    return [
        at_most(f"{name} / wrapper by hand", told.ratio(name, "by hand", "undecorated"), 0.25)
        for name in ("@signal", "@time_it")
    ]


def coroutines(rounds: int) -> list[Row]:
    """Measure decorated coroutines that do nothing; there is no promise."""

    async def nothing() -> None:
        pass

    def repeat(function: Callable[[], Any]) -> Case:
        async def work(n: int) -> None:
            for _ in range(n):
                await function()

        def run(n: int) -> None:
            loop.run_until_complete(work(n))

        return run

    cases = {
        "undecorated": repeat(nothing),
        "by hand": repeat(timed_by_hand_async(nothing)),
        "@signal": switched(repeat(tachograph.signal(nothing)), True),
        "@signal, off": switched(repeat(tachograph.signal(nothing)), False),
        "@time_it": repeat(time_it(nothing)),
    }
    loop = asyncio.new_event_loop()
    try:
        show(Rounds(cases, rounds), "by hand", "undecorated")
    finally:
        loop.close()
    return []


def values(rounds: int) -> list[Row]:
    """Measure what keeps one value of a metric."""
    collector = MetricsCollector()

    def record(n: int) -> None:
        for _ in range(n):
            collector.record("loss", 0.5)

    cases = {
        "empty loop": empty,
        "timer class": by_hand,
        "collector.record": record,
        **peers.values(),
    }
    told = Rounds(cases, rounds)
    show(told, "timer class", "empty loop")
    name = "collector.record"
    rows = [at_most(f"{name} / timer class", told.ratio(name, "timer class", "empty loop"), 0.25)]
    if "prometheus observe" in cases:
        ratio = told.ratio(name, "prometheus observe", "empty loop")
        rows.append(at_most(f"{name} / prometheus Histogram.observe", ratio, 0.2))
    return rows


def in_threads(rounds: int) -> list[Row]:
    """Measure eight threads against one."""
    return threads.rows(sys.executable, rounds)


def export(rounds: int, entries: int = 1_000_000) -> list[Row]:
    """Write a long timeline, and the same dictionaries with `json.dump`."""
    tachograph.configure(profiling=True, profiling_buffer_size=entries)
    for _ in range(entries // 2):
        with span("load"):
            pass
        with span("step", rows=3, source="disk"):
            pass
    dictionaries = tachograph.report()["timeline"]
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3 if rounds > 20 else 1):
            begin = time.thread_time()
            export_timeline(Path(folder) / "ours.json", format="json")
            ours.append(time.thread_time() - begin)
            begin = time.thread_time()
            with (Path(folder) / "theirs.json").open("w") as file:
                json.dump(dictionaries, file)
            theirs.append(time.thread_time() - begin)
        written = json.loads((Path(folder) / "ours.json").read_text())
    assert written == dictionaries
    tachograph.configure(profiling=False, profiling_buffer_size=1000)
    faster = median(theirs) / median(ours)
    text = f"{faster:.1f}x ({entries / median(ours) / 1e6:.1f} M entries/s)"
    name = f"{entries:,} timeline entries to JSON, against json.dump"
    return [at_least(name, faster, 10, text)]


def show(told: Rounds, reference: str, base: str) -> None:
    """Print nanoseconds and multiples of `reference`, without what `base` takes."""
    rows = [
        (name, f"{told.ns(name, base):.0f}", str(told.ratio(name, reference, base)))
        for name in told.times
        if name != base
    ]
    print(table(rows, ("case", "ns", f"of {reference}")), end="\n\n", flush=True)
