"""Lets the tests import the target programs; no test may leave a session running."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tachograph

sys.path.insert(0, str(Path(__file__).parents[1] / "targets"))


@pytest.fixture(autouse=True)
def no_session_is_left_running() -> Iterator[None]:
    """Stop what a failing test left running, so that the next one fails for itself."""
    yield
    if tachograph.is_active():
        tachograph.stop()
