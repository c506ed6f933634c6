"""What a door asks of the session, checked before anything starts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex

MODES = ("cpu", "wall")
TRIGGERS = ("auto", "tick", "perf", "cpu-timer")
WALL_TRIGGERS = ("auto", "tick")

# The ends of what makes sense: an hour between two looks, a terabyte of room.
LONGEST_INTERVAL_MS = 3_600_000
LARGEST_LIMIT_MB = 1 << 20
DEEPEST_STACK = 2048
LARGEST_HEAP_RATE_KB = 1 << 30


class Settings:
    """How one door wants to be served."""

    __slots__ = (
        "heap",
        "heap_rate_kb",
        "interval_ms",
        "interval_ns",
        "machine",
        "max_depth",
        "memory_limit_mb",
        "mode",
        "native",
        "source",
        "trigger",
    )

    def __init__(
        self,
        *,
        interval_ms: SupportsIndex = 10,
        interval_ns: int | None = None,
        memory_limit_mb: SupportsIndex,
        mode: str = "cpu",
        trigger: str = "auto",
        max_depth: SupportsIndex = 512,
        native: bool = False,
        source: bool = True,
        heap: bool = False,
        heap_rate_kb: SupportsIndex = 512,
        machine: bool = False,
    ) -> None:
        self.interval_ms = _whole("interval_ms", interval_ms, LONGEST_INTERVAL_MS)
        self.interval_ns = self.interval_ms * 1_000_000 if interval_ns is None else interval_ns
        self.memory_limit_mb = _whole("memory_limit_mb", memory_limit_mb, LARGEST_LIMIT_MB)
        self.max_depth = _whole("max_depth", max_depth, DEEPEST_STACK)
        self.mode = _word("mode", mode, MODES)
        self.trigger = _word("trigger", trigger, TRIGGERS)
        if mode == "wall" and trigger not in WALL_TRIGGERS:
            raise ValueError(
                f"trigger must be 'auto' or 'tick' with mode='wall', not {trigger!r}: "
                "the others follow CPU time, which a waiting thread does not use"
            )
        self.native = bool(native)
        self.source = bool(source)
        self.heap = bool(heap)
        self.heap_rate_kb = _whole("heap_rate_kb", heap_rate_kb, LARGEST_HEAP_RATE_KB)
        self.machine = bool(machine)


def settings_of(wishes: dict[str, str]) -> Settings:
    """Return the settings that the command line asked for, as text."""
    return Settings(
        interval_ns=int(wishes["interval_ns"]),
        memory_limit_mb=int(wishes["memory_limit_mb"]),
        mode=wishes["mode"],
        trigger=wishes["trigger"],
        max_depth=int(wishes["max_depth"]),
        native=wishes["native"] == "1",
        source=wishes["source"] == "1",
        heap=wishes["heap"] == "1",
        heap_rate_kb=int(wishes["heap_rate_kb"]),
        machine=wishes["machine"] == "1",
    )


def _whole(name: str, value: SupportsIndex, most: int) -> int:
    """Return `value` as an int between 1 and `most`."""
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if number < 1:
        raise ValueError(f"{name} must be >= 1, not {number}")
    if number > most:
        raise ValueError(f"{name} must be <= {most}, not {number}")
    return number


def _word(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return `value` if it is one of the `known` words."""
    if value not in known:
        choices = ", ".join(map(repr, known))
        raise ValueError(f"{name} must be one of {choices}, not {value!r}")
    return value
