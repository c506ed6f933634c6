"""The data classes: frozen where they must be, built by keyword, lazy where it pays."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from datetime import timedelta

import pytest
import tachograph
from made_profiles import END, MAIN, START, WORK, made_profile, sample
from tachograph import (
    AggregatedProfile,
    AggregatedStack,
    Frame,
    NativeFrame,
    Profile,
    ProfilerStats,
    Sample,
    StackTrace,
)


def test_a_frame_is_python_code_unless_said_otherwise() -> None:
    assert Frame("work", "worker.py", 42).is_native is False


@pytest.mark.parametrize(
    "thing",
    [MAIN, sample(MAIN), NativeFrame(ip=1, symbol="f", filename="l.so", offset=2, resolved=True)],
)
def test_frames_and_samples_are_frozen(thing: object) -> None:
    name = dataclasses.fields(thing)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, name, 0)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (ProfilerStats, "collected_samples dropped_samples duration_ms overhead_estimate_pct"),
        (NativeFrame, "ip symbol filename offset resolved"),
        (StackTrace, "frames thread_id thread_name"),
        (AggregatedStack, "frames thread_id thread_name count"),
        (
            AggregatedProfile,
            "start_time end_time interval_ms stacks total_samples dropped_count "
            "python_version platform",
        ),
    ],
)
def test_fields_have_their_known_names_and_order(kind: type, names: str) -> None:
    assert [field.name for field in dataclasses.fields(kind)] == names.split()


def test_a_stack_trace_can_be_counted() -> None:
    first = StackTrace(frames=(MAIN, WORK), thread_id=1)
    again = StackTrace(frames=(MAIN, WORK), thread_id=1)

    assert len({first, again}) == 1


def test_duration_and_rate_follow_from_the_times() -> None:
    profile = made_profile(sample(MAIN), sample(WORK, time_ns=1000))

    assert profile.sample_count == 2
    assert profile.total_duration_ms == 1000.0
    assert profile.effective_rate_hz == 2.0
    assert made_profile(end_time=START).effective_rate_hz == 0.0


def test_equal_stacks_are_counted_together() -> None:
    profile = made_profile(
        sample(MAIN, WORK), sample(MAIN, WORK), sample(MAIN), sample(MAIN, thread=2, name=None)
    )

    whole = profile.aggregate()

    counts = {(s.thread_id, s.thread_name, len(s.frames)): s.count for s in whole.stacks}
    assert counts == {(1, "MainThread", 2): 2, (1, "MainThread", 1): 1, (2, None, 1): 1}
    assert (whole.total_samples, whole.unique_stack_count) == (4, 3)
    assert whole.compression_ratio == pytest.approx(4 / 3)
    assert whole.memory_reduction_pct == pytest.approx(25.0)


def test_aggregates_of_nothing_divide_by_nothing() -> None:
    whole = made_profile().aggregate()

    assert (whole.compression_ratio, whole.memory_reduction_pct) == (1.0, 0.0)


def test_samples_are_made_when_they_are_first_looked_at() -> None:
    recorded = Profile._of(made_profile(sample(MAIN, WORK)).recording._native)

    assert recorded.sample_count == 1
    assert "samples" not in vars(recorded)
    assert recorded.samples[0].frames == (MAIN, WORK)
    assert "samples" in vars(recorded)
    assert "samples" in [field.name for field in dataclasses.fields(recorded)]


def test_changed_samples_are_what_is_exported() -> None:
    recorded = Profile._of(made_profile(sample(MAIN), sample(WORK, time_ns=5000)).recording._native)

    recorded.samples.pop()
    kept = recorded.to_collapsed()
    recorded.samples = [sample(WORK)]

    assert kept == "main (app.py:10) 1"
    assert recorded.to_collapsed() == "work (worker.py:42) 1"


def test_a_profile_knows_no_attribute_it_does_not_have() -> None:
    with pytest.raises(AttributeError, match="no attribute 'smaples'"):
        made_profile().smaples  # type: ignore[attr-defined]  # noqa: B018


def test_profiles_can_be_copied_pickled_replaced_and_compared() -> None:
    recorded = Profile._of(made_profile(sample(MAIN, WORK)).recording._native)

    for twin in (copy.deepcopy(recorded), pickle.loads(pickle.dumps(recorded))):
        assert twin == recorded
        assert twin.to_collapsed() == recorded.to_collapsed()
    assert dataclasses.replace(recorded, samples=[]).to_collapsed() == ""


def test_the_repr_of_a_profile_is_one_line() -> None:
    many = made_profile(*[sample(MAIN)] * 1000)

    assert "<1000 samples>" in repr(many)
    assert len(repr(many)) < 400


def test_a_recording_keeps_what_a_sample_says() -> None:
    first = Sample(1_000, 7, "loader", (MAIN, WORK), task_name="fetch-3", weight_ns=123)
    second = Sample(2_000, 8, None, (MAIN,), weight_ns=1)

    back = made_profile(second, first).recording.profile

    assert back.samples == [first, second]
    assert back.start_time == START
    assert back.end_time - back.start_time == timedelta(seconds=1) == END - START
    assert (back.interval_ms, back.python_version) == (10, "3.12.0")
    assert back.platform == "Linux-6.1-x86_64"


def test_strange_text_does_not_keep_a_profile_from_being_exported() -> None:
    odd = Frame("na\udce4me;\n", "\udcff.py", -3)

    text = made_profile(sample(odd, name="\udc00")).to_collapsed()

    assert text.count("\n") == 0
    assert text.endswith(" 1")


def test_a_sample_without_frames_draws_nothing() -> None:
    profile = made_profile(sample())

    assert profile.to_collapsed() == ""
    assert profile.to_speedscope()["profiles"] == []


def test_meta_says_how_it_was_recorded() -> None:
    meta = made_profile(sample(MAIN)).meta

    wanted = {"mode", "trigger", "trigger_reason", "rate_hz", "cost", "median_lateness_ns"}
    assert wanted | {"interval_ms", "native", "max_depth", "loss"} <= set(meta)


def test_a_recording_is_not_made_by_hand() -> None:
    with pytest.raises(TypeError, match=r"tachograph\.record\(\)"):
        tachograph.Recording()
