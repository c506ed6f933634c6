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
        is_real = _has_flag(function, inspect.CO_COROUTINE)
        wrapped = _coroutine(function, plan) if is_real else _awaitable(function, plan)
    elif inspect.isasyncgenfunction(function):
        wrapped = _async_generator(function, plan)
    elif inspect.isgeneratorfunction(function):
        wrapped = _generator(function, plan)
        if _has_flag(function, inspect.CO_ITERABLE_COROUTINE):
            import types

            wrapped = types.coroutine(wrapped)
    else:
        wrapped = plan.around(function)
    return functools.update_wrapper(wrapped, function)


def _has_flag(function: Any, flag: int) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return bool(getattr(code, "co_flags", 0) & flag)


def _coroutine(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        return await plan.steps(function(*args, **kwargs), args, kwargs, True)

    return wrapped


def _awaitable(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    # Only marked as a coroutine function: what it returns may be no coroutine.
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    return _coroutine(awaited, plan)


def _generator(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from plan.steps(function(*args, **kwargs), args, kwargs, False))

    return wrapped


def _async_generator(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        turns = plan.turns(args, kwargs)
        try:
            step = inner.asend(None)
            while True:
                try:
                    value = await turns.turn(step)
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await turns.turn(inner.aclose())
                    raise
                except BaseException as error:
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)
        finally:
            turns.close()

    return wrapped
