"""``report()``: what signals, spans and events add up to, as plain data."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .. import _native
from .control import CONTROL
from .events import EVENTS
from .timings import Timings, by_module, by_tag, most_expensive
from .warn import warn

_TOP = 5
_INCIDENTS = 10
_BLOCKING = ("ERROR", "CRITICAL")


def report() -> dict[str, Any]:
    """Return what was measured so far.

    The keys are smonitor's. ``timings`` has ``count``, ``p50_ms``, ``p95_ms``
    and ``max_ms`` of every signal and span; ``timings_by_module`` and
    ``timings_by_tag`` group them; ``timeline`` holds the latest entries, newest
    last; ``profiling_meta`` what the ``profiling_hooks`` say now; ``peak_memory``
    the most physical memory this process ever held, in bytes. Figures come from
    all calls, also those that have left the timeline.

    Example:
        >>> tachograph.configure(profiling=True)
        >>> with tachograph.span("load"):
        ...     pass
        >>> tachograph.report()["timings"]["load"]["count"]
        1
    """
    summaries = {key: found for key, found in _native.meters().items() if found.count}
    timings = Timings(summaries)
    tagged = by_tag(summaries)
    return {
        "calls_total": _native.calls_total(),
        "warnings_total": EVENTS.warnings,
        "errors_total": EVENTS.errors,
        "run_id": CONTROL.run_id,
        "session_id": CONTROL.session_id,
        "timings": timings,
        "timings_by_module": by_module(timings),
        "timings_by_tag": tagged,
        "timeline": _native.timeline(),
        "profiling_meta": _profiling_meta(),
        "peak_memory": _native.peak_memory(),
        "slow_signals_recent": EVENTS.slow_signals(),
        "most_expensive_entries": most_expensive(timings, _TOP),
        "most_expensive_tags": most_expensive(tagged, _TOP),
        **_of_events(EVENTS.recent()),
        **_of_handlers(),
    }


def _profiling_meta() -> dict[str, Any]:
    """Ask the hooks; one that fails is announced and left out."""
    meta: dict[str, Any] = {}
    for hook in CONTROL.config.profiling_hooks or ():
        try:
            found = hook()
            if not isinstance(found, dict):
                raise TypeError(f"it returned {_shown(found)}, not a dict")
            meta.update(found)
        except Exception as error:
            warn(f"profiling hook {_shown(hook)} failed: {_shown(error)}")
    return meta


def _of_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts of the buffered events, and those a person should see."""
    codes = _counted(event["code"] for event in events)
    sources = _counted(event["source"] for event in events)
    resources = _counted(event["extra"].get("resource") for event in events)
    actionable = [event for event in events if event["extra"].get("recommended_action")]
    return {
        "events_buffered": len(events),
        "events_by_code": codes,
        "events_by_category": _counted(event["category"] for event in events),
        "events_by_source": sources,
        "events_by_resource": resources,
        "top_codes": _top(codes),
        "top_sources": _top(sources),
        "most_noisy_resources": _top(resources),
        "blocking_incidents": [e for e in events if e["level"] in _BLOCKING][-_INCIDENTS:],
        "actionable_incidents": actionable[-_INCIDENTS:],
    }


def _of_handlers() -> dict[str, Any]:
    """Return what belongs to handlers and policies: nothing, for there are none."""
    return {
        "handler_errors": {},
        "handler_errors_total": 0,
        "degraded_handlers": [],
        "runtime_warnings": [],
        "events_by_fingerprint": {},
        "top_fingerprints": [],
        "recurrent_incidents": [],
        "coalesced_warnings": [],
        "duplicate_summaries": [],
        "redundant_conversions_total": 0,
        "redundant_conversions_by_callsite": {},
        "redundant_conversions_recent": [],
        "top_redundant_conversions": [],
    }


def _counted(values: Any) -> dict[str, int]:
    return dict(Counter(str(value) for value in values if value))


def _top(counts: dict[str, int]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [{"key": key, "count": count} for key, count in ordered[:_TOP]]


def _shown(value: object) -> str:
    """Return a value for a message; one whose repr fails is told by its type."""
    try:
        return repr(value)
    except Exception:
        return f"<unprintable {type(value).__name__}>"
