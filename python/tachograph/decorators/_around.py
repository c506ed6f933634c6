"""A wrapper for functions of every kind: plain, ``async``, generators of both.

What happens before and after a call is written once, as a `Call`; the wrapper
leaves the function's kind, signature, results and exceptions as they are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Protocol

from .._doors.steps import _has_flag
from ._calls import awaited, is_async

__all__ = ["Call", "around"]


class Call(Protocol):
    """What goes with one call of a function, and what comes of it.

    Of `returned`, `exhausted` and `failed` exactly one ends the call.
    """

    @property
    def result(self) -> Any:
        """What is handed out beside the value, where that was asked for."""

    def begin(self) -> None:
        """Begin the call."""

    def returned(self, value: Any) -> None:
        """End a call that returned `value`."""

    def yielded(self, value: Any) -> None:
        """See a value of a generator before its user does."""

    def exhausted(self) -> None:
        """End a generator that ended, or that its user left."""

    def failed(self, error: BaseException) -> None:
        """End a call with an exception, which goes on to the caller."""


New = Callable[[tuple[Any, ...], dict[str, Any]], Call]


def around(function: Any, new: New, *, with_result: bool = False) -> Any:
    """Return `function` with a `Call` around each of its calls.

    The call of a generator begins with its first step, as that of a coroutine
    does. With `with_result` the caller gets ``(value, result)``; of a
    generator that is the generator, and a result that is complete at its end.
    """
    if not is_async(function) and is_async(type(function).__call__):
        function = awaited(function)
    wrapped: Callable[..., Any]
    if inspect.iscoroutinefunction(function):
        wrapped = _coroutine(function, new, with_result)
    elif inspect.isasyncgenfunction(function):
        wrapped = _stepped(_async_generator, function, new, with_result)
    elif inspect.isgeneratorfunction(function):
        wrapped = _stepped(_generator, function, new, with_result)
        if _has_flag(function, inspect.CO_ITERABLE_COROUTINE) and not with_result:
            import types

            wrapped = types.coroutine(wrapped)
    else:
        wrapped = _plain(function, new, with_result)
    return functools.wraps(function)(wrapped)


def _plain(function: Callable[..., Any], new: New, with_result: bool) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = new(args, kwargs)
        call.begin()
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            call.failed(error)
            raise
        call.returned(value)
        return (value, call.result) if with_result else value

    return wrapped


def _coroutine(function: Callable[..., Any], new: New, with_result: bool) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = new(args, kwargs)
        call.begin()
        try:
            value = await function(*args, **kwargs)
        except BaseException as error:
            call.failed(error)
            raise
        call.returned(value)
        return (value, call.result) if with_result else value

    return wrapped


def _stepped(
    steps: Callable[..., Any], function: Callable[..., Any], new: New, with_result: bool
) -> Callable[..., Any]:
    """Return a generator function, or a function that returns a generator and its result."""
    if not with_result:
        wrapped: Callable[..., Any] = steps(function, new)
        return wrapped

    def handed_out(*args: Any, **kwargs: Any) -> Any:
        call = new(args, kwargs)
        return steps(function, lambda *_: call)(*args, **kwargs), call.result

    return handed_out


def _generator(function: Callable[..., Any], new: New) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        call = new(args, kwargs)
        call.begin()
        try:
            value = yield from _passed_on(function(*args, **kwargs), call)
        except GeneratorExit:
            call.exhausted()
            raise
        except BaseException as error:
            call.failed(error)
            raise
        call.exhausted()
        return value

    return wrapped


def _passed_on(inner: Generator[Any, Any, Any], call: Call) -> Generator[Any, Any, Any]:
    """Give the values of `inner`, each seen by `call` first."""
    sent: Any = None
    thrown: BaseException | None = None
    try:
        while True:
            try:
                given = inner.send(sent) if thrown is None else inner.throw(thrown)
            except StopIteration as end:
                return end.value
            sent, thrown = None, None
            call.yielded(given)
            try:
                sent = yield given
            except GeneratorExit:
                raise
            except BaseException as error:
                thrown = error
    finally:
        inner.close()


def _async_generator(function: Callable[..., Any], new: New) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        call = new(args, kwargs)
        call.begin()
        inner = function(*args, **kwargs)
        try:
            step = inner.asend(None)
            while True:
                try:
                    given = await step
                except StopAsyncIteration:
                    break
                call.yielded(given)
                try:
                    sent = yield given
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)
        except GeneratorExit:
            await inner.aclose()
            call.exhausted()
            raise
        except BaseException as error:
            await inner.aclose()
            call.failed(error)
            raise
        call.exhausted()

    return wrapped
