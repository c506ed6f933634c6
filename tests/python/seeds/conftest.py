"""Lets the tests of this folder import the modules beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from blocks import all_blocks
from fresh_process import DO_WORK, run_script

Run = Callable[..., None]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return what runs a block between code that prepares it and code that checks it."""

    def run_block(
        name: str,
        *,
        before: str = "",
        after: str = "",
        edit: Callable[[str], str] = lambda code: code,
    ) -> None:
        code = edit(all_blocks()[name].code)
        script = "\n".join([DO_WORK, "import tachograph as spprof", before, code, after])
        run_script(script, tmp_path)

    return run_block
