"""What ``configure()`` can set: checked once, frozen, and replaced as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsFloat, SupportsIndex

from .._data.plain import dataclass

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

# Ten minutes at a hundred thousand entries a second, and some gigabytes of memory.
LARGEST_BUFFER = 100_000_000
LONGEST_SLOW_MS = 1e12


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in force. Nobody changes one; ``configure()`` makes a new one.

    The last five are kept for programs that read them; nothing here acts on them.
    """

    enabled: bool = True
    profiling: bool = False
    profiling_buffer_size: int = 1000
    profiling_sample_rate: float = 1.0
    profiling_hooks: tuple[Callable[[], object], ...] | None = None
    slow_signal_ms: float = 0.0
    slow_signal_level: str = "INFO"
    event_buffer_size: int = 0
    run_id: str | None = None
    session_id: str | None = None
    correlation_id: str | None = None
    profile: str = "user"
    level: str = "WARNING"
    theme: str = "plain"
    args_summary: bool = False
    strict_signals: bool = False


# Arguments that steer smonitor's diagnostics: taken, so that programs run unchanged.
IGNORED = frozenset(
    {
        "capture_exceptions",
        "capture_logging",
        "capture_warnings",
        "codes",
        "config_path",
        "duplicate_every_n",
        "duplicate_policy",
        "filters",
        "handler_error_threshold",
        "handlers",
        "routes",
        "show_traceback",
        "signals",
        "silence",
        "strict_config",
        "strict_schema",
        "trace_depth",
        "warning_coalesce_window_s",
    }
)


def checked(settings: dict[str, Any]) -> dict[str, Any]:
    """Return what is to change of a configuration; ``None`` means no change.

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is of a wrong type, or a name is unknown.
    """
    changes: dict[str, Any] = {}
    for name, value in settings.items():
        if name in IGNORED:
            continue
        if name not in Configuration.__dataclass_fields__:
            raise TypeError(
                f"configure() does not know {name!r}; it knows "
                + ", ".join(sorted(Configuration.__dataclass_fields__))
            )
        if value is not None:
            check = _CHECKS.get(name)
            changes[name] = value if check is None else check(name, value)
    return changes


def level(name: str, value: str) -> str:
    """Return the name of a level in capitals."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be the name of a level, not {value!r}")
    if value.upper() not in LEVELS:
        raise ValueError(f"{name} must be one of {', '.join(LEVELS)}, not {value!r}")
    return value.upper()


def _switch(name: str, value: object) -> bool:
    return bool(value)


def _size(name: str, value: SupportsIndex) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if not 0 <= number <= LARGEST_BUFFER:
        raise ValueError(f"{name} must be between 0 and {LARGEST_BUFFER}, not {number}")
    return number


def _share(name: str, value: SupportsFloat) -> float:
    number = _number(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be between 0.0 and 1.0, not {value!r}")
    return number


def _milliseconds(name: str, value: SupportsFloat) -> float:
    number = _number(name, value)
    if not 0.0 <= number <= LONGEST_SLOW_MS:
        raise ValueError(f"{name} must be 0 (off) or more milliseconds, not {value!r}")
    return number


def _number(name: str, value: SupportsFloat) -> float:
    if isinstance(value, str):
        raise TypeError(f"{name} must be a number, not {value!r}")
    try:
        number = float(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    if math.isnan(number):
        raise ValueError(f"{name} must be a number, not {value!r}")
    return number


def _hooks(name: str, value: Any) -> tuple[Any, ...]:
    if callable(value):
        raise TypeError(f"{name} must be a list of callables; write [{value!r}]")
    try:
        hooks = tuple(value)
    except TypeError:
        raise TypeError(f"{name} must be a list of callables, not {value!r}") from None
    for hook in hooks:
        if not callable(hook):
            raise TypeError(f"{name} must hold callables, not {hook!r}")
    return hooks


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "enabled": _switch,
    "profiling": _switch,
    "profiling_buffer_size": _size,
    "profiling_sample_rate": _share,
    "profiling_hooks": _hooks,
    "slow_signal_ms": _milliseconds,
    "slow_signal_level": level,
    "event_buffer_size": _size,
}
