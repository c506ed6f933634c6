"""`report`: the figures behind its keys."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import tachograph

KEYS = {
    "actionable_incidents",
    "blocking_incidents",
    "calls_total",
    "coalesced_warnings",
    "degraded_handlers",
    "duplicate_summaries",
    "errors_total",
    "events_buffered",
    "events_by_category",
    "events_by_code",
    "events_by_fingerprint",
    "events_by_resource",
    "events_by_source",
    "handler_errors",
    "handler_errors_total",
    "most_expensive_entries",
    "most_expensive_tags",
    "most_noisy_resources",
    "peak_memory",
    "profiling_meta",
    "recurrent_incidents",
    "redundant_conversions_by_callsite",
    "redundant_conversions_recent",
    "redundant_conversions_total",
    "run_id",
    "runtime_warnings",
    "session_id",
    "slow_signals_recent",
    "timeline",
    "timings",
    "timings_by_module",
    "timings_by_tag",
    "top_codes",
    "top_fingerprints",
    "top_redundant_conversions",
    "top_sources",
    "warnings_total",
}


@pytest.fixture(autouse=True)
def fresh_profiling() -> Iterator[None]:
    tachograph._reset_for_tests()
    tachograph.configure(profiling=True)
    yield
    tachograph._reset_for_tests()


def test_every_key_is_there_from_the_start_and_the_report_is_json() -> None:
    report = tachograph.report()

    assert set(report) == KEYS
    assert json.loads(json.dumps(report)) == report
    assert tachograph.get_manager().report().keys() == report.keys()


def test_percentiles_are_the_value_below_the_exact_rank() -> None:
    for _ in range(5):
        with tachograph.span("step"):
            time.sleep(0.001)
    durations = sorted(entry["duration_ms"] for entry in tachograph.report()["timeline"])

    row = tachograph.report()["timings"]["step"]

    assert row == {
        "count": 5,
        "p50_ms": durations[2],
        "p95_ms": durations[3],
        "max_ms": durations[4],
    }


def test_many_values_stay_within_a_hundredth() -> None:
    tachograph.configure(profiling_buffer_size=5000)
    for n in range(3000):
        with tachograph.span("step"):
            sum(range(n % 500))
    durations = sorted(entry["duration_ms"] for entry in tachograph.report()["timeline"])

    row = tachograph.report()["timings"]["step"]

    assert row["count"] == 3000
    assert row["p50_ms"] == pytest.approx(durations[1499], rel=0.01)
    assert row["p95_ms"] == pytest.approx(durations[2849], rel=0.01)
    assert row["max_ms"] == durations[-1]


def test_figures_take_the_same_room_whatever_the_number_of_calls() -> None:
    tachograph.configure(profiling_buffer_size=100)

    @tachograph.signal(tags=["hot"])
    def work() -> None:
        pass

    def run(times: int) -> int:
        for n in range(times):
            work()
            with tachograph.span("step", n=n):
                pass
        peak: int = tachograph.report()["peak_memory"]
        return peak

    before = run(20_000)
    after = run(300_000)

    # As floats in a list, the durations alone would take 19 MB.
    assert after - before < 8 << 20
    assert tachograph.report()["timings"]["step"]["count"] == 320_000
    assert len(tachograph.report()["timeline"]) == 100


def test_modules_add_up_counts_and_take_the_largest_figures() -> None:
    @tachograph.signal
    def first() -> None:
        time.sleep(0.002)

    @tachograph.signal
    def second() -> None:
        pass

    first()
    second()
    second()
    with tachograph.span("db.query"):
        pass
    with tachograph.span("plain"):
        pass

    report = tachograph.report()
    modules = report["timings_by_module"]

    own = modules[__name__]
    both = [report["timings"][f"{__name__}.{name}"] for name in ("first", "second")]
    assert own["count"] == 3
    for figure in ("p50_ms", "p95_ms", "max_ms"):
        assert own[figure] == max(row[figure] for row in both)
    assert modules["db"]["count"] == modules["plain"]["count"] == 1
    assert set(modules) == {__name__, "db", "plain"}


def test_tags_cover_every_call_also_those_that_left_the_timeline() -> None:
    tachograph.configure(profiling_buffer_size=2)

    @tachograph.signal(tags=["io", "disk"])
    def load() -> None:
        pass

    @tachograph.signal(tags=["io"])
    def save() -> None:
        pass

    for _ in range(10):
        load()
        save()

    report = tachograph.report()
    assert {tag: row["count"] for tag, row in report["timings_by_tag"].items()} == {
        "io": 20,
        "disk": 10,
    }
    assert set(report["timings_by_tag"]["io"]) == {"count", "p50_ms", "p95_ms", "max_ms"}
    assert {row["key"] for row in report["most_expensive_tags"]} == {"io", "disk"}


def test_the_most_expensive_entries_come_first() -> None:
    for n in range(7):
        with tachograph.span(f"span {n}"):
            time.sleep(n / 1000)

    report = tachograph.report()
    rows = sorted(report["timings"].items(), key=lambda row: -row[1]["p95_ms"])
    assert report["most_expensive_entries"] == [{"key": key, **row} for key, row in rows[:5]]


def test_hooks_are_asked_anew_for_every_report() -> None:
    asked: list[int] = []

    def hook() -> dict[str, Any]:
        asked.append(1)
        return {"gpu": "A100", "asked": len(asked)}

    tachograph.configure(profiling_hooks=[hook, lambda: {"driver": 7}])

    assert tachograph.report()["profiling_meta"] == {"gpu": "A100", "asked": 1, "driver": 7}
    assert tachograph.report()["profiling_meta"]["asked"] == 2


def test_a_hook_that_fails_is_announced_and_the_others_are_asked() -> None:
    def broken() -> dict[str, Any]:
        raise RuntimeError("no driver")

    tachograph.configure(profiling_hooks=[broken, lambda: {"ok": True}])

    with pytest.warns(RuntimeWarning, match=r"profiling hook .*broken.* failed: .*no driver"):
        assert tachograph.report()["profiling_meta"] == {"ok": True}


def test_a_hook_that_gives_no_dict_is_announced() -> None:
    tachograph.configure(profiling_hooks=[lambda: "A100", lambda: {"ok": True}])

    with pytest.warns(RuntimeWarning, match="returned 'A100', not a dict"):
        assert tachograph.report()["profiling_meta"] == {"ok": True}


def test_peak_memory_is_what_the_process_held_at_most() -> None:
    size = 64 << 20
    before = tachograph.report()["peak_memory"]

    block = bytearray(size)
    del block

    after = tachograph.report()["peak_memory"]
    assert isinstance(before, int) and isinstance(after, int)
    assert size < after and before <= after


def test_events_are_counted_by_level() -> None:
    tachograph.emit("info", "told")
    tachograph.emit("warning", "careful")
    tachograph.emit("ERROR", "broken")

    report = tachograph.report()
    assert (report["warnings_total"], report["errors_total"]) == (1, 1)
    assert report["events_buffered"] == 0


def test_buffered_events_are_counted_by_what_they_carry() -> None:
    manager = tachograph.configure(event_buffer_size=3)
    tachograph.emit("INFO", "pushed out", code="A")
    tachograph.emit("INFO", "one", code="B", source="shop.cart", category="cache")
    tachograph.emit("WARNING", "two", code="B", source="shop.cart", extra={"resource": "a.h5"})
    tachograph.emit("ERROR", "three", code="C", extra={"recommended_action": "retry"})

    report = tachograph.report()

    assert report["events_buffered"] == 3
    assert report["events_by_code"] == {"B": 2, "C": 1}
    assert report["top_codes"] == [{"key": "B", "count": 2}, {"key": "C", "count": 1}]
    assert report["events_by_source"] == {"shop.cart": 2}
    assert report["events_by_category"] == {"cache": 1}
    assert report["events_by_resource"] == {"a.h5": 1}
    assert [event["message"] for event in report["blocking_incidents"]] == ["three"]
    assert [event["message"] for event in report["actionable_incidents"]] == ["three"]
    assert [event["message"] for event in manager.recent_events(2)] == ["two", "three"]
    assert manager.recent_events(0) == manager.recent_events(-1) == []


def test_an_event_says_what_it_was_given() -> None:
    extra = {"n": 1}

    event = tachograph.emit(
        "warning", "careful", source="shop", code="C1", tags=("a",), extra=extra, category="cache"
    )

    assert (event["level"], event["message"], event["source"]) == ("WARNING", "careful", "shop")
    assert (event["code"], event["tags"], event["category"]) == ("C1", ["a"], "cache")
    assert event["extra"] == extra and event["extra"] is not extra
    assert event["run_id"] == tachograph.report()["run_id"]


def test_switched_off_events_are_returned_and_not_counted() -> None:
    tachograph.configure(enabled=False)

    assert tachograph.emit("ERROR", "x")["level"] == "ERROR"
    assert tachograph.report()["errors_total"] == 0


def test_events_of_many_threads_are_all_counted() -> None:
    def work() -> None:
        for _ in range(200):
            tachograph.emit("WARNING", "x")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert tachograph.report()["warnings_total"] == 800
