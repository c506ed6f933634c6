"""Span blocks: entered, left, held on to, and told to the live report."""

from __future__ import annotations

import contextlib
import gc
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tachograph import _native
from tachograph._native import span


@pytest.fixture(autouse=True)
def live_report() -> Iterator[None]:
    """Turn the live report on for each test, and leave nothing of it."""
    _native.timeline_capacity(1000)
    _native.timeline_clear()
    _native.meters_clear()
    _native.profiling(True, 1.0)
    yield
    _native.profiling(False, 1.0)
    _native.timeline_clear()
    _native.meters_clear()


def keys() -> list[str]:
    return [entry["key"] for entry in _native.timeline()]


def entry(key: str) -> dict[str, Any]:
    return dict(next(entry for entry in _native.timeline() if entry["key"] == key))


def test_a_span_enters_the_timeline_and_the_meters() -> None:
    with span("load"):
        pass

    told = entry("load")
    summary = _native.meters()["load"]
    assert told["span"] is True
    assert "meta" not in told
    assert (summary.count, summary.total / 1e6) == (1, pytest.approx(told["duration_ms"]))


def test_spans_end_from_the_inside_out() -> None:
    with span("outer"), span("middle"), span("inner"):
        pass

    assert keys() == ["inner", "middle", "outer"]


def test_a_block_knows_its_name_and_how_long_it_took() -> None:
    with span("load") as block:
        assert block.elapsed_ns == 0

    assert block.name == "load"
    assert block.elapsed_ns == pytest.approx(entry("load")["duration_ms"] * 1e6)
    assert repr(block) == '<span "load">'


def test_a_block_that_is_held_keeps_what_it_knows() -> None:
    with span("first") as first:
        pass
    took = first.elapsed_ns
    held = [first]
    for _ in range(1000):
        with span("other") as other:
            held.append(other)
    for _ in range(1000):
        with span("last"):
            pass

    assert (first.name, first.elapsed_ns) == ("first", took)
    assert {block.name for block in held[1:]} == {"other"}


def test_a_block_can_be_entered_again() -> None:
    block = span("again")
    for _ in range(3):
        with block:
            pass

    assert keys() == ["again"] * 3


def test_a_block_can_be_entered_inside_itself() -> None:
    block = span("twice", depth=1)
    with block, block:
        assert keys() == []

    assert keys() == ["twice"] * 2
    assert all(entry["meta"] == {"depth": 1} for entry in _native.timeline())


def test_blocks_of_a_deep_recursion_are_all_told() -> None:
    def descend(depth: int) -> None:
        with span("level"):
            if depth > 1:
                descend(depth - 1)

    descend(600)

    assert keys() == ["level"] * 600
    assert _native.meters()["level"].count == 600


def test_blocks_that_were_never_entered_do_no_harm() -> None:
    for _ in range(2000):
        span("unused")
    kept = [span("kept") for _ in range(1000)]
    with span("used"):
        pass

    assert keys() == ["used"]
    assert all(block.name == "kept" for block in kept)


def test_an_exception_passes_and_marks_the_span() -> None:
    error = ValueError("bad")
    with pytest.raises(ValueError, match="bad") as caught, span("fails"):
        raise error

    assert caught.value is error
    assert entry("fails")["failed"] is True


def test_a_block_that_was_not_entered_cannot_be_left() -> None:
    with pytest.raises(RuntimeError, match='the span "x" is left but was not entered'):
        span("x").__exit__(None, None, None)


def test_an_exit_stack_takes_blocks() -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(span("one"))
        stack.enter_context(span("two"))
    with pytest.raises(KeyError), contextlib.ExitStack() as stack:
        stack.enter_context(span("three"))
        raise KeyError

    assert keys() == ["two", "one", "three"]
    assert entry("three")["failed"] is True


def test_spans_in_generators_that_take_turns_are_kept_apart() -> None:
    def numbers(name: str) -> Iterator[int]:
        with span(name):
            yield 1
            yield 2

    for _ in zip(numbers("left"), numbers("right"), strict=True):
        with span("between"):
            pass
    gc.collect()

    assert sorted(keys()) == ["between", "between", "left", "right"]


def test_a_block_may_be_left_in_another_thread() -> None:
    block = span("handed over")
    block.__enter__()
    thread = threading.Thread(target=block.__exit__, args=(None, None, None))
    thread.start()
    thread.join()

    assert keys() == ["handed over"]


def test_threads_do_not_lose_spans() -> None:
    def work() -> None:
        for _ in range(500):
            with span("work", thread=True) as block:
                pass
            assert block.name == "work"

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert _native.meters()["work"].count == 4000


def test_plain_values_are_kept_and_others_are_shown() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    with span("x", i=-3, f=0.5, s="text", b=True, n=None, big=2**80, list=[1], bad=Broken()):
        pass

    meta = entry("x")["meta"]
    assert meta == {
        "i": -3,
        "f": 0.5,
        "s": "text",
        "b": True,
        "n": None,
        "big": str(2**80),
        "list": "[1]",
        "bad": "<unprintable Broken>",
    }
    assert meta["b"] is True


