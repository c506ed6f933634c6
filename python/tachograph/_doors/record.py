"""The everyday door: record a block or a function."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from os import PathLike
from types import TracebackType
from typing import Any, overload

from .._data.recording import Recording
from .._types import Mode, P, R, Trigger
from .calls import Calls, inside
from .settings import Settings
from .window import Window


@overload
def record(path: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def record(
    path: str | PathLike[str] | None = None,
    *,
    interval_ms: int = 10,
    mode: Mode = "cpu",
    heap: bool = True,
    heap_rate_kb: int = 512,
    machine: bool = True,
    native: bool = True,
    source: bool = True,
    trigger: Trigger = "auto",
    memory_limit_mb: int = 100,
    max_depth: int = 512,
) -> Record: ...


def record(
    path: Any = None,
    *,
    interval_ms: int = 10,
    mode: Mode = "cpu",
    heap: bool = True,
    heap_rate_kb: int = 512,
    machine: bool = True,
    native: bool = True,
    source: bool = True,
    trigger: Trigger = "auto",
    memory_limit_mb: int = 100,
    max_depth: int = 512,
) -> Any:
    """Record a block or every call of a function.

    CPU samples with Python and native frames, sampled allocations, spans, metrics
    and the machine, on one clock in one file.

    Args:
        path: File to write while recording, so that a program that is killed
            leaves what it had. ``.tacho`` is the recording itself; ``.svg``,
            ``.json`` and ``.collapsed`` are written at the end; an extension
            that says no format means the recording. Without a path it stays in
            memory.
        interval_ms: Time between two looks at a running thread.
        mode: ``"cpu"`` samples time on a processor, ``"wall"`` elapsed time.
        heap: Sample allocations of every allocator: who held memory at the
            peak, who still does, what leaks.
        heap_rate_kb: Kilobytes between two samples of the heap, on average.
        machine: Read memory, processors, network, disks, energy and devices ten times
            a second.
        native: Take frames of C, C++ and Rust code too, where they can be had.
        source: Keep the text of own source files that are on a stack.
        trigger: What makes the sampler look; the recording says which and why.
        memory_limit_mb: Room for samples in memory.
        max_depth: Frames kept per stack; deeper stacks lose their outermost.

    Returns:
        A block to enter with ``with``, which gives the ``Recording``, or a
        decorator. As a decorator the file holds the latest call.

    Raises:
        ValueError: An argument is out of range.
        PermissionError: ``path`` cannot be written.
        OSError: Another recording of this process is being written to ``path``.
        TachographError: This interpreter or machine cannot be sampled.

    Example:
        >>> with tachograph.record("run.tacho") as recording:
        ...     total = sum(i * i for i in range(1_000_000))
        >>> print(recording.summary())
    """
    function = path if callable(path) else None
    settings = Settings(
        interval_ms=interval_ms,
        memory_limit_mb=memory_limit_mb,
        mode=mode,
        trigger=trigger,
        max_depth=max_depth,
        native=native,
        source=source,
        heap=heap,
        heap_rate_kb=heap_rate_kb,
        machine=machine,
    )
    block = Record(settings, None if function is not None else path)
    return block if function is None else block(function)


class Record:
    """What ``record()`` returns: a block for ``with``, and a decorator.

    It can be entered again and again, nested and by several threads; each time
    makes a recording of its own. With a path only one can be made at a time.
    """

    __slots__ = ("_path", "_settings", "_windows")

    def __init__(self, settings: Settings, path: str | PathLike[str] | None) -> None:
        self._settings = settings
        self._path = path
        self._windows: dict[int, list[Window]] = {}

    def __enter__(self) -> Recording:
        window = self._open_window()
        self._windows.setdefault(get_ident(), []).append(window)
        return Recording._of(window)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        window = self._windows[get_ident()].pop()
        if window.is_own:  # a forked child leaves its parent's block
            window.finish()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return `function` with every call recorded."""
        return inside(Calls(self._open_window), function)

    def _open_window(self) -> Window:
        return Window(self._settings, self._path, fallback="tacho")
