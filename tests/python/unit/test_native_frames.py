"""Native frames: off at first, on when asked, told when they cannot be had."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tachograph


@pytest.fixture(autouse=True)
def off_again() -> Iterator[None]:
    """Leave native frames off, as they are at first."""
    yield
    tachograph.set_native_unwinding(False)


def test_native_frames_are_off_at_first() -> None:
    assert tachograph.native_unwinding_enabled() is False


def test_native_frames_can_be_switched_where_they_can_be_had() -> None:
    if not tachograph.native_unwinding_available():
        with pytest.raises(RuntimeError, match="not available"):
            tachograph.set_native_unwinding(True)
        return

    tachograph.set_native_unwinding(True)
    assert tachograph.native_unwinding_enabled() is True
    tachograph.set_native_unwinding(False)
    assert tachograph.native_unwinding_enabled() is False


def test_the_native_stack_of_this_thread_can_be_seen() -> None:
    if not tachograph.native_unwinding_available():
        with pytest.raises(RuntimeError, match="not available"):
            tachograph.capture_native_stack()
        return

    frames = tachograph.capture_native_stack()

    assert len(frames) > 3
    assert all(isinstance(frame, tachograph.NativeFrame) and frame.ip > 0 for frame in frames)
    assert any(frame.resolved and "Py" in frame.symbol for frame in frames)
