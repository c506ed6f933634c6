"""The parts of the measurement, each a list of promises with verdicts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from figures import Figure, Row, at_most, exactly_at_most
from rounds import Case, Rounds
from tachograph import _native
from tachograph.measure import PerformanceProfiler


def readings(rounds: int) -> list[Row]:
    """Compare one full reading of process and machine with the same through psutil."""
    cases: dict[str, Case] = {"tachograph": repeated(_native.read_everything)}
    peer = psutil()
    if peer is not None:
        cases["psutil"] = repeated(through_psutil(peer))
    measured = Rounds(cases, rounds, seconds=0.004)
    for name in cases:
        print(f"{name:12} {measured.ns(name) / 1e3:8.1f} µs a reading")
    if peer is None:
        return []
    return [at_most("full reading / psutil", measured.ratio("tachograph", "psutil"), 0.10)]


def blocks(rounds: int) -> list[Row]:
    """Measure windows and the profiler around nothing."""
    profiler = PerformanceProfiler()

    def nothing() -> None:
        pass

    def window() -> None:
        _native.MonitorWindow(peak=False).close()

    def window_with_peak() -> None:
        _native.MonitorWindow().close()

    def window_with_series() -> None:
        _native.MonitorWindow(io=True, series_interval=0.1).close()

    def new_profiler() -> None:
        with PerformanceProfiler().profile("x"):
            pass

    def same_profiler() -> None:
        with profiler.profile("x"):
            pass

    cases = [nothing, window, window_with_peak, window_with_series, new_profiler, same_profiler]
    monitored = performance_monitor()
    if monitored is not None:
        cases.append(monitored)
    measured = Rounds({case.__name__: repeated(case) for case in cases}, rounds)
    for case in cases[1:]:
        print(f"{case.__name__:20} {measured.ns(case.__name__, 'nothing') / 1e3:8.2f} µs")
    above = measured.ns("new_profiler", "nothing") / 1e3
    rows = [exactly_at_most("PerformanceProfiler().profile, µs", round(above, 1), 50)]
    if monitored is not None:
        above = measured.ns(monitored.__name__, "nothing") / 1e3
        rows.append(exactly_at_most("@performance_monitor on a no-op, µs", round(above, 1), 20))
    return rows


def truth(rounds: int) -> list[Row]:
    """Compare what is reported of a block of 50 ms with the clock inside of it."""
    wrong = []
    for _ in range(max(5, rounds // 4)):
        profiler = PerformanceProfiler()
        with profiler.profile("sleep"):
            begin = time.perf_counter()
            time.sleep(0.05)
            inside = time.perf_counter() - begin
        wrong.append((profiler.get_metrics().timing.wall_time_s - inside) * 1e3)
    print(f"a block of 50 ms is reported {median(wrong) * 1e3:.0f} µs too long")
    return [exactly_at_most("50 ms reported too long by, ms", round(median(wrong), 3), 0.5)]


def sampler(rounds: int) -> list[Row]:
    """Run a busy loop with and without the shared sampler at 10 Hz, in turn."""
    ratios, own = [], []
    for number in range(max(5, rounds // 3)):
        order = (True, False) if number % 2 else (False, True)
        times: dict[bool, float] = {}
        for is_watched in order:
            window = _native.MonitorWindow(series_interval=0.1) if is_watched else None
            time.sleep(0.3)  # it has started, and goes on at its pace
            process, thread, begun = time.process_time(), time.thread_time(), time.monotonic()
            busy()
            elapsed = time.monotonic() - begun
            times[is_watched] = time.thread_time() - thread
            if window is not None:
                others = time.process_time() - process - times[True]
                own.append(others / elapsed)
                window.close()
            # Nobody wants it for this long, so it ends.
            time.sleep(3.3 if is_watched else 0)
        ratios.append(times[True] / times[False])
    print(f"the sampler's own CPU time: {median(own) * 100:.3f} % of one core")
    return [
        at_most("busy loop beside the sampler at 10 Hz", Figure.of(ratios), 1.005),
        at_most("the sampler's own share of a core", Figure.of(own), 0.002),
    ]


def busy() -> int:
    """Half a second of pure Python."""
    total = 0
    for number in range(8_000_000):
        total += number & 7
    return total


def repeated(work: Callable[[], object]) -> Case:
    """Return what calls `work` as often as it is told."""

    def case(size: int) -> None:
        for _ in range(size):
            work()

    return case


def performance_monitor() -> Callable[[], object] | None:
    """Return a function under the decorator that watches everything, if it is there."""
    from tachograph import decorators

    if not hasattr(decorators, "performance_monitor"):
        return None

    @decorators.performance_monitor(print_results=False)
    def monitored_call() -> None:
        pass

    monitored_call()
    return monitored_call


def through_psutil(peer: Any) -> Callable[[], object]:
    """Return what reads the same through psutil, as its documentation shows."""
    process = peer.Process()

    def read() -> None:
        with process.oneshot():
            process.cpu_times()
            process.memory_info()
            process.io_counters()
            process.num_threads()
        peer.cpu_times()
        peer.virtual_memory()
        peer.swap_memory()
        peer.net_io_counters()
        peer.disk_io_counters()

    return read


def psutil() -> Any:
    """Install psutil on first use, and import it; `None` where that cannot be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = (
        cache / "tachograph" / f"bench-monitor-peers-{sys.version_info[0]}.{sys.version_info[1]}"
    )
    sys.path.append(str(folder))
    try:
        import psutil as peer
    except ImportError:
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), "psutil"]
        subprocess.run(command, capture_output=True, check=False)
        try:
            import psutil as peer
        except ImportError:
            print("psutil cannot be installed here: it is left out", file=sys.stderr)
            return None
    return peer
