"""Events: ``emit``, what was counted of them, and the recent ones.

Only as much of smonitor's diagnostics as profiling needs. An event is counted,
kept if there is a buffer, and returned; it is printed and sent nowhere.
"""

from __future__ import annotations

import os
from _thread import RLock
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

SLOW_SIGNAL = "TACHOGRAPH-SIGNAL-SLOW"

# As many as a person looks at; the buffer holds the rest.
_SLOW_SIGNALS_KEPT = 10


class Events:
    """The events of this process: numbers of all, and as many as the buffer holds."""

    def __init__(self) -> None:
        self._lock = RLock()
        self.clear()

    def clear(self) -> None:
        """Forget everything, and keep no buffer."""
        with self._lock:
            self.warnings = 0
            self.errors = 0
            self._recent: deque[dict[str, Any]] = deque(maxlen=0)
            self._slow: deque[dict[str, Any]] = deque(maxlen=_SLOW_SIGNALS_KEPT)

    def set_buffer(self, size: int) -> None:
        """Keep the latest `size` events from now on."""
        with self._lock:
            if self._recent.maxlen != size:
                self._recent = deque(self._recent, maxlen=size)

    def add(self, event: dict[str, Any]) -> None:
        """Count an event and keep it if there is room."""
        with self._lock:
            self.warnings += event["level"] == "WARNING"
            self.errors += event["level"] == "ERROR"
            self._recent.append({**event, "extra": dict(event["extra"])})
            if event["code"] == SLOW_SIGNAL:
                self._slow.append(_slow_signal(event))

    def recent(self) -> list[dict[str, Any]]:
        """Return the buffered events, newest last."""
        with self._lock:
            return list(self._recent)

    def slow_signals(self) -> list[dict[str, Any]]:
        """Return the latest slow calls, newest last."""
        with self._lock:
            return list(self._slow)

    def start_afresh_in_child(self) -> None:
        """Another thread may have held the lock when this process was forked."""
        self._lock = RLock()


EVENTS = Events()
os.register_at_fork(after_in_child=EVENTS.start_afresh_in_child)


def emit(
    level: str,
    message: str,
    *,
    source: str | None = None,
    extra: dict[str, Any] | None = None,
    category: str | None = None,
    code: str | None = None,
    tags: Sequence[str] | None = None,
    exception_type: str | None = None,
    correlation_id: str | None = None,
) -> dict[str, Any]:
    """Count something that happened, and return it as an event.

    Warnings and errors are counted in ``report()``. The event itself is kept
    when ``configure(event_buffer_size=...)`` made room for it. While
    ``enabled=False`` an event is returned and not counted.

    Args:
        level: ``"DEBUG"``, ``"INFO"``, ``"WARNING"``, ``"ERROR"`` or ``"CRITICAL"``.
        message: What happened, for people.
        source: Where, as ``module.function``.
        extra: Facts that belong to it.
        category: What kind of event it is.
        code: A name that programs can match.
        tags: Words to group events by.
        exception_type: Name of the exception it tells of.
        correlation_id: What it belongs to; the configured one by default.

    Example:
        >>> tachograph.emit("WARNING", "cache is cold", source="shop.cart")["level"]
        'WARNING'
    """
    from .control import CONTROL

    config = CONTROL.config
    event = {
        "timestamp": datetime.now(UTC).isoformat(),
        "level": str(level).upper(),
        "source": source,
        "message": message,
        "context": None,
        "extra": dict(extra) if extra else {},
        "category": category,
        "code": code,
        "tags": None if tags is None else list(tags),
        "exception_type": exception_type,
        "run_id": CONTROL.run_id,
        "session_id": CONTROL.session_id,
        "correlation_id": correlation_id or config.correlation_id,
    }
    if config.enabled:
        EVENTS.add(event)
    return event


def _slow_signal(event: dict[str, Any]) -> dict[str, Any]:
    extra = event["extra"]
    return {
        "timestamp": event["timestamp"],
        "source": event["source"],
        "duration_ms": extra.get("duration_ms"),
        "threshold_ms": extra.get("threshold_ms"),
        "signal_tags": event["tags"],
    }
