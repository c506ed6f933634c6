"""Recording the calls of a function, whatever kind of function it is."""

from __future__ import annotations

import functools
import os
from _thread import RLock
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    from .._types import P, R
    from .window import Window


class Calls:
    """A block around every call of one function.

    The first call that runs opens a window, calls that begin meanwhile join
    it, and the last one to end finishes it. So recursion and concurrent calls
    are one stretch of time, and none of them fails because of another.
    """

    def __init__(self, open_window: Callable[[], Window]) -> None:
        self._open_window = open_window
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._pid = os.getpid()
        self._lock = RLock()
        self._window: Window | None = None
        self._running = 0

    def __enter__(self) -> None:
        if self._pid != os.getpid():  # a forked child has no calls of its own yet
            self._start_afresh()
        with self._lock:
            if self._window is None:
                self._window = self._open_window()
            self._running += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pid != os.getpid():  # a forked child leaves its parent's call
            return
        with self._lock:
            window = self._window
            if window is None or not window.is_own:
                return
            self._running -= 1
            if self._running == 0:
                self._window = None
                window.finish()


def inside(block: AbstractContextManager[Any], function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` with every call inside `block`, signature and kind unchanged.

    A coroutine is inside from its first step to its last, a generator from its
    first value to its end.
    """
    # `inspect` takes milliseconds to import and is needed by decorators only.
    import inspect

    wrapped: Callable[..., Any]
    if inspect.iscoroutinefunction(function):

        async def wrapped(*args: Any, **kwargs: Any) -> Any:
            with block:
                return await function(*args, **kwargs)

    elif inspect.isasyncgenfunction(function):

        async def wrapped(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            with block:
                inner = function(*args, **kwargs)
                step = inner.asend(None)
                while True:
                    try:
                        value = await step
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield value
                    except GeneratorExit:
                        await inner.aclose()
                        raise
                    except BaseException as error:
                        step = inner.athrow(error)
                    else:
                        step = inner.asend(sent)

    elif inspect.isgeneratorfunction(function):

        def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with block:
                return (yield from function(*args, **kwargs))

    else:

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with block:
                return function(*args, **kwargs)

    return cast("Callable[P, R]", functools.wraps(function)(wrapped))
