"""`record`: a block, a decorator, beside other doors."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import tachograph
from made_profiles import spin


def test_a_block_is_recorded_to_its_file(tmp_path: Path) -> None:
    path = tmp_path / "run.tacho"

    with tachograph.record(path, interval_ms=1) as recording:
        spin(0.2)

    assert recording.functions()[0].self_weight > 0
    assert any(row.function == "spin" for row in recording.functions())
    assert tachograph.open(path).sample_count == recording.sample_count
    assert recording.duration >= 0.2


def test_a_block_without_a_path_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with tachograph.record(interval_ms=1) as recording:
        spin(0.05)

    assert recording.sample_count > 0
    assert not list(tmp_path.iterdir())


def test_a_running_recording_tells_its_length_and_nothing_else() -> None:
    with tachograph.record(interval_ms=1) as recording:
        spin(0.3)
        assert recording.duration >= 0.3
        while not recording.sample_count:  # a thread collects them when it gets its turn
            spin(0.01)
        assert "running" in repr(recording)
        with pytest.raises(tachograph.TachographError, match="still running"):
            recording.functions()

    assert "running" not in repr(recording)


def test_a_block_that_fails_still_leaves_its_recording(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        tachograph.record(tmp_path / "run.tacho", interval_ms=1) as recording,
    ):
        spin(0.05)
        1 / 0  # noqa: B018

    assert recording.sample_count > 0
    assert tachograph.open(tmp_path / "run.tacho").sample_count == recording.sample_count


@pytest.mark.parametrize("name", ["run.svg", "run.json", "run.collapsed", "run.tacho", "run"])
def test_the_extension_says_what_is_written(tmp_path: Path, name: str) -> None:
    with tachograph.record(tmp_path / name, interval_ms=1):
        spin(0.05)

    head = (tmp_path / name).read_bytes()[:200]
    assert (b"<svg" in head, head.startswith(b"{")) == (name == "run.svg", name == "run.json")
    if name in ("run.tacho", "run"):
        tachograph.open(tmp_path / name)


def test_start_inside_a_recording_has_its_own_window() -> None:
    with tachograph.record(interval_ms=1) as recording:
        spin(0.1)
        tachograph.start(interval_ms=1)
        spin(0.1)
        profile = tachograph.stop()
        spin(0.1)

    assert profile.total_duration_ms < recording.duration * 1000
    assert 0 < profile.sample_count < recording.sample_count


def test_recordings_can_be_nested() -> None:
    with tachograph.record(interval_ms=1) as outer:
        spin(0.05)
        with tachograph.record(interval_ms=1) as inner:
            spin(0.05)

    assert 0 < inner.sample_count < outer.sample_count


def test_one_block_can_be_entered_by_several_threads() -> None:
    block = tachograph.record(interval_ms=1)
    lengths: dict[float, float] = {}

    def run(cpu_seconds: float) -> None:
        with block as recording:
            spin(cpu_seconds)
        lengths[cpu_seconds] = recording.duration

    threads = [threading.Thread(target=run, args=(0.05 * n,)) for n in (4, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(length >= asked for asked, length in lengths.items())


def test_native_and_source_can_be_left_out() -> None:
    with tachograph.record(interval_ms=1, native=False, source=False) as recording:
        spin(0.1)

    assert {row.kind for row in recording.functions()} <= {"python", "label"}
    assert all(row.text is None for row in recording.lines())


def test_own_source_text_is_kept() -> None:
    with tachograph.record(interval_ms=1) as recording:
        spin(0.2)

    assert any(row.text and "sum(range(500))" in row.text for row in recording.lines())


@pytest.mark.parametrize("arguments", [{"interval_ms": 0}, {"heap_rate_kb": 0}, {"mode": "x"}])
def test_a_bad_value_is_named(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        tachograph.record(**arguments)  # type: ignore[call-overload]


def test_an_unwritable_place_is_refused_before_the_block_runs(tmp_path: Path) -> None:
    ran = False

    with (
        pytest.raises(FileNotFoundError, match="nowhere"),
        tachograph.record(tmp_path / "nowhere" / "run.tacho"),
    ):
        ran = True

    assert not ran


def test_every_call_of_a_decorated_function_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "call.tacho"

    @tachograph.record(path, interval_ms=1)
    def work(rounds: int, *, extra: int = 1) -> int:
        """Do some work."""
        spin(0.05)
        return rounds + extra

    assert work(3, extra=4) == 7
    first = tachograph.open(path).sample_count
    path.unlink()
    assert work(1) == 2

    assert first > 0
    assert path.exists()
    assert (work.__name__, work.__doc__) == ("work", "Do some work.")


def test_record_decorates_without_arguments() -> None:
    @tachograph.record
    def work() -> int:
        return spin(0.02)

    assert work() > 0


def test_coroutines_and_generators_are_recorded_to_their_end(tmp_path: Path) -> None:
    @tachograph.record(tmp_path / "coroutine.tacho", interval_ms=1)
    async def coroutine() -> str:
        await asyncio.sleep(0.01)
        spin(0.05)
        return "done"

    @tachograph.record(tmp_path / "generator.tacho", interval_ms=1)
    def generator() -> Iterator[int]:
        for number in range(3):
            spin(0.02)
            yield number

    @tachograph.record(tmp_path / "async_generator.tacho", interval_ms=1)
    async def async_generator() -> AsyncIterator[int]:
        for number in range(3):
            spin(0.02)
            yield number

    async def collect() -> list[int]:
        return [number async for number in async_generator()]

    assert asyncio.run(coroutine()) == "done"
    assert list(generator()) == [0, 1, 2]
    assert asyncio.run(collect()) == [0, 1, 2]
    for name in ("coroutine", "generator", "async_generator"):
        assert tachograph.open(tmp_path / f"{name}.tacho").duration >= 0.05


@pytest.mark.parametrize("name", ["run.tacho", "run.svg"])
def test_a_file_that_is_being_written_is_refused_to_a_second_recording(
    name: str, tmp_path: Path
) -> None:
    path, link = tmp_path / name, tmp_path / f"link-{name}"
    link.symlink_to(path)

    with tachograph.record(path) as first:
        for taken in (path, link):
            with pytest.raises(OSError, match=rf"{taken.name}.*choose another name") as refused:
                tachograph.record(taken).__enter__()
            assert refused.value.errno == errno.EBUSY
        with tachograph.record(tmp_path / f"other-{name}"):
            pass

    assert first.duration > 0
    with tachograph.record(path):  # it is free again
        pass
    assert path.stat().st_size > 0


def test_a_device_can_be_written_by_several_recordings() -> None:
    with tachograph.record("/dev/null"), tachograph.record("/dev/null"):
        pass