def test_a_long_repr_is_cut() -> None:
    with span("x", rows=list(range(1000))):
        pass

    meta = entry("x")["meta"]["rows"]
    assert len(meta) == 201
    assert meta.startswith("[0, 1, 2,")


def test_names_are_told_apart_by_their_text() -> None:
    for number in range(2000):
        with span(f"step {number % 7}"):
            pass

    assert {f"step {number}" for number in range(7)} == set(_native.meters())
    assert sum(summary.count for summary in _native.meters().values()) == 2000


def test_a_subclass_of_str_and_a_broken_text_are_names() -> None:
    class Name(str):
        __slots__ = ()

    with span(Name("mine")), span("half \ud800 pair"):
        pass

    broken, mine = keys()
    assert mine == "mine"
    assert broken.startswith("half \ufffd") and broken.endswith(" pair")


@pytest.mark.parametrize("call", ["span()", "span('a', 'b')", "span(7)", "span(name='a')"])
def test_a_wrong_call_says_what_is_wrong(call: str) -> None:
    with pytest.raises(TypeError, match="span"):
        eval(call)


def test_a_block_that_is_off_costs_nothing_and_tells_nothing() -> None:
    _native.profiling(False, 1.0)
    with span("quiet", a=1) as block:
        pass

    assert (block.name, block.elapsed_ns, keys()) == ("quiet", 0, [])


def test_a_block_that_was_entered_while_off_can_be_left_while_on() -> None:
    _native.profiling(False, 1.0)
    with span("late"):
        _native.profiling(True, 1.0)

    assert keys() == []


def test_the_sample_rate_thins_the_report() -> None:
    _native.profiling(True, 0.0)
    for _ in range(100):
        with span("none"):
            pass
    _native.profiling(True, 0.5)
    for _ in range(2000):
        with span("half"):
            pass

    meters = _native.meters()
    assert "none" not in meters
    # 2000 throws of a coin: a standard deviation is 22.
    assert 850 <= meters["half"].count <= 1150


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
def test_a_sample_rate_that_is_no_share_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1, not"):
        _native.profiling(True, rate)


def test_the_timeline_keeps_the_latest_entries() -> None:
    _native.timeline_capacity(3)
    for number in range(10):
        with span(f"n{number}"):
            pass

    assert keys() == ["n7", "n8", "n9"]


def test_the_timeline_is_written_as_json(tmp_path: Path) -> None:
    with span('a "name"', text='tab\t, "quote", é', number=1.5, nothing=None):
        pass
    with span("plain"):
        pass
    path = tmp_path / "timeline.json"

    _native.export_timeline(path, "json")

    assert json.loads(path.read_text()) == _native.timeline()


def test_the_timeline_is_written_as_csv(tmp_path: Path) -> None:
    import csv

    with span("a,b", source="it's", rows=3):
        pass
    with span("plain"):
        pass
    path = tmp_path / "timeline.csv"

    _native.export_timeline(path, "csv")

    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == sorted(["key", "duration_ms", "timestamp", "span", "meta"])
    assert [row["key"] for row in rows] == ["a,b", "plain"]
    assert eval(rows[0]["meta"]) == {"source": "it's", "rows": 3}


def test_an_empty_timeline_makes_no_csv_file(tmp_path: Path) -> None:
    _native.export_timeline(tmp_path / "timeline.csv", "csv")

    assert not (tmp_path / "timeline.csv").exists()


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'json' or 'csv', not \"xml\""):
        _native.export_timeline(tmp_path / "timeline.xml", "xml")


def test_a_door_block_feeds_its_meter_by_its_clock() -> None:
    meter = _native.Meter()
    seen: list[_native.Ended] = []
    block = _native.block("door", meter=meter, clock="thread", after=seen.append)
    with block:
        sum(range(200_000))

    assert meter.summary().total == block.elapsed_ns == seen[0].duration_ns
    assert block.elapsed_ns > 0
    assert (seen[0].name, seen[0].failed, seen[0].suspended_ns) == ("door", False, 0)


def test_a_meter_knows_its_values() -> None:
    meter = _native.Meter()
    for value in (2.0, 4.0, 6.0, 8.0):
        meter.add(value)

    summary = meter.summary()
    assert (summary.count, summary.total, summary.mean) == (4, 20.0, 5.0)
    assert (summary.min, summary.max, summary.last) == (2.0, 8.0, 8.0)
    assert summary.std == pytest.approx(2.581988897)
    assert (summary.percentile(0.5), summary.percentile(0.5, "lower")) == (5.0, 4.0)
    assert [(count, mean) for _, count, mean in summary.blocks()] == [
        (1, 2.0),
        (1, 4.0),
        (1, 6.0),
        (1, 8.0),
    ]
    meter.clear()
    assert meter.summary().count == 0


@pytest.mark.parametrize(("q", "rule"), [(1.5, "linear"), (-0.1, "lower"), (0.5, "upper")])
def test_a_percentile_that_is_none_is_refused(q: float, rule: Any) -> None:
    with pytest.raises(ValueError, match=r"not"):
        _native.Meter().summary().percentile(q, rule)
