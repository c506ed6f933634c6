"""Document 000, smonitor's profiling: every block runs and does what its text says."""

from __future__ import annotations

import json
from collections.abc import Callable

from blocks import all_blocks

Run = Callable[..., None]

SMONITOR = "import tachograph as smonitor\n"
SPANS = """
from tachograph.profiling import span

def make_spans(number):
    for n in range(number):
        with span("step", n=n):
            pass
"""


def test_01_a_decorated_function_is_timed_and_reported(run: Run) -> None:
    run(
        "000.01",
        after="""
timings = smonitor.report()["timings"]
assert list(timings) == ["__main__.work"], timings
row = timings["__main__.work"]
assert set(row) == {"count", "p50_ms", "p95_ms", "max_ms"}
assert row["count"] == 1 and 0 < row["p50_ms"] == row["p95_ms"] == row["max_ms"]
entry, = smonitor.report()["timeline"]
assert entry["key"] == "__main__.work" and entry["duration_ms"] == row["max_ms"]
""",
    )


def test_01_nothing_is_recorded_until_profiling_is_on(run: Run) -> None:
    run(
        "000.01",
        edit=lambda code: code.replace("profiling=True", "profiling=False"),
        after="""
report = smonitor.report()
assert report["timings"] == {} and report["timeline"] == []
assert report["calls_total"] == 1
""",
    )


def test_02_spans_are_on_the_timeline_with_what_they_were_given(run: Run) -> None:
    run(
        "000.02",
        after="""
loading, processing = smonitor.report()["timeline"]
assert loading["key"] == "data_loading" and processing["key"] == "processing"
assert loading["span"] is True and loading["meta"] == {"source": "database"}
assert processing["span"] is True and processing["meta"] == {"algorithm": "fft"}
assert loading["timestamp"] <= processing["timestamp"]
""",
    )


def test_03_the_timeline_holds_as_many_entries_as_asked_for(run: Run) -> None:
    run(
        "000.03",
        before=SMONITOR + SPANS,
        after="""
make_spans(500)
report = smonitor.report()
assert len(report["timeline"]) == 200 and len(report["timeline"][:5]) == 5
assert [entry["meta"]["n"] for entry in report["timeline"]] == list(range(300, 500))
assert report["timings"]["step"]["count"] == 500
""",
    )


def test_04_a_share_of_calls_and_spans_is_kept(run: Run) -> None:
    run(
        "000.04",
        before=SMONITOR + SPANS,
        after="""
@smonitor.signal
def work():
    return 1

make_spans(20_000)
for _ in range(20_000):
    work()
timings = smonitor.report()["timings"]
# 2,000 of 20,000 expected; the standard deviation is 42, so six of them either way.
assert abs(timings["step"]["count"] - 2000) < 6 * 42, timings
assert abs(timings["__main__.work"]["count"] - 2000) < 6 * 42, timings
assert smonitor.report()["calls_total"] == 20_000
""",
    )


def test_05_a_hook_adds_to_the_report(run: Run) -> None:
    run(
        "000.05",
        before=SMONITOR,
        after="""
meta = smonitor.report()["profiling_meta"]
assert meta == {"gpu_name": "A100", "gpu_mem_used_mb": 1024}, meta
""",
    )


def test_06_the_timeline_is_written_as_json_and_csv(run: Run) -> None:
    run(
        "000.06",
        before=SMONITOR + SPANS + "smonitor.configure(profiling=True)\nmake_spans(3)",
        after="""
import csv, json
entries = json.load(open("timeline.json"))
assert entries == smonitor.report()["timeline"]
assert all(entry["span"] is True for entry in entries)
assert [entry["meta"] for entry in entries] == [{"n": 0}, {"n": 1}, {"n": 2}]
rows = list(csv.DictReader(open("timeline.csv")))
assert list(rows[0]) == ["duration_ms", "key", "meta", "span", "timestamp"]
assert [row["meta"] for row in rows] == ["{'n': 0}", "{'n': 1}", "{'n': 2}"]
assert [float(row["duration_ms"]) for row in rows] == [e["duration_ms"] for e in entries]
""",
    )


def test_07_the_figures_have_the_shape_of_the_example(run: Run) -> None:
    shape = json.loads(all_blocks()["000.07"].code)

    run(
        "000.01",
        after=f"""
row = smonitor.report()["timings"]["__main__.work"]
example = {shape["mymodule.work"]!r}
assert list(row) == list(example)
assert all(type(row[name]) is type(value) for name, value in example.items())
""",
    )
