"""Functions of every kind, timed by the native half.

A coroutine function stays one, a generator function likewise: what stands
around the user's coroutine is a real one, and the native half lies between the
two and times each step.
"""

from __future__ import annotations

import functools
import sys
from _thread import get_ident
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._native import _Plan, _Steps

# Before 3.14 a program that ends makes its daemon threads end where they stand,
# which no compiled frame of ours may be part of.
_ENDS_DAEMONS = sys.version_info < (3, 14)
_main: int | None = None


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


def _safe(steps: Any) -> Any:
    """Return `steps`; in a daemon thread, steps that Python takes itself."""
    if not _ENDS_DAEMONS or get_ident() == _main_thread():
        return steps
    threading = sys.modules["threading"]
    known = threading._active.get(get_ident())
    is_daemon = known is None or known.daemon
    return _by_hand(steps) if is_daemon and hasattr(steps, "take_step") else steps


def _main_thread() -> int | None:
    global _main
    if _main is None:
        import threading

        _main = threading.main_thread().ident
    return _main


class _ByHand:
    """Steps of Python's own, for `await` and `yield from`."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Generator[Any, Any, Any]) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._steps

    __iter__ = __await__


def _by_hand(steps: _Steps) -> _ByHand:
    return _ByHand(_walk(steps, steps.inner))


def _walk(steps: _Steps, inner: Any) -> Generator[Any, Any, Any]:
    value: Any = None
    error: BaseException | None = None
    while True:
        steps.take_step()
        try:
            yielded = inner.send(value) if error is None else inner.throw(error)
        except StopIteration as end:
            steps.step_returned()
            return end.value
        except BaseException as raised:
            steps.step_raised(raised)
            raise
        steps.step_paused()
        value, error = None, None
        try:
            value = yield yielded
        except GeneratorExit:
            steps.take_step()
            try:
                inner.close()
            except BaseException as raised:
                steps.step_raised(raised)
                raise
            steps.step_returned()
            raise
        except BaseException as thrown:
            error = thrown


def _coroutine(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        return await _safe(plan.steps(function(*args, **kwargs), args, kwargs, True))

    return wrapped


def _awaitable(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    # Only marked as a coroutine function: what it returns may be no coroutine.
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    return _coroutine(awaited, plan)


def _generator(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _safe(plan.steps(function(*args, **kwargs), args, kwargs, False)))

    return wrapped


def _async_generator(function: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        turns = plan.turns(args, kwargs)
        try:
            step = inner.asend(None)
            while True:
                try:
                    value = await _safe(turns.turn(step))
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await _safe(turns.turn(inner.aclose()))
                    raise
                except BaseException as error:
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)
        finally:
            turns.close()

    return wrapped
