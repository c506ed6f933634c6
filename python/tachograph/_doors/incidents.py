"""Calls worth an event: those that failed, and those that took long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .control import CONTROL
from .events import SLOW_SIGNAL
from .keys import place_of

if TYPE_CHECKING:
    from .._native import Ended

_TOLD = "__tachograph_told__"


def signal_failed(level: str, error: Exception, key: str, meta: dict[str, Any]) -> None:
    """Tell of a call that raised `error`; once, however many signals it passes through."""
    if getattr(error, _TOLD, False):
        return
    code = getattr(error, "code", None)
    CONTROL.emit(
        level,
        str(error),
        source=key,
        code=code if isinstance(code, str) else None,
        exception_type=type(error).__name__,
        extra={**meta, "source_module": _module_of(key)},
    )
    try:
        setattr(error, _TOLD, True)
    except (AttributeError, TypeError):
        return  # it takes no attributes; the next signal tells of it again


def signal_was_slow(ended: Ended, tags: tuple[str, ...], meta: dict[str, Any]) -> None:
    """Tell of a call that took longer than the threshold."""
    config = CONTROL.config
    facts = {
        **meta,
        "module": _module_of(ended.name),
        "duration_ms": ended.wall_ns / 1e6,
        "threshold_ms": config.slow_signal_ms,
        "running_ms": ended.running_ns / 1e6,
    }
    if tags:
        facts["signal_tags"] = list(tags)
    CONTROL.emit(
        config.slow_signal_level,
        f"{ended.name} took {ended.wall_ns / 1e6:.1f} ms, threshold {config.slow_signal_ms:g} ms",
        source=ended.name,
        category="profiling",
        code=SLOW_SIGNAL,
        tags=tags or None,
        extra=facts,
    )


def _module_of(key: str) -> str:
    place = place_of(key)
    return key.rpartition(".")[0] if place is None else place.module
