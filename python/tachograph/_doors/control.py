"""``configure`` and the object it returns: smonitor's settings, in force at once."""

from __future__ import annotations

import os
from _thread import RLock
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from .. import _native
from .configuration import Configuration, checked
from .environment import settings_of_environment
from .events import EVENTS, emit


class Control:
    """What ``get_manager()`` returns: the settings in force, and the doors around them."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._config = Configuration()
        self._given: frozenset[str] = frozenset()
        self._new_identity()

    def _new_identity(self) -> None:
        self._run_id = os.urandom(16).hex()
        self._session_id = os.urandom(16).hex()

    @property
    def config(self) -> Configuration:
        """The settings in force; frozen, and another object after every change."""
        return self._config

    @property
    def enabled(self) -> bool:
        """Whether signals and spans do anything at all."""
        return self._config.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self.configure(enabled=value)

    @property
    def run_id(self) -> str:
        """The name of this run, as configured, or one that nobody else has."""
        return self._config.run_id or self._run_id

    @property
    def session_id(self) -> str:
        """The name of this session, as configured, or one that nobody else has."""
        return self._config.session_id or self._session_id

    def configure(self, **settings: Any) -> Control:
        """Change settings, as ``tachograph.configure()`` does."""
        given = checked(settings)
        surroundings = settings_of_environment()
        with self._lock:
            # What the program said, now or earlier, beats the environment.
            self._given |= given.keys()
            changes = {name: surroundings[name] for name in surroundings.keys() - self._given}
            self._config = replace(self._config, **changes, **given)
            self._put_in_force()
        return self

    def report(self) -> dict[str, Any]:
        """Return what was measured so far, as ``tachograph.report()`` does."""
        from .report import report

        return report()

    def emit(self, level: str, message: str, **facts: Any) -> dict[str, Any]:
        """Count something that happened, as ``tachograph.emit()`` does."""
        return emit(level, message, **facts)

    def recent_events(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the buffered events, newest last; at most `limit` of them."""
        events = EVENTS.recent()
        if limit is None:
            return events
        return events[-limit:] if limit > 0 else []

    def _put_in_force(self) -> None:
        config = self._config
        EVENTS.set_buffer(config.event_buffer_size)
        _native.timeline_capacity(config.profiling_buffer_size)
        _native.profiling(config.enabled and config.profiling, config.profiling_sample_rate)
        _native.signals(config.enabled, round(config.slow_signal_ms * 1e6))

    def _reset(self) -> None:
        with self._lock:
            self._config = Configuration()
            self._given = frozenset()
            self._new_identity()
            self._put_in_force()

    def _start_afresh_in_child(self) -> None:
        """Another thread may have held the lock when this process was forked."""
        self._lock = RLock()


CONTROL = Control()
os.register_at_fork(after_in_child=CONTROL._start_afresh_in_child)


def get_manager() -> Control:
    """Return the object that holds the settings; there is one per process."""
    return CONTROL


def configure(
    *,
    enabled: bool | None = None,
    profiling: bool | None = None,
    profiling_buffer_size: int | None = None,
    profiling_sample_rate: float | None = None,
    profiling_hooks: Iterable[Callable[[], object]] | None = None,
    slow_signal_ms: float | None = None,
    slow_signal_level: str | None = None,
    event_buffer_size: int | None = None,
    **ignored: Any,
) -> Control:
    """Say what ``@signal`` and ``span`` measure; what is left out stays as it is.

    Everything may be changed at any time, and takes effect with the next call.
    Each setting can also come from the environment: ``TACHOGRAPH_PROFILING``,
    ``TACHOGRAPH_PROFILING_BUFFER``, ``TACHOGRAPH_PROFILING_SAMPLE``,
    ``TACHOGRAPH_ENABLED``, ``TACHOGRAPH_SLOW_SIGNAL_MS``,
    ``TACHOGRAPH_SLOW_SIGNAL_LEVEL``, ``TACHOGRAPH_EVENT_BUFFER``. What the
    program says beats the environment.

    Args:
        enabled: ``False`` makes every signal a plain call.
        profiling: Whether signals and spans are timed. Off at first.
        profiling_buffer_size: Entries of the timeline, 1000 at first; older
            ones make room. Figures by name need no buffer and never grow.
        profiling_sample_rate: Share of calls and spans that is timed, 0.0 to 1.0.
        profiling_hooks: Callables without arguments; the dicts they return are
            ``report()["profiling_meta"]``.
        slow_signal_ms: A signal that takes at least this long is an event with
            the code ``TACHOGRAPH-SIGNAL-SLOW``, with profiling or without. 0 means none.
        slow_signal_level: The level of that event.
        event_buffer_size: How many events to keep; none at first.
        ignored: The other arguments of smonitor's ``configure``: taken and of
            no effect.

    Returns:
        What ``get_manager()`` returns.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of a wrong type, or an argument is unknown.

    Example:
        >>> tachograph.configure(profiling=True, profiling_sample_rate=0.1).config.profiling
        True
    """
    return CONTROL.configure(
        enabled=enabled,
        profiling=profiling,
        profiling_buffer_size=profiling_buffer_size,
        profiling_sample_rate=profiling_sample_rate,
        profiling_hooks=profiling_hooks,
        slow_signal_ms=slow_signal_ms,
        slow_signal_level=slow_signal_level,
        event_buffer_size=event_buffer_size,
        **ignored,
    )


def _reset_for_tests() -> None:
    """Forget timings, timeline and counters, and restore the settings of the start."""
    CONTROL._reset()
    EVENTS.clear()
    _native.timeline_clear()
    _native.meters_clear()
    _native.calls_clear()
