"""The decorator that profiles every call of a function."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, overload

from .._types import Mode, P, R, Trigger
from . import unwinding
from .calls import Calls, inside
from .settings import Settings
from .window import Window


@overload
def profile(interval_ms: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def profile(
    interval_ms: int = 10,
    output_path: str | PathLike[str] | None = None,
    *,
    memory_limit_mb: int = 100,
    mode: Mode = "cpu",
    trigger: Trigger = "auto",
    max_depth: int = 512,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def profile(
    interval_ms: Any = 10,
    output_path: str | PathLike[str] | None = None,
    *,
    memory_limit_mb: int = 100,
    mode: Mode = "cpu",
    trigger: Trigger = "auto",
    max_depth: int = 512,
) -> Any:
    """Profile every call of the function below, and write the result each time.

    Works on functions, methods, coroutine functions and generators, with or
    without arguments. Calls that overlap, in recursion or in other threads and
    tasks, are one result; a call is never refused because something else is
    profiling.

    Args:
        interval_ms: Time between two looks at a running thread.
        output_path: File that holds the latest call; as for ``start()``.
        memory_limit_mb: Room for samples.
        mode: ``"cpu"`` or ``"wall"``.
        trigger: What makes the sampler look.
        max_depth: Frames kept per stack.

    Example:
        >>> @tachograph.profile(output_path="fit.json")
        ... def fit(rows):
        ...     return sorted(rows)
    """
    function = interval_ms if callable(interval_ms) else None
    settings = Settings(
        interval_ms=10 if function is not None else interval_ms,
        memory_limit_mb=memory_limit_mb,
        mode=mode,
        trigger=trigger,
        max_depth=max_depth,
    )

    def open_window() -> Window:
        settings.native = unwinding.native_unwinding_enabled()
        return Window(settings, output_path)

    def decorate(decorated: Callable[P, R]) -> Callable[P, R]:
        return inside(Calls(open_window), decorated)

    return decorate if function is None else decorate(function)
