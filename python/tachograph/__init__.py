"""The flight recorder for Python performance.

Record a program, ask where its time went::

    import tachograph

    with tachograph.record("run.tacho") as recording:
        train()

    print(recording.summary())
    tachograph.open("run.tacho").save("run.svg")

or profile between two points::

    tachograph.start(interval_ms=1)
    work()
    profile = tachograph.stop()
    profile.save("profile.json")
"""

from __future__ import annotations

from ._cpu import Profiler, is_active, start, stats, stop
from ._lazy import lazy
from ._native import __version__
from ._threads import ThreadProfiler, register_thread, unregister_thread
from ._unwinding import (
    capture_native_stack,
    native_unwinding_available,
    native_unwinding_enabled,
    set_native_unwinding,
)
from .exceptions import RecordingError, TachographError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import exceptions, output
    from ._aggregated import AggregatedProfile
    from ._decorators import profile
    from ._model import AggregatedStack, NativeFrame, ProfilerStats, StackTrace
    from ._profile import Profile
    from ._record import record
    from ._recording import Recording, open
    from ._rows import FunctionRow, LineRow, Note, Place, TaskRow, ThreadRow
    from ._samples import Frame, Sample
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "AggregatedProfile": "_aggregated",
            "AggregatedStack": "_model",
            "Frame": "_samples",
            "FunctionRow": "_rows",
            "LineRow": "_rows",
            "NativeFrame": "_model",
            "Note": "_rows",
            "Place": "_rows",
            "Profile": "_profile",
            "ProfilerStats": "_model",
            "Recording": "_recording",
            "Sample": "_samples",
            "StackTrace": "_model",
            "TaskRow": "_rows",
            "ThreadRow": "_rows",
            "open": "_recording",
            "profile": "_decorators",
            "record": "_record",
        },
        ("output",),
    )

# The compiled half is always there: without it the import has failed above.
_HAS_NATIVE = True

__all__ = [
    "AggregatedProfile",
    "AggregatedStack",
    "Frame",
    "FunctionRow",
    "LineRow",
    "NativeFrame",
    "Note",
    "Place",
    "Profile",
    "Profiler",
    "ProfilerStats",
    "Recording",
    "RecordingError",
    "Sample",
    "StackTrace",
    "TachographError",
    "TaskRow",
    "ThreadProfiler",
    "ThreadRow",
    "__version__",
    "capture_native_stack",
    "exceptions",
    "is_active",
    "native_unwinding_available",
    "native_unwinding_enabled",
    "open",
    "output",
    "profile",
    "record",
    "register_thread",
    "set_native_unwinding",
    "start",
    "stats",
    "stop",
    "unregister_thread",
]
