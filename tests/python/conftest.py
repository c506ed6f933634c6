"""Rules that hold for every Python test.

No test may leave a session running: it would sample the next test, whose
failure would then be told under the wrong name.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
import tachograph

# A shell starts background jobs with SIGINT ignored, and programs under test
# would inherit that; then nothing could interrupt them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_session_is_left_running() -> Iterator[None]:
    """Stop what a test left running, and fail that test."""
    yield
    if tachograph.is_active():
        tachograph.stop()
        pytest.fail("the test left a session running")
