"""Prints CPU time per span of eight threads as a multiple of one, as JSON."""

from __future__ import annotations

import json
import sys
import threading
import time

import tachograph

SPANS = 4000
THREADS = 8


def main(rounds: int) -> None:
    span = tachograph.span
    tachograph.configure(profiling=True)

    def work() -> None:
        for _ in range(SPANS):
            with span("x"):
                pass

    def cpu_per_span(count: int) -> float:
        threads = [threading.Thread(target=work) for _ in range(count)]
        begin = time.process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (time.process_time() - begin) / (count * SPANS)

    cpu_per_span(THREADS)
    ratios = []
    for _ in range(rounds):
        before = cpu_per_span(1)
        many = cpu_per_span(THREADS)
        ratios.append(2 * many / (before + cpu_per_span(1)))
    is_gil_enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    version = sys.version.split()[0]
    told = {"ratios": ratios, "free_threaded": not is_gil_enabled, "python": version}
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]))
