"""The flight recorder for Python performance.

Record a program, ask where its time went::

    import tachograph

    with tachograph.record("run.tacho") as recording:
        with tachograph.span("epoch", number=1):
            train()

    print(recording.summary())
    recording.within("epoch").save("epoch.svg")  # the flame graph of one span
    tachograph.open("run.tacho").save("run.svg")

or profile between two points::

    tachograph.start(interval_ms=1)
    work()
    profile = tachograph.stop()
    profile.save("profile.json")
"""

from __future__ import annotations

from ._doors.cpu import Profiler, is_active, start, stats, stop
from ._doors.environment import apply_environment
from ._doors.threads import ThreadProfiler, register_thread, unregister_thread
from ._doors.unwinding import (
    capture_native_stack,
    native_unwinding_available,
    native_unwinding_enabled,
    set_native_unwinding,
)
from ._lazy import lazy
from ._native import __version__, span
from .exceptions import RecordingError, TachographError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import decorators, exceptions, measure, memprof, output, profiler, profiling
    from ._data.aggregated import AggregatedProfile
    from ._data.heap_rows import AllocationRow, LeakRow, ResidentMemory
    from ._data.line_table import LineTable, LineTime
    from ._data.model import AggregatedStack, NativeFrame, ProfilerStats, StackTrace
    from ._data.profile import Profile
    from ._data.readings import Energy, MemoryGrowth, SeriesRow
    from ._data.recording import Recording, open
    from ._data.rows import (
        FunctionRow,
        LineRow,
        MetricRow,
        Note,
        Place,
        RecordedSpan,
        SpanRow,
        TaskRow,
        ThreadRow,
    )
    from ._data.samples import Frame, Sample
    from ._doors.control import _reset_for_tests as _reset_for_tests
    from ._doors.control import configure, get_manager
    from ._doors.decorator import profile
    from ._doors.events import emit
    from ._doors.lines import lines
    from ._doors.record import record
    from ._doors.report import report
    from ._doors.signals import signal
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "AggregatedProfile": "_data.aggregated",
            "AggregatedStack": "_data.model",
            "AllocationRow": "_data.heap_rows",
            "Energy": "_data.readings",
            "Frame": "_data.samples",
            "FunctionRow": "_data.rows",
            "LeakRow": "_data.heap_rows",
            "LineRow": "_data.rows",
            "LineTable": "_data.line_table",
            "LineTime": "_data.line_table",
            "MemoryGrowth": "_data.readings",
            "MetricRow": "_data.rows",
            "NativeFrame": "_data.model",
            "Note": "_data.rows",
            "Place": "_data.rows",
            "Profile": "_data.profile",
            "ProfilerStats": "_data.model",
            "RecordedSpan": "_data.rows",
            "Recording": "_data.recording",
            "ResidentMemory": "_data.heap_rows",
            "Sample": "_data.samples",
            "SeriesRow": "_data.readings",
            "SpanRow": "_data.rows",
            "StackTrace": "_data.model",
            "TaskRow": "_data.rows",
            "ThreadRow": "_data.rows",
            "_reset_for_tests": "_doors.control",
            "configure": "_doors.control",
            "emit": "_doors.events",
            "get_manager": "_doors.control",
            "lines": "_doors.lines",
            "open": "_data.recording",
            "profile": "_doors.decorator",
            "record": "_doors.record",
            "report": "_doors.report",
            "signal": "_doors.signals",
        },
        ("decorators", "measure", "memprof", "output", "profiler", "profiling"),
    )

# The compiled half is always there: without it the import has failed above.
_HAS_NATIVE = True

apply_environment()

__all__ = [
    "AggregatedProfile",
    "AggregatedStack",
    "AllocationRow",
    "Energy",
    "Frame",
    "FunctionRow",
    "LeakRow",
    "LineRow",
    "LineTable",
    "LineTime",
    "MemoryGrowth",
    "MetricRow",
    "NativeFrame",
    "Note",
    "Place",
    "Profile",
    "Profiler",
    "ProfilerStats",
    "RecordedSpan",
    "Recording",
    "RecordingError",
    "ResidentMemory",
    "Sample",
    "SeriesRow",
    "SpanRow",
    "StackTrace",
    "TachographError",
    "TaskRow",
    "ThreadProfiler",
    "ThreadRow",
    "__version__",
    "capture_native_stack",
    "configure",
    "decorators",
    "emit",
    "exceptions",
    "get_manager",
    "is_active",
    "lines",
    "measure",
    "memprof",
    "native_unwinding_available",
    "native_unwinding_enabled",
    "open",
    "output",
    "profile",
    "profiler",
    "profiling",
    "record",
    "register_thread",
    "report",
    "set_native_unwinding",
    "signal",
    "span",
    "start",
    "stats",
    "stop",
    "unregister_thread",
]
