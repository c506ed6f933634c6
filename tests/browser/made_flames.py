"""Profiles whose flame graphs have known right answers.

`KNOWN` is one second of CPU time, 100 samples of 10 ms:

    main                   1 s     self 100 ms   app.py:10
      train                600 ms  self 200 ms   train.py:20
        step               400 ms  self 250 ms   train.py:31
          deflate          150 ms  self 150 ms   libz.so
      load                 300 ms  self 100 ms   data.py:7
        step               200 ms  self 200 ms   train.py:31
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tachograph import Frame, Profile, Sample

MAIN = Frame("main", "app.py", 10)
TRAIN = Frame("train", "train.py", 20)
STEP = Frame("step", "train.py", 31)
LOAD = Frame("load", "data.py", 7)
DEFLATE = Frame("deflate", "libz.so", 0, is_native=True)


def made_profile(stacks: Iterable[tuple[int, tuple[Frame, ...]]]) -> Profile:
    """Return a profile with so many samples of 10 ms of each stack, root first."""
    looks = [frames for times, frames in stacks for _ in range(times)]
    return Profile(
        start_time=datetime(2024, 1, 1, 12, 0, 0),
        end_time=datetime(2024, 1, 1, 12, 0, 1),
        interval_ms=10,
        samples=[
            Sample(
                timestamp_ns=index * 10_000_000,
                thread_id=1,
                thread_name="MainThread",
                frames=frames,
            )
            for index, frames in enumerate(looks)
        ],
        dropped_count=0,
        python_version="3.12.0",
        platform="Linux-6.1-x86_64",
    )


def known() -> Profile:
    """Return the profile of this file's header."""
    return made_profile(
        [
            (10, (MAIN,)),
            (20, (MAIN, TRAIN)),
            (25, (MAIN, TRAIN, STEP)),
            (15, (MAIN, TRAIN, STEP, DEFLATE)),
            (10, (MAIN, LOAD)),
            (20, (MAIN, LOAD, STEP)),
        ]
    )


def recursive() -> Profile:
    """Return a profile where `visit` calls itself: 75 % of the time is below it."""
    visit = Frame("visit", "walk.py", 3)
    return made_profile(
        [
            (25, (MAIN,)),
            (25, (MAIN, visit)),
            (25, (MAIN, visit, visit)),
            (25, (MAIN, visit, visit, visit)),
        ]
    )


def deep(depth: int) -> Profile:
    """Return a profile of one stack, higher than a screen."""
    frames = tuple(Frame(f"level_{level}", "deep.py", level + 1) for level in range(depth))
    return made_profile([(10, frames)])


def named(*names: str, file: str = "app.py") -> Profile:
    """Return a profile where `main` calls functions of these names, all equally heavy."""
    return made_profile([(10, (MAIN, Frame(name, file, 1))) for name in names])
