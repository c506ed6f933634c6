"""What a recording says of its spans, and how it is narrowed to them."""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path

import pytest
import tachograph
from tachograph import Recording


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Return two epochs with a busy `forward` and a sleeping `wait` each."""
    # Without the heap: by chance one of its samples is in a span, and its columns are shown.
    with tachograph.record(interval_ms=1, heap=False) as recording:
        for number in range(2):
            with tachograph.span("epoch", number=number):
                with tachograph.span("forward"):
                    end = time.thread_time() + 0.05
                    while time.thread_time() < end:
                        pass
                with tachograph.span("wait"):
                    time.sleep(0.01)
    return recording


def test_rows_are_a_tree_with_counts_and_times(recording: Recording) -> None:
    rows = recording.spans()

    assert [(row.path, row.parent, row.depth, row.count) for row in rows] == [
        ("epoch", None, 0, 2),
        ("epoch/forward", "epoch", 1, 2),
        ("epoch/wait", "epoch", 1, 2),
    ]
    epoch, forward, wait = rows
    assert epoch.total_ns >= forward.total_ns + wait.total_ns
    assert epoch.self_ns == epoch.total_ns - forward.total_ns - wait.total_ns
    assert wait.p50_ns <= wait.p95_ns <= wait.max_ns <= wait.total_ns
    assert wait.mean_ns >= 10_000_000
    assert (epoch.failed, epoch.open, epoch.suspended_ns) == (0, 0, 0)
    assert forward.cpu_ns > wait.cpu_ns
    assert forward.functions[0].self_weight > 0


def test_single_spans_are_in_the_order_they_began(recording: Recording) -> None:
    spans = list(recording.timeline())

    assert [span.name for span in spans] == ["epoch", "forward", "wait"] * 2
    assert [span.attributes for span in spans[::3]] == [{"number": 0}, {"number": 1}]
    assert spans[4].parent == spans[3]
    assert spans[4].path == "epoch/forward"
    starts = [span.start_s for span in spans]
    assert starts == sorted(starts)
    assert all(0 < (span.duration_s or 0) < recording.duration for span in spans)


def test_narrowing_keeps_what_ran_inside(recording: Recording) -> None:
    forward = recording.within("forward")

    assert 0 < forward.sample_count <= recording.sample_count
    assert [row.path for row in forward.spans()] == ["forward"]
    assert forward.meta["within"] == ["forward"]
    assert forward.meta["covered_ns"] == forward.spans()[0].total_ns
    assert forward.spans()[0].cpu_ns == sum(row.cpu_ns for row in forward.threads())


def test_a_path_and_two_steps_narrow_alike(recording: Recording) -> None:
    by_path = recording.within("epoch/forward")
    by_steps = recording.within("epoch").within("forward")

    assert by_path.sample_count == by_steps.sample_count
    assert list(by_path.timeline()) == list(by_steps.timeline())


def test_a_part_of_the_time_can_be_narrowed_too(recording: Recording) -> None:
    middle = list(recording.timeline())[3].start_s

    second = recording.between(middle, recording.duration).within("forward")

    assert [row.count for row in second.spans()] == [1]


@pytest.mark.parametrize("wrong", ["forwrd", "epoch/forwrd"])
def test_an_unknown_name_is_told_with_those_there_are(recording: Recording, wrong: str) -> None:
    names = '"forward", .*"epoch"'
    with pytest.raises(ValueError, match=f'no span "{wrong}"; its spans are {names}'):
        recording.within(wrong)


def test_what_is_no_name_is_told(recording: Recording) -> None:
    with pytest.raises(TypeError, match="the path of a span, not 3"):
        recording.within(3)  # type: ignore[arg-type]


def test_a_recording_without_spans_says_so() -> None:
    with tachograph.record() as recording:
        pass

    assert recording.spans() == list(recording.timeline()) == recording.metrics() == []
    with pytest.raises(ValueError, match=r"it has no spans"):
        recording.within("epoch")
    assert "SPANS" not in recording.summary()


def test_the_summary_shows_the_tree_and_how_to_narrow(recording: Recording) -> None:
    text = recording.summary(width=90)

    table = text[text.index("SPANS") :].splitlines()
    assert table[0].split() == ["SPANS", "count", "total", "p50", "p95", "CPU"]
    assert table[1].strip().startswith("epoch")
    assert any(mark in table[2] for mark in ("├ forward", "+ forward"))
    assert 'recording.within("epoch/forward")' in text
    assert "within forward" in recording.within("forward").summary().splitlines()[0]


def test_a_narrowed_recording_is_saved_in_every_format(
    recording: Recording, tmp_path: Path
) -> None:
    part = recording.within("forward")
    for name in ("part.svg", "part.speedscope.json", "part.collapsed", "part.tacho"):
        part.save(tmp_path / name)

    assert "<svg" in (tmp_path / "part.svg").read_text()
    assert json.loads((tmp_path / "part.speedscope.json").read_text())["profiles"]
    assert (tmp_path / "part.collapsed").read_text()
    again = tachograph.open(tmp_path / "part.tacho")
    assert again.spans() == part.spans()
    assert list(again.timeline()) == list(part.timeline())
    assert again.sample_count == part.sample_count
    assert pickle.loads(pickle.dumps(part)).spans() == part.spans()
