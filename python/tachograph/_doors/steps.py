"""Functions of every kind, timed by the native half.

A coroutine function stays one, a generator function likewise: what stands
around the user's coroutine is a real one, and the native half lies between the
two and times each step.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._native import _Plan


def timed(function: Any, plan: _Plan) -> Any:
    """Return `function` with every call measured as `plan` says; kind and face unchanged."""
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(timed(function.__func__, plan))
    if not callable(function):
        raise TypeError(f"only a function can be timed, not {type(function).__name__}")
    # `inspect` takes milliseconds to import and is needed by decorators only.
    import inspect

    wrapped: Callable[..., Any]
    if inspect.iscoroutinefunction(function):
        wrapped = _coroutine(function, plan)
    elif inspect.isasyncgenfunction(function):
        wrapped = _async_generator(function, plan)
    elif inspect.isgeneratorfunction(function):
        wrapped = _generator(function, plan)
    else:
        wrapped = plan.around(function)
    return functools.update_wrapper(wrapped, function)


def _coroutine(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        if not plan.is_wanted():
            return await inner
        return await plan.run(args, kwargs).steps(inner, True)

    return wrapped


def _generator(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner = function(*args, **kwargs)
        if not plan.is_wanted():
            return (yield from inner)
        return (yield from plan.run(args, kwargs).steps(inner, False))

    return wrapped


def _async_generator(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        run = plan.run(args, kwargs)
        try:
            step = inner.asend(None)
            while True:
                try:
                    value = await run.turn(step)
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await run.turn(inner.aclose())
                    raise
                except BaseException as error:
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)
        finally:
            run.close()

    return wrapped
