"""Everything that comes and goes while it is sampled: threads, code, generators, processes."""

from __future__ import annotations

from arena import Session, pieces, prepare, seconds_asked
from churn import HEAVY, LIGHT

SESSIONS = [
    Session("tick", interval_ms=1, trigger="tick"),
    Session("tick, native frames", interval_ms=1, trigger="tick", native=True),
    Session("wall", interval_ms=1, mode="wall"),
    Session("wall, native frames", interval_ms=1, mode="wall", native=True),
    Session("perf", interval_ms=1, trigger="perf"),
    Session("perf, native frames", interval_ms=1, trigger="perf", native=True),
    Session("cpu-timer", interval_ms=1, trigger="cpu-timer"),
]


def main() -> None:
    prepare()
    each = seconds_asked(__doc__ or "") / len(SESSIONS)
    for session in SESSIONS:
        session.over(lambda: pieces(LIGHT, each, 6, rare=HEAVY))


if __name__ == "__main__":
    main()
