"""What holds for every profile, whatever is in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import tachograph
from hypothesis import given, settings
from hypothesis import strategies as some
from made_profiles import made_profile
from speedscope_rules import check_speedscope
from tachograph import Frame, Sample

NAMES = some.text(max_size=12)
FRAMES = some.builds(
    Frame,
    function_name=NAMES.filter(bool),
    filename=NAMES,
    lineno=some.integers(0, 100_000),
    is_native=some.booleans(),
)
SAMPLES = some.builds(
    Sample,
    # A recording keeps times to the microsecond.
    timestamp_ns=some.integers(0, 10**9).map(lambda time_us: time_us * 1000),
    thread_id=some.integers(1, 4),
    thread_name=some.sampled_from([None, "MainThread", "loader"]),
    frames=some.lists(FRAMES, max_size=5).map(tuple),
    task_name=some.none() | NAMES,
    weight_ns=some.integers(1, 10**10),
)
# Which of two samples of the same time comes first is nobody's promise.
PROFILES = some.lists(SAMPLES, max_size=30, unique_by=lambda sample: sample.timestamp_ns)


@given(PROFILES)
@settings(deadline=None, max_examples=150)
def test_exports_keep_counts_and_weights(samples: list[Sample]) -> None:
    profile = made_profile(*samples)
    drawn = [sample for sample in samples if sample.frames]

    document = profile.to_speedscope()
    lines = filter(None, profile.to_collapsed().split("\n"))
    counts = [int(line.rpartition(" ")[2]) for line in lines]

    check_speedscope(document)
    weights = sum(sum(part["weights"]) for part in document["profiles"])
    assert weights == sum(sample.weight_ns or 0 for sample in drawn)
    assert sum(counts) == len(drawn)
    assert sum(row.self_weight for row in profile.recording.functions()) == weights


@given(PROFILES)
@settings(deadline=None, max_examples=100)
def test_a_recording_gives_back_the_samples_it_was_given(samples: list[Sample]) -> None:
    drawn = sorted((one for one in samples if one.frames), key=lambda one: one.timestamp_ns)
    names = {one.thread_id: one.thread_name for one in samples if one.thread_name}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "laws.tacho"
        made_profile(*samples).save(path)
        back = tachograph.open(path).profile.samples

    assert [(s.timestamp_ns, s.thread_id, s.frames, s.weight_ns) for s in back] == [
        (s.timestamp_ns, s.thread_id, s.frames, s.weight_ns) for s in drawn
    ]
    assert all(s.thread_name == names.get(s.thread_id) for s in back)
    assert [s.task_name or "" for s in back] == [s.task_name or "" for s in drawn]
