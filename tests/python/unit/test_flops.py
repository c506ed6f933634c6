"""FLOPs without torch, and with a torch that is none."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
from tachograph._doors import flops


def test_nothing_counted_is_zero_from_nobody() -> None:
    assert flops.end(flops.begin()) == (0, "none")


def test_a_torch_without_a_dispatcher_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))

    assert flops.end(flops.begin()) == (0, "none")


def test_a_window_may_be_closed_twice() -> None:
    window = flops.begin()

    assert window.close() == window.close() == (0, "none")


def test_counting_imports_neither_torch_nor_numpy() -> None:
    program = (
        "import sys; from tachograph._doors import flops; flops.end(flops.begin());"
        "sys.exit(bool({'torch', 'numpy', 'threading'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
