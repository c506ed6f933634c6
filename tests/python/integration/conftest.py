"""Lets the tests import the target programs and run them as programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "targets"))

from programs import Programs


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """Return what runs programs in a folder of this test's own."""
    return Programs(tmp_path)
