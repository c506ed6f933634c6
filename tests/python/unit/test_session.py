"""`start`, `stop` and `Profiler`: one session, and what it refuses."""

from __future__ import annotations

import json
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
import tachograph
from made_profiles import spin
from speedscope_rules import check_speedscope


def test_a_session_sees_what_ran() -> None:
    tachograph.start(interval_ms=1)
    assert tachograph.is_active()
    spin(0.2)
    profile = tachograph.stop()

    assert not tachograph.is_active()
    assert profile.interval_ms == 1
    assert any(frame.function_name == "spin" for s in profile.samples for frame in s.frames)
    assert all(0 <= s.timestamp_ns <= profile.total_duration_ms * 1e6 for s in profile.samples)
    assert {s.thread_name for s in profile.samples} == {threading.current_thread().name}
    check_speedscope(profile.to_speedscope())


def test_a_second_start_is_refused_and_the_first_goes_on() -> None:
    tachograph.start()
    try:
        with pytest.raises(RuntimeError, match="Profiler already running"):
            tachograph.start()
        with pytest.raises(RuntimeError, match="already running"), tachograph.Profiler():
            pass
        assert tachograph.is_active()
    finally:
        tachograph.stop()


def test_stop_without_start_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Profiler not running"):
        tachograph.stop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"interval_ms": 0}, r"interval_ms must be >= 1, not 0"),
        ({"interval_ms": -5}, r"interval_ms must be >= 1, not -5"),
        ({"interval_ms": 10**9}, r"interval_ms must be <= 3600000, not 1000000000"),
        ({"memory_limit_mb": 0}, r"memory_limit_mb must be >= 1, not 0"),
        ({"max_depth": 0}, r"max_depth must be >= 1, not 0"),
        ({"mode": "gpu"}, r"mode must be one of 'cpu', 'wall', not 'gpu'"),
        ({"trigger": "bell"}, r"trigger must be one of 'auto', .*, not 'bell'"),
        ({"mode": "wall", "trigger": "perf"}, r"trigger must be .* with mode='wall', not 'perf'"),
    ],
)
@pytest.mark.parametrize("door", [tachograph.start, tachograph.Profiler, tachograph.profile])
def test_a_bad_value_is_named(door: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        door(**arguments)
    assert not tachograph.is_active()


def test_an_interval_is_a_whole_number() -> None:
    with pytest.raises(TypeError, match=r"interval_ms must be a whole number, not 2\.5"):
        tachograph.start(interval_ms=2.5)  # type: ignore[arg-type]


def test_stats_are_none_unless_something_runs() -> None:
    assert tachograph.stats() is None

    tachograph.start(interval_ms=1)
    spin(0.3)
    # Samples are counted as they are collected, by a thread that has to get its turn.
    while (figures := tachograph.stats()) is not None and not figures.collected_samples:
        spin(0.01)
    tachograph.stop()

    assert figures is not None
    assert figures.duration_ms >= 300
    assert figures.dropped_samples <= 0.01 * figures.collected_samples
    assert 0 <= figures.overhead_estimate_pct < 100
    assert tachograph.stats() is None


@pytest.mark.parametrize("name", ["out.json", "out.svg", "out.collapsed", "out.tacho", "out"])
def test_an_output_path_is_written_at_stop(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    tachograph.start(interval_ms=1, output_path=path)
    spin(0.05)
    profile = tachograph.stop()

    assert path.stat().st_size > 0
    if name == "out.tacho":
        assert tachograph.open(path).sample_count == profile.sample_count


def test_an_output_path_is_meant_from_where_the_program_stood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tachograph.start(output_path="here.json")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    tachograph.stop()

    assert (tmp_path / "here.json").exists()


def test_a_missing_folder_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.*choose a directory that exists"):
        tachograph.start(output_path=tmp_path / "nowhere" / "out.json")
    assert not tachograph.is_active()


def test_what_is_no_path_is_named_at_start() -> None:
    with pytest.raises(TypeError, match="a path must be a str or a PathLike, not 3"):
        tachograph.start(output_path=3)  # type: ignore[arg-type]
    assert not tachograph.is_active()


def test_a_folder_in_place_of_a_file_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        tachograph.start(output_path=tmp_path)
    assert not tachograph.is_active()


def test_an_unwritable_path_is_refused_at_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write everywhere, so the system's refusal is played.
    def refuse(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tachograph._doors.paths.os.open", refuse)
    with pytest.raises(PermissionError, match=r"cannot write to .*out\.json.*writable"):
        tachograph.start(output_path=tmp_path / "out.json")
    assert not tachograph.is_active()


def test_checking_a_path_neither_leaves_nor_empties_a_file(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text("precious")

    tachograph.start(output_path=old)
    assert old.read_text() == "precious"
    tachograph.stop()
    tachograph.start(output_path=new)
    assert not new.exists()
    tachograph.stop()

    check_speedscope(json.loads(old.read_text()))


def test_a_full_disk_at_stop_is_a_warning_and_the_profile_is_returned(tmp_path: Path) -> None:
    tachograph.start(interval_ms=1, output_path="/dev/full")
    spin(0.1)
    with pytest.warns(RuntimeWarning, match=r"/dev/full.*No space left.*elsewhere") as told:
        profile = tachograph.stop()

    assert told[0].filename == __file__
    assert profile.samples
    profile.save(tmp_path / "elsewhere.json")


def test_the_result_of_a_block_is_there_after_it() -> None:
    profiler = tachograph.Profiler(interval_ms=1)
    assert profiler.profile is None

    with profiler as entered:
        assert entered is profiler
        assert profiler.profile is None
        assert tachograph.is_active()
        spin(0.05)

    assert profiler.profile is not None
    assert profiler.profile.samples
    assert not tachograph.is_active()


def test_a_block_that_fails_still_leaves_its_profile() -> None:
    profiler = tachograph.Profiler(interval_ms=1)

    with pytest.raises(KeyError), profiler:
        spin(0.05)
        raise KeyError("mine")

    assert profiler.profile is not None
    assert not tachograph.is_active()


def test_a_block_that_was_stopped_inside_keeps_that_profile() -> None:
    with tachograph.Profiler(interval_ms=1) as profiler:
        spin(0.05)
        stopped = tachograph.stop()

    assert profiler.profile is not None
    assert profiler.profile.samples == stopped.samples


def test_a_session_can_be_stopped_from_another_thread() -> None:
    results = []
    tachograph.start(interval_ms=1)
    spin(0.05)
    thread = threading.Thread(target=lambda: results.append(tachograph.stop()))
    thread.start()
    thread.join()

    assert results[0].samples
    assert not tachograph.is_active()


def test_of_many_threads_that_start_at_once_one_succeeds() -> None:
    outcomes: list[str] = []

    def try_to_start() -> None:
        try:
            tachograph.start()
        except RuntimeError as error:
            outcomes.append(str(error))
        else:
            outcomes.append("started")

    threads = [threading.Thread(target=try_to_start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tachograph.stop()

    assert outcomes.count("started") == 1
    assert sum("already running" in text for text in outcomes) == 7


def test_registering_a_thread_is_always_fine() -> None:
    assert tachograph.register_thread() is True
    assert tachograph.unregister_thread() is True
    with tachograph.ThreadProfiler():
        pass


def test_names_of_threads_that_have_ended_are_known() -> None:
    tachograph.start(interval_ms=1)
    thread = threading.Thread(target=spin, args=(0.1,), name="short-lived")
    thread.start()
    thread.join()
    profile = tachograph.stop()

    assert "short-lived" in {s.thread_name for s in profile.samples}


def test_nothing_is_warned_about_in_an_ordinary_session() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tachograph.start()
        spin(0.02)
        tachograph.stop()
