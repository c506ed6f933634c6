"""Failures on our own side: an exception a program can catch, never a crash."""

from __future__ import annotations

import pytest
import tachograph
from tachograph import _native


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"frame 7 is out of range: there are 1"):
        _native.Recording.from_samples(
            frames=[("f", "f.py", 1, False)],
            stacks=[[7]],
            threads=[(1, None)],
            tasks=[],
            columns=([0], [0], [-1], [0], [1]),
            mode="cpu",
            interval_ns=1,
            started_unix_ns=0,
            duration_ns=1,
            dropped_samples=0,
            python_version="",
            platform="",
        )


def test_bytes_that_are_no_recording_are_refused_on_first_use() -> None:
    recording = _native.Recording.from_bytes(b"nonsense", "the bytes")

    with pytest.raises(tachograph.RecordingError, match="the bytes is not a tachograph recording"):
        recording.functions(None)


def test_a_window_closes_once() -> None:
    client = _native.Client.open(
        interval_ns=10_000_000,
        mode="cpu",
        trigger="auto",
        native=False,
        max_depth=64,
        path=None,
        memory_limit_bytes=1 << 20,
        source=False,
        python=("3.12.0", "CPython", "", False),
        command=["name that is not \udcff UTF-8"],
        roots=("", "", [], []),
        thread_names=[(1, "\udcff")],
    )
    assert client.is_alive()
    client.finish([])

    assert client.stats() is None
    assert not client.is_alive()
    with pytest.raises(RuntimeError, match="already closed"):
        client.finish([])
