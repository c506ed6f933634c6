"""The CPU profiler: ``start`` and ``stop``, and the block that does both.

What only a session needs is imported when one starts.
"""

from __future__ import annotations

import os
from _thread import RLock

from . import unwinding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType

    from .._data.model import ProfilerStats
    from .._data.profile import Profile
    from .._types import Mode, Trigger
    from .settings import Settings
    from .window import Window

_lock = RLock()
_door: Window | None = None


def start(
    interval_ms: int = 10,
    output_path: str | PathLike[str] | None = None,
    memory_limit_mb: int = 100,
    *,
    mode: Mode = "cpu",
    trigger: Trigger = "auto",
    max_depth: int = 512,
) -> None:
    """Start profiling every thread of this process.

    Args:
        interval_ms: Time between two looks at a running thread. It is kept as
            given; what it costs is in ``Profile.meta``.
        output_path: File to write when profiling stops. Its extension says the
            format (``.json``, ``.collapsed``, ``.svg``, ``.tacho``; any other
            means Speedscope).
        memory_limit_mb: Room for samples. What does not fit is counted in
            ``Profile.dropped_count``.
        mode: ``"cpu"`` samples time on a processor, ``"wall"`` elapsed time,
            so that waiting threads appear at the line they wait on.
        trigger: What makes the sampler look; ``"auto"`` picks what suits the
            machine and the profile says which and why.
        max_depth: Frames kept per stack; deeper stacks lose their outermost.

    Raises:
        RuntimeError: Profiling is already running.
        ValueError: An argument is out of range.
        PermissionError: ``output_path`` cannot be written.
        TachographError: This interpreter or machine cannot be sampled.

    Example:
        >>> import tachograph
        >>> tachograph.start(interval_ms=1)
        >>> total = sum(i * i for i in range(1_000_000))
        >>> profile = tachograph.stop()
    """
    from .settings import Settings

    settings = Settings(
        interval_ms=interval_ms,
        memory_limit_mb=memory_limit_mb,
        mode=mode,
        trigger=trigger,
        max_depth=max_depth,
        native=unwinding.native_unwinding_enabled(),
    )
    _open_door(settings, output_path)


def stop() -> Profile:
    """Stop profiling and return what was seen.

    A result that cannot be written to ``output_path`` is announced with a
    ``RuntimeWarning``; the profile is returned all the same.

    Raises:
        RuntimeError: Profiling is not running.
    """
    global _door
    with _lock:
        window, _door = _door, None
    if window is None:
        raise RuntimeError("Profiler not running; call start() first")
    return _profile_of(window)


def is_active() -> bool:
    """Return whether ``start()`` or a ``Profiler`` block is running."""
    return _door is not None


def stats() -> ProfilerStats | None:
    """Return figures of the running profiler, or ``None`` when none runs."""
    window = _door
    figures = None if window is None else window.stats()
    if figures is None:
        return None
    from .._data.model import ProfilerStats

    collected, dropped, duration_ns, cost, _ = figures
    return ProfilerStats(
        collected_samples=collected,
        dropped_samples=dropped,
        duration_ms=duration_ns / 1e6,
        overhead_estimate_pct=cost * 100,
    )


class Profiler:
    """Profile a block of code; ``profile`` holds the result afterwards.

    Takes what ``start()`` takes and counts as its session: inside the block
    ``is_active()`` is true.

    Example:
        >>> with tachograph.Profiler(interval_ms=5) as profiler:
        ...     total = sum(i * i for i in range(1_000_000))
        >>> profiler.profile.save("sum.json")
    """

    def __init__(
        self,
        interval_ms: int = 10,
        output_path: str | PathLike[str] | None = None,
        memory_limit_mb: int = 100,
        *,
        mode: Mode = "cpu",
        trigger: Trigger = "auto",
        max_depth: int = 512,
    ) -> None:
        from .settings import Settings

        self._settings = Settings(
            interval_ms=interval_ms,
            memory_limit_mb=memory_limit_mb,
            mode=mode,
            trigger=trigger,
            max_depth=max_depth,
        )
        self._output_path = output_path
        self._window: Window | None = None
        self._profile: Profile | None = None

    def __enter__(self) -> Profiler:
        self._settings.native = unwinding.native_unwinding_enabled()
        self._window = _open_door(self._settings, self._output_path)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _door
        window = self._window
        if window is None or not window.is_own:  # a forked child leaves its parent's block
            return
        with _lock:
            if _door is window:
                _door = None
        self._profile = _profile_of(window)

    @property
    def profile(self) -> Profile | None:
        """The result; ``None`` until the block has been left."""
        return self._profile


def _open_door(settings: Settings, output_path: str | PathLike[str] | None) -> Window:
    """Open the one window that ``start()`` and ``Profiler`` have between them."""
    global _door
    from .window import Window

    with _lock:
        if _door is not None:
            raise RuntimeError("Profiler already running; call stop() before starting it again")
        _door = Window(settings, output_path)
        return _door


def _profile_of(window: Window) -> Profile:
    recording = window.finish()  # first, so that what follows is not recorded
    from .._data.profile import Profile

    return Profile._of(recording)


def _close_door_in_child() -> None:
    """A forked child has no session yet; another thread may have held the lock."""
    global _door, _lock
    _door = None
    _lock = RLock()


os.register_at_fork(after_in_child=_close_door_in_child)
