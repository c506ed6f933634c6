"""Recordings: what they answer, and what a file that is none says."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import tachograph
from made_profiles import MAIN, WORK, ZLIB, made_profile, sample
from tachograph import Frame, Recording

MS = 1_000_000


@pytest.fixture
def recording() -> Recording:
    """Return 30 ms of work, 10 ms of it in native code, and 10 ms elsewhere."""
    return made_profile(
        sample(MAIN, WORK, time_ns=0),
        sample(MAIN, WORK, time_ns=10 * MS),
        sample(MAIN, WORK, ZLIB, time_ns=20 * MS),
        sample(Frame("feed", "data.py", 7), time_ns=900 * MS, thread=2, name="loader"),
    ).recording


def test_functions_are_sorted_by_what_fell_on_them(recording: Recording) -> None:
    rows = recording.functions()

    assert [(row.function, row.self_weight, row.total_weight) for row in rows[:1]] == [
        ("work", 20 * MS, 30 * MS)
    ]
    assert sum(row.self_weight for row in rows) == 40 * MS
    by_name = {row.function: row for row in rows}
    assert by_name["deflate"].kind == "native"
    assert by_name["main"].total_weight == 30 * MS


def test_lines_and_threads_add_up_to_the_same_time(recording: Recording) -> None:
    assert sum(row.self_weight for row in recording.lines()) == 40 * MS
    assert {row.name: row.cpu_ns for row in recording.threads()} == {
        "MainThread": 30 * MS,
        "loader": 10 * MS,
    }


def test_samples_are_a_measure_too(recording: Recording) -> None:
    assert sum(row.self_weight for row in recording.functions(measure="samples")) == 4
    assert recording.functions(measure="wall") == [] or all(
        row.total_weight == 0 for row in recording.functions(measure="wall")
    )


def test_an_unknown_measure_is_named(recording: Recording) -> None:
    with pytest.raises(ValueError, match=r'measure must be "cpu", "wall".*not "heat"'):
        recording.functions(measure="heat")  # type: ignore[arg-type]


def test_between_keeps_what_happened_in_that_time(recording: Recording) -> None:
    assert recording.between(0.0, 0.015).sample_count == 2
    assert recording.between(0.5, float("inf")).functions()[0].function == "feed"
    assert recording.between(0.3, 0.3).sample_count == 0


@pytest.mark.parametrize(("start", "end"), [(2.0, 1.0), (-1.0, 1.0), (float("nan"), 1.0)])
def test_between_refuses_times_that_are_none(
    recording: Recording, start: float, end: float
) -> None:
    with pytest.raises(ValueError, match=r"between\(\) needs 0 <= start <= end"):
        recording.between(start, end)


def test_between_names_what_is_no_number(recording: Recording) -> None:
    with pytest.raises(TypeError, match=r"between\(\) needs seconds, not 'soon' and 1"):
        recording.between("soon", 1)  # type: ignore[arg-type]


def test_a_file_gives_back_what_was_saved(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "run.tacho"

    recording.save(path)
    again = tachograph.open(path)

    assert again.functions() == recording.functions()
    assert again.profile.samples == recording.profile.samples
    assert again.meta == recording.meta
    assert again.loss == recording.loss


def test_a_recording_can_be_pickled(recording: Recording) -> None:
    assert pickle.loads(pickle.dumps(recording)).functions() == recording.functions()


def test_the_summary_names_the_heaviest_function(recording: Recording) -> None:
    text = recording.summary(width=100)

    assert "work" in text
    assert "\x1b" not in text
    assert "\x1b" in recording.summary(width=100, color=True)
    assert max(map(len, text.splitlines())) <= 100


def test_the_summary_is_ascii_in_the_c_locale(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")

    assert recording.summary(width=100).isascii()


def test_a_summary_needs_room(recording: Recording) -> None:
    with pytest.raises(ValueError, match="width must be >= 1, not -4"):
        recording.summary(width=-4)


def test_a_file_that_is_no_recording_is_named_in_the_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")

    with pytest.raises(
        tachograph.RecordingError, match=r"notes\.txt is not a tachograph recording"
    ):
        tachograph.open(path)


def test_a_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(tachograph.RecordingError, match=r"gone\.tacho.*No such file"):
        tachograph.open(tmp_path / "gone.tacho")


def test_recording_errors_are_tachograph_errors() -> None:
    assert issubclass(tachograph.RecordingError, tachograph.TachographError)
    assert tachograph.exceptions.TachographError is tachograph.TachographError


def test_a_cut_file_is_read_as_far_as_it_goes(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "cut.tacho"
    recording.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 20])

    cut = tachograph.open(path)

    assert cut.sample_count <= recording.sample_count
    assert any(note.warning for note in cut.notes)
