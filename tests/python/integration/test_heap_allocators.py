"""Memory is told right when another allocator takes the place of the C library's.

Whatever is found first in the order of loading is what the program calls, and so what
the hooks have to call. A stand-in that refuses blocks of others shows it everywhere;
jemalloc, tcmalloc and mimalloc are used where they are installed.
"""

from __future__ import annotations

import ctypes.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[2]
TARGET = TESTS / "targets" / "other_allocator.py"
RATE = 64 * 1024
# What the target keeps: thirty thousand objects and the list of them.
OBJECTS = 30_000 * sys.getsizeof(bytes(267)) + 30_000 * 9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("allocators")


def library(name: str, folder: Path) -> str:
    """Return the allocator to preload: the stand-in, built on first use, or one found."""
    if name != "stand-in":
        found = ctypes.util.find_library(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        return found
    return stand_in(folder)


def stand_in(folder: Path, *options: str) -> str:
    """Return the stand-in, built with more options of the compiler."""
    built = folder / "-".join(["allocator.so", *options])
    if not built.exists():
        compiler = shutil.which("gcc") or shutil.which("cc")
        assert compiler is not None, "no C compiler was found; install gcc"
        options = ("-O2", "-shared", "-fPIC", "-fno-builtin", *options)
        source = TESTS / "stand_ins" / "allocator.c"
        subprocess.run([compiler, *options, "-o", built, source], check=True)
    return str(built)


def answers(preload: str, folder: Path, **variables: str) -> Any:
    environment = {**os.environ, **variables, "LD_PRELOAD": preload}
    words = [sys.executable, TARGET, folder]
    told = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def near(size: int, *, chance: float = 1.0) -> Any:
    """Return `size` with five standard errors; `chance` that a sample there is the site's."""
    samples = size / RATE
    return pytest.approx(size, rel=5 * sqrt((1 / 12 + (1 - chance)) / samples))


@pytest.mark.parametrize("name", ["stand-in", "jemalloc", "tcmalloc_minimal", "mimalloc"])
def test_blocks_of_another_allocator_are_told_until_they_are_freed(name: str, folder: Path) -> None:
    told = answers(library(name, folder), folder)

    # The list that keeps the objects grows at their line; numbers of the loop are made
    # and dropped between them, a tenth of the bytes.
    assert told["held"]["objects"] == near(OBJECTS, chance=0.85)
    assert told["held"]["large"] == pytest.approx(15_000_000, rel=0.01)
    assert told["held"]["keep"] == near(20_000_000)
    resized = told["resized"].get("keep", 0) + told["resized"].get("resize", 0)
    assert resized == near(40_000_000)
    for gone in ("objects", "large", "keep", "resize"):
        assert told["dropped"].get(gone, 0) == 0, gone
    assert told["leaks"] == ["leaky"]
    assert told["lost"] == 0


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="objects only come to mimalloc"
)
def test_objects_that_all_come_to_another_malloc_are_told(folder: Path) -> None:
    told = answers(stand_in(folder), folder, PYTHONMALLOC="malloc")

    assert told["held"]["objects"] == near(OBJECTS, chance=0.85)
    assert told["dropped"].get("objects", 0) == 0


def test_an_incomplete_allocator_is_left_alone_and_named(folder: Path) -> None:
    told = answers(stand_in(folder, "-DINCOMPLETE"), folder)

    # It has no memalign: blocks of the C library's would come back to it.
    assert "keep" not in told["held"]
    assert any("without a malloc_usable_size or memalign" in note for note in told["notes"])
