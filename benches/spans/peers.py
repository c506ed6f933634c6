"""Other tools in the same process, each doing what its documentation shows.

They are installed on first use into a folder of the user's cache, from where
this process imports them. One that cannot be installed is left out, and said.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rounds import Case, Prepared

PACKAGES = ("codetiming", "prometheus_client", "opentelemetry-sdk", "viztracer")


def make_importable() -> None:
    """Install the packages if need be, and let this process import them."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}{sys.abiflags}"
    folder = cache / "tachograph" / f"bench-span-peers-{version}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        install = [sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
        for package in PACKAGES:
            command = [*install, "--target", str(folder), "--upgrade", package]
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                print(f"{package} cannot be installed here: it is left out", file=sys.stderr)
        (folder / "complete").touch()
    sys.path.append(str(folder))


def blocks() -> dict[str, Case]:
    """Return `with` blocks of the peers."""
    return _those_there(
        _codetiming_block, _prometheus_block, _opentelemetry_block, _viztracer_block
    )


def calls(function: Callable[[], None]) -> dict[str, Case]:
    """Return `function` decorated by the peers."""
    return _those_there(
        lambda: _codetiming_call(function),
        lambda: _prometheus_call(function),
        lambda: _opentelemetry_call(function),
    )


def values() -> dict[str, Case]:
    """Return what keeps one value."""
    return _those_there(_prometheus_value, _codetiming_value)


def _those_there(*makers: Callable[[], tuple[str, Case]]) -> dict[str, Case]:
    made = {}
    for maker in makers:
        try:
            name, case = maker()
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
        else:
            made[name] = case
    return made


def _repeat_block(block: Callable[[], Any]) -> Case:
    def run(n: int) -> None:
        for _ in range(n):
            with block():
                pass

    return run


def _repeat_call(function: Callable[[], Any]) -> Case:
    def run(n: int) -> None:
        for _ in range(n):
            function()

    return run


def _codetiming_block() -> tuple[str, Case]:
    from codetiming import Timer

    return "codetiming", _repeat_block(lambda: Timer("x", logger=None))


def _prometheus_block() -> tuple[str, Case]:
    return "prometheus h.time()", _repeat_block(_histogram("block").time)


def _opentelemetry_block() -> tuple[str, Case]:
    tracer = _tracer()
    return "OpenTelemetry", _repeat_block(lambda: tracer.start_as_current_span("x"))


def _viztracer_block() -> tuple[str, Case]:
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0, tracer_entries=100_000, log_sparse=True)

    def stop() -> None:
        tracer.stop()
        tracer.clear()

    # A tracer that never started slows every call of the program on 3.11.
    tracer.start()
    stop()
    block = _repeat_block(lambda: tracer.log_event("x"))
    return "viztracer log_event", Prepared(block, tracer.start, stop)


def _codetiming_call(function: Callable[[], None]) -> tuple[str, Case]:
    from codetiming import Timer

    return "codetiming", _repeat_call(Timer("f", logger=None)(lambda: function()))


def _prometheus_call(function: Callable[[], None]) -> tuple[str, Case]:
    return "prometheus h.time()", _repeat_call(_histogram("call").time()(lambda: function()))


def _opentelemetry_call(function: Callable[[], None]) -> tuple[str, Case]:
    return "OpenTelemetry", _repeat_call(_tracer().start_as_current_span("f")(lambda: function()))


def _prometheus_value() -> tuple[str, Case]:
    observe = _histogram("value").observe

    def run(n: int) -> None:
        for _ in range(n):
            observe(0.5)

    return "prometheus observe", run


def _codetiming_value() -> tuple[str, Case]:
    from codetiming import Timer

    timers = Timer.timers

    def run(n: int) -> None:
        for _ in range(n):
            timers.add("x", 0.5)
        timers.clear()

    return "codetiming timers.add", run


def _histogram(name: str) -> Any:
    from prometheus_client import CollectorRegistry, Histogram

    return Histogram(name, "a histogram", registry=CollectorRegistry())


def _tracer() -> Any:
    from opentelemetry.sdk.trace import TracerProvider

    return TracerProvider().get_tracer("bench")
