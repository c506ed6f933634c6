"""Every Python block of the guides runs as it stands, each in a fresh process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDES = sorted((Path(__file__).parents[3] / "docs" / "guide").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples() -> list[object]:
    """List every block of every guide as a test parameter named after its place."""
    found = []
    for guide in GUIDES:
        text = guide.read_text()
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 2
            found.append(pytest.param(block[1], id=f"{guide.name}:{line}"))
    return found


@pytest.mark.full_only
@pytest.mark.parametrize("code", examples())
def test_an_example_of_the_guides_runs_as_it_stands(code: str, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(code)

    ran = subprocess.run(
        [sys.executable, program.name], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""


def test_there_are_guides_to_test() -> None:
    assert len(examples()) >= 5
