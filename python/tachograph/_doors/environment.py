"""Settings from the environment, for programs whose text nobody wants to change."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


def _switch(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError(f"must be one of {', '.join(_TRUE + _FALSE)}")
    return word in _TRUE


# Each variable with the setting it stands for.
VARIABLES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "TACHOGRAPH_ENABLED": ("enabled", _switch),
    "TACHOGRAPH_EVENT_BUFFER": ("event_buffer_size", int),
    "TACHOGRAPH_PROFILING": ("profiling", _switch),
    "TACHOGRAPH_PROFILING_BUFFER": ("profiling_buffer_size", int),
    "TACHOGRAPH_PROFILING_SAMPLE": ("profiling_sample_rate", float),
    "TACHOGRAPH_SLOW_SIGNAL_LEVEL": ("slow_signal_level", str),
    "TACHOGRAPH_SLOW_SIGNAL_MS": ("slow_signal_ms", float),
}


def apply_environment() -> None:
    """Configure from the environment if it says anything.

    Runs on import, so it costs seven look-ups and imports nothing when it does not.
    """
    if any(name in os.environ for name in VARIABLES):
        from .control import configure

        configure()


def settings_of_environment() -> dict[str, Any]:
    """Return the settings the environment gives.

    A value that makes no sense is announced with a ``RuntimeWarning`` and ignored.
    """
    from .configuration import checked

    settings: dict[str, Any] = {}
    for variable, (setting, read) in VARIABLES.items():
        text = os.environ.get(variable)
        if not text:
            continue
        try:
            settings.update(checked({setting: read(text)}))
        except (ValueError, TypeError) as error:
            from .warn import warn

            warn(f"{variable}={text!r} is ignored: {error}")
    return settings
