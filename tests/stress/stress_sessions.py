"""Sessions that start and stop all the time, from any thread, while others work and fork."""

from __future__ import annotations

import itertools
import random
import tempfile
import threading
import time
from pathlib import Path

import tachograph
from arena import pieces, prepare, seconds_asked
from churn import LIGHT, forks


def on_and_off(end: float, counts: dict[str, int], chance: random.Random) -> None:
    """Open and close the doors in random order until `end`."""
    with tempfile.TemporaryDirectory() as folder:
        for number in itertools.count():
            if time.monotonic() > end:
                return
            mode = chance.choice(["cpu", "wall"])
            triggers = ["auto", "tick", "perf", "cpu-timer"] if mode == "cpu" else ["auto", "tick"]
            trigger = chance.choice(triggers)
            try:
                tachograph.start(interval_ms=chance.choice([1, 2, 10]), mode=mode, trigger=trigger)
            except RuntimeError:
                counts["refused"] += 1
                with tachograph.record(Path(folder) / f"{number}.tacho", interval_ms=1):
                    time.sleep(chance.random() * 0.02)
                counts["records"] += 1
                continue
            time.sleep(chance.random() * 0.03)
            profile = tachograph.stop()
            counts["sessions"] += 1
            counts["samples"] += len(profile.samples)
            counts["lost"] += profile.dropped_count


def main() -> None:
    prepare()
    seconds = seconds_asked(__doc__ or "")
    end = time.monotonic() + seconds
    counts = dict.fromkeys(("sessions", "records", "refused", "samples", "lost"), 0)
    failures: list[BaseException] = []

    def door(seed: int) -> None:
        try:
            on_and_off(end, counts, random.Random(seed))
        except BaseException as error:
            failures.append(error)

    # Two openers: the second is refused now and then and uses the other door.
    openers = [threading.Thread(target=door, args=(seed,), name=f"door-{seed}") for seed in (1, 2)]
    for opener in openers:
        opener.start()
    done = pieces(LIGHT, seconds, 3, rare=[forks])
    for opener in openers:
        opener.join()
    print(f"{done} pieces, " + ", ".join(f"{value} {name}" for name, value in counts.items()))
    if failures:
        raise failures[0]


if __name__ == "__main__":
    main()
