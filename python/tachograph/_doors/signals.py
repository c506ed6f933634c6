"""``@signal``: times the calls of a function, whatever kind of function it is.

The wrapper is native. While nothing is measured it counts the call and calls
on; Python runs here only for a call that failed or was slow, and for the
caller's own ``extra_factory``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from .. import _native
from .keys import key_of, key_on_class, may_be_method

if TYPE_CHECKING:
    from .._native import Ended
    from .._types import P, R

ExtraFactory: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any] | None]


@overload
def signal(func: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def signal(
    func: None = None,
    *,
    tags: Iterable[str] | None = None,
    exception_level: str = "ERROR",
    extra_factory: ExtraFactory | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def signal(
    func: Any = None,
    *,
    tags: Iterable[str] | None = None,
    exception_level: str = "ERROR",
    extra_factory: ExtraFactory | None = None,
) -> Any:
    """Time every call of the function below, while profiling is on.

    Works on functions, methods, coroutine functions, generators and
    asynchronous generators, with or without arguments, and leaves signature,
    kind, result and exceptions as they are. A coroutine is timed from its
    first step to its last, a generator likewise.

    Args:
        func: The function.
        tags: Words to group calls by; see ``report()["timings_by_tag"]``.
        exception_level: Level of the event that a failing call makes.
        extra_factory: Called with the arguments of every call, as a tuple and
            a dict; the dict it returns is the entry's ``meta``. When it fails,
            a ``RuntimeWarning`` says so and the call goes on.

    Raises:
        ValueError: ``exception_level`` is no level.
        TypeError: What it decorates cannot be called, or ``tags`` is no list of words.

    Example:
        >>> @tachograph.signal(tags=["io"])
        ... def load(path):
        ...     return open(path).read()
    """
    words = _words(tags)
    if exception_level != "ERROR":
        from .configuration import level

        exception_level = level("exception_level", exception_level)
    if extra_factory is not None and not callable(extra_factory):
        raise TypeError(f"extra_factory must be callable, not {extra_factory!r}")

    def decorate(function: Any) -> Any:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(decorate(function.__func__))
        if not callable(function):
            raise TypeError(f"signal() decorates functions, not {function!r}")
        return _timed(function, words, exception_level, extra_factory)

    return decorate if func is None else decorate(func)


def _timed(
    function: Any, tags: tuple[str, ...], level: str, extra_factory: ExtraFactory | None
) -> Any:
    def failed(error: Exception, meta: dict[str, Any], name: str) -> None:
        from .incidents import signal_failed

        signal_failed(level, error, name, meta)

    def slow(ended: Ended, meta: dict[str, Any]) -> None:
        from .incidents import signal_was_slow

        signal_was_slow(ended, tags, meta)

    def name_of(kind: type) -> str:
        return key_on_class(function, kind, tags)

    return _native.signal(
        function,
        name=key_of(function, tags),
        tags=tags,
        before=extra_factory,
        failed=failed,
        slow=slow,
        name_of=name_of if may_be_method(function) else None,
    )


def _words(tags: Iterable[str] | None) -> tuple[str, ...]:
    if tags is None:
        return ()
    if isinstance(tags, str):
        raise TypeError(f"tags must be a list of words; write [{tags!r}]")
    words = tuple(tags)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"tags must be words, not {word!r}")
    return words
