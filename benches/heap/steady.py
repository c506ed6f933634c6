"""Does one workload under one tool and prints the CPU seconds it took.

`steady.py WORKLOAD UNITS TOOL RESULT`: with 0 units it finds out how many take
about a second. The tool is started inside of this process, except scalene,
which starts this program itself.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from workloads import WORKLOADS

SECONDS = 1.0


def tool_named(name: str) -> AbstractContextManager[Any]:
    """Return the block in which the tool watches."""
    if name.startswith("tachograph"):
        import tachograph.memprof as memprof

        if name == "tachograph stopped":
            memprof.start()
            memprof.stop()
            return nullcontext()
        return memprof.MemoryProfiler(sampling_rate_kb=int(name.split()[1]))
    if name == "tracemalloc":
        import tracemalloc

        tracemalloc.start()
    elif name.startswith("memray"):
        import memray

        path = Path(tempfile.mkdtemp()) / "out.bin"
        return memray.Tracker(path, trace_python_allocators="objects" in name)
    return nullcontext()


def main() -> None:
    workload, units, tool, result = sys.argv[1:5]
    work, count = WORKLOADS[workload], int(units)
    work(1)
    if count == 0:
        begin = time.process_time()
        work(3)
        count = max(1, round(3 * SECONDS / (time.process_time() - begin)))
    with tool_named(tool):
        work(1)
        begin = time.process_time()
        work(count)
        spent = time.process_time() - begin
    Path(result).write_text(json.dumps({"units": count, "cpu": spent}))


main()
