"""`span`, the timeline and its files."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import tachograph
from tachograph.profiling import export_timeline, span


@pytest.fixture(autouse=True)
def fresh_profiling() -> Iterator[None]:
    tachograph._reset_for_tests()
    tachograph.configure(profiling=True)
    yield
    tachograph._reset_for_tests()


def timeline() -> list[dict[str, object]]:
    entries: list[dict[str, object]] = tachograph.report()["timeline"]
    return entries


def test_there_is_one_span_under_two_names() -> None:
    assert tachograph.span is span


def test_an_entry_has_a_key_a_duration_and_a_time() -> None:
    before = datetime.now(UTC)
    with span("block", detail="ok", n=3, share=0.5, warm=True, nothing=None):
        pass
    after = datetime.now(UTC)

    (entry,) = timeline()

    assert set(entry) == {"key", "duration_ms", "timestamp", "span", "meta"}
    assert entry["key"] == "block" and entry["span"] is True
    assert entry["meta"] == {"detail": "ok", "n": 3, "share": 0.5, "warm": True, "nothing": None}
    assert 0 < entry["duration_ms"] <= (after - before).total_seconds() * 1000 + 0.001
    moment = datetime.fromisoformat(str(entry["timestamp"]))
    assert moment.utcoffset() == timedelta(0)
    slack = timedelta(milliseconds=5)
    assert before - slack <= moment <= after + slack


def test_a_span_without_attributes_has_no_meta() -> None:
    with span("bare"):
        pass

    (entry,) = timeline()
    assert "meta" not in entry and "tags" not in entry


def test_attributes_may_have_any_name() -> None:
    with span("odd", name="a", self="b", key="c"):
        pass

    (entry,) = timeline()
    assert entry["meta"] == {"name": "a", "self": "b", "key": "c"}


def test_an_attribute_of_another_kind_is_kept_as_its_repr() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with span("kinds", shape=(3, 4), path=Path("a"), broken=Broken(), huge=10**30):
        pass

    (entry,) = timeline()
    meta = entry["meta"]
    assert isinstance(meta, dict)
    assert meta["shape"] == "(3, 4)" and meta["path"] == repr(Path("a"))
    assert meta["broken"] == "<unprintable Broken>"
    assert meta["huge"] == str(10**30)


def test_spans_nest_and_the_inner_one_is_told_first() -> None:
    with span("outer"), span("inner"):
        pass

    inner, outer = timeline()
    assert (inner["key"], outer["key"]) == ("inner", "outer")
    assert float(str(inner["duration_ms"])) <= float(str(outer["duration_ms"]))


def test_a_block_that_fails_is_timed_and_its_exception_passes() -> None:
    with pytest.raises(LookupError, match="mine"), span("fails"):
        raise LookupError("mine")

    (entry,) = timeline()
    assert entry["key"] == "fails"


def test_the_latest_entries_are_kept_whatever_their_number() -> None:
    tachograph.configure(profiling_buffer_size=10)

    for n in range(100):
        with span("step", n=n):
            pass

    assert [entry["meta"] for entry in timeline()] == [{"n": n} for n in range(90, 100)]


def test_a_smaller_buffer_drops_the_oldest_and_none_keeps_nothing() -> None:
    for n in range(10):
        with span("step", n=n):
            pass

    tachograph.configure(profiling_buffer_size=2)
    assert [entry["meta"] for entry in timeline()] == [{"n": 8}, {"n": 9}]
    tachograph.configure(profiling_buffer_size=0)
    with span("step"):
        pass
    assert timeline() == []
    assert tachograph.report()["timings"]["step"]["count"] == 11


def test_entries_of_all_threads_are_in_the_order_they_ended() -> None:
    def work(name: str) -> None:
        for n in range(50):
            with span(name, n=n):
                pass

    threads = [threading.Thread(target=work, args=(f"thread {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    entries = timeline()
    assert len(entries) == 200
    times = [str(entry["timestamp"]) for entry in entries]
    assert times == sorted(times)
    timings = tachograph.report()["timings"]
    assert [timings[f"thread {n}"]["count"] for n in range(4)] == [50] * 4


def test_nothing_is_kept_at_rate_zero_and_all_at_rate_one() -> None:
    tachograph.configure(profiling_sample_rate=0.0)
    for _ in range(200):
        with span("never"):
            pass
    tachograph.configure(profiling_sample_rate=1.0)
    for _ in range(200):
        with span("always"):
            pass

    timings = tachograph.report()["timings"]
    assert "never" not in timings and timings["always"]["count"] == 200


def test_the_json_file_holds_the_timeline(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    with span('é\n"quoted"', detail="ü", n=1):
        pass

    export_timeline(path)

    assert json.loads(path.read_text(encoding="utf-8")) == timeline()


def test_an_empty_timeline_is_an_empty_list_and_no_csv_file(tmp_path: Path) -> None:
    export_timeline(str(tmp_path / "timeline.json"), format="json")
    export_timeline(str(tmp_path / "timeline.csv"), format="csv")

    assert json.loads((tmp_path / "timeline.json").read_text()) == []
    assert not (tmp_path / "timeline.csv").exists()


def test_the_csv_file_has_a_column_for_every_key_in_order(tmp_path: Path) -> None:
    @tachograph.signal(tags=["io", "disk"])
    def load() -> None:
        pass

    path = tmp_path / "timeline.csv"
    with span('a, "b"\nc', detail="it's", n=1, share=0.5, warm=True, nothing=None):
        pass
    load()

    export_timeline(path, "csv")

    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["duration_ms", "key", "meta", "span", "tags", "timestamp"]
    block, call = rows
    assert block["key"] == 'a, "b"\nc' and block["span"] == "True" and block["tags"] == ""
    meta = {"detail": "it's", "n": 1, "share": 0.5, "warm": True, "nothing": None}
    assert block["meta"] == repr(meta)
    assert call["tags"] == "['io', 'disk']" and call["meta"] == "" and call["span"] == ""


@pytest.mark.parametrize("format", ["yaml", "JSON", ""])
def test_an_unknown_format_is_refused_and_named(format: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"Unsupported format '{format}'; choose 'json' or 'csv'"):
        export_timeline(tmp_path / "x.out", format=format)

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    with span("block"):
        pass

    with pytest.raises(FileNotFoundError, match="nowhere"):
        export_timeline(tmp_path / "nowhere" / "timeline.json")
