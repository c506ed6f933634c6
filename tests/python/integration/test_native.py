"""Sampling in native code: no crash, true lines, symbols under the right frame."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import foreign_threads
import native_hot
import pytest
import tachograph
from answers import fewest_looks, marked_line, python_stack, short, tolerance
from clockwork import cpu_ns

PARTS = sorted(native_hot.PARTS)


@pytest.fixture
def native_frames() -> Iterator[None]:
    assert tachograph.native_unwinding_available()
    tachograph.set_native_unwinding(True)
    yield
    tachograph.set_native_unwinding(False)


@pytest.mark.parametrize("part", PARTS)
def test_samples_in_c_stand_on_the_calling_line(part: str) -> None:
    native_hot.PARTS[part](0.01)

    tachograph.start(interval_ms=1)
    spent = cpu_ns(native_hot.PARTS[part], 0.25)
    profile = tachograph.stop()

    main = threading.main_thread().native_id
    stacks = [python_stack(s) for s in profile.samples if s.thread_id == main]
    inside = [stack for stack in stacks if stack and short(stack[-1][0]) == part]
    lines = Counter(stack[-1][2] for stack in inside)
    # A part has some preparing to do before it begins.
    assert len(inside) > max(0.8 * fewest_looks(profile, spent), 0)
    # query also fills its table, on a line and in a generator of its own, and every part
    # has a loop: a tenth of the time may be there, and what chance makes of it.
    fewest = 0.9 - tolerance(0.9, len(inside), bias=0)
    assert lines[marked_line(native_hot, part)] > fewest * len(inside)


def test_without_asking_there_are_no_native_frames() -> None:
    assert not tachograph.native_unwinding_enabled()

    tachograph.start(interval_ms=1)
    native_hot.compress(0.1)
    profile = tachograph.stop()

    main = threading.main_thread().native_id
    frames = [f for s in profile.samples if s.thread_id == main for f in s.frames]
    assert not any(frame.is_native for frame in frames)


@pytest.mark.usefixtures("native_frames")
@pytest.mark.parametrize("part", PARTS)
def test_native_frames_stand_below_the_python_frame_that_called_them(part: str) -> None:

    tachograph.start(interval_ms=1)
    spent = cpu_ns(native_hot.PARTS[part], 0.25)
    profile = tachograph.stop()

    main = threading.main_thread().native_id
    stacks = []
    for sample in profile.samples:
        names = [short(frame.function_name) for frame in sample.frames]
        if sample.thread_id == main and part in names:
            stacks.append(sample.frames[names.index(part) + 1 :])
    assert len(stacks) > max(0.8 * fewest_looks(profile, spent), 0)
    # The loaded libraries are listed in the background; until then stacks are Python's alone.
    listed = next((at for at, below in enumerate(stacks) if below), 0)
    inside = merged = named = 0
    for below in stacks[listed:]:
        inside += 1
        merged += bool(below) and all(frame.is_native for frame in below)
        library = native_hot.LIBRARIES.get(part, "")
        named += any(library in Path(frame.filename).name for frame in below)
    # The interpreter's own call plumbing is left out, and without symbols so is its sort.
    fewest = {"stat": 0.5, "sort": 0.0}.get(part, 0.85)
    assert merged >= fewest * inside
    if part in native_hot.LIBRARIES and has_library(native_hot.LIBRARIES[part]):
        assert named > 0.8 * inside


def has_library(word: str) -> bool:
    """Tell whether the work is done by a library of its own, not inside the program."""
    return f"/{word}" in Path("/proc/self/maps").read_text()


@pytest.mark.usefixtures("native_frames")
def test_zlib_symbols_are_named() -> None:
    tachograph.start(interval_ms=1)
    native_hot.compress(0.4)
    profile = tachograph.stop()

    names = Counter(f.function_name for s in profile.samples for f in s.frames if f.is_native)
    assert any("deflate" in name or "compress" in name for name in names), names.most_common(8)


@pytest.mark.usefixtures("native_frames")
def test_native_code_without_frame_pointers_is_unwound(tmp_path: Path) -> None:
    foreign = foreign_threads.build(tmp_path)

    tachograph.start(interval_ms=1)
    foreign_threads.run_in_c(foreign, 0.4)
    profile = tachograph.stop()

    main = threading.main_thread().native_id
    others = [s for s in profile.samples if s.thread_id != main]
    burning = [s for s in others if "foreign_burn" in {f.function_name for f in s.frames}]
    assert len(others) > max(fewest_looks(profile, 0.4e9), 0)
    assert burning
    # The loaded libraries are listed in the background; until then nothing has a name.
    assert len(burning) > 0.95 * len(others[others.index(burning[0]) :])
    for sample in burning:
        names = [frame.function_name for frame in sample.frames]
        if "foreign_main" in names:
            assert names.index("foreign_main") < names.index("foreign_burn")


@pytest.mark.usefixtures("native_frames")
def test_a_python_callback_from_c_stands_between_its_native_frames(tmp_path: Path) -> None:
    foreign = foreign_threads.build(tmp_path)

    tachograph.start(interval_ms=1)
    spent = foreign_threads.run_in_python(foreign, 0.4)
    profile = tachograph.stop()

    kinds: Counter[bool] = Counter()
    for sample in profile.samples:
        names = [short(frame.function_name) for frame in sample.frames]
        if "called_back" in names:
            above = sample.frames[: names.index("called_back")]
            kinds[any(f.is_native and "libforeign" in f.filename for f in above)] += 1
    assert kinds[True] > 0.9 * kinds.total()
    assert kinds.total() > max(fewest_looks(profile, spent), 0)


def test_a_library_that_comes_and_goes_under_sampling_is_no_harm(tmp_path: Path) -> None:
    foreign_threads.build(tmp_path)
    library = tmp_path / "libforeign.so"
    close = ctypes.CDLL(None).dlclose
    close.argtypes = [ctypes.c_void_p]
    tachograph.set_native_unwinding(tachograph.native_unwinding_available())
    try:
        tachograph.start(interval_ms=1)
        for _ in range(100):
            foreign = foreign_threads.load(library)
            foreign.foreign_burn(0.003)
            close(foreign._handle)
        profile = tachograph.stop()
    finally:
        tachograph.set_native_unwinding(False)

    assert len(profile.samples) > fewest_looks(profile, 100 * 3e6)


def test_the_native_stack_of_this_call_can_be_had() -> None:
    assert tachograph.native_unwinding_available()

    frames = tachograph.capture_native_stack()

    assert len(frames) > 3
    assert any("Py" in (frame.symbol or "") or frame.ip for frame in frames)
