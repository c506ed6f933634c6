"""Exact line times: ``tachograph.lines``."""

from __future__ import annotations

import functools
import sys
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from .._data.line_table import LineTable
from .._native import LineWatch, OwnLineWatch, line_means
from ..exceptions import TachographError
from .host import roots

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Lines", "OwnLines", "lines", "own_lines"]

P = ParamSpec("P")
R = TypeVar("R")


@overload
def lines() -> Callable[[Callable[P, R]], Lines[P, R]]: ...


@overload
def lines(function: Callable[P, R], /, *more: Callable[..., object]) -> Lines[P, R]: ...


def lines(*functions: Callable[..., Any]) -> Any:
    """Count every line of a function: how often it ran, and how long.

    As a decorator, from the first call on::

        @tachograph.lines
        def work(): ...


        work()
        print(work.table)

    or around a block, for functions that stay as they are::

        with tachograph.lines(work, Model.fit) as table:
            run()
        table.print()

    Functions inside the given ones, and comprehensions, are counted too. Nothing
    else becomes slower. For a whole program use ``recording.lines()``, which
    samples.

    Args:
        *functions: Functions and methods written in Python, and classes: all their methods.
            Several are for a block only; with none it is the decorator, as in ``@lines()``.

    Raises:
        TypeError: One of them is not written in Python.
    """
    return Lines(*functions) if functions else lines


class Lines(Generic[P, R]):
    """Some functions whose lines are counted: call it, or use it with ``with``."""

    def __init__(self, function: Callable[P, R], /, *more: Callable[..., object]) -> None:
        found = [plain for given in (function, *more) for plain in _functions(given)]
        self._function = function
        self._many = bool(more) or isinstance(function, type)
        self._watch = LineWatch(found)
        self._started = False
        self._table = LineTable(self._watch.functions, line_means())
        if not self._many:
            functools.update_wrapper(self, function)
            _mark_coroutine(self, found[0])

    @property
    def table(self) -> LineTable:
        """What was counted so far."""
        return self._table

    def start(self) -> None:
        """Count from now on; what was counted before is forgotten.

        Raises:
            TachographError: Other tools have taken all places for a profiler.
        """
        self._started = True
        self._watch.start()

    def stop(self) -> LineTable:
        """Stop counting and return the table."""
        self._watch.stop()
        return self._table

    def __enter__(self) -> LineTable:
        self.start()
        return self._table

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if not self._started:
            self._begin()
        return self._function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if isinstance(self._function, (classmethod, staticmethod)):
            if not self._started:
                self._begin()
            return self._function.__get__(instance, owner)
        return self if instance is None else MethodType(self, instance)

    def _begin(self) -> None:
        if self._many:
            raise TypeError("lines() of several functions is for `with`; call them by name")
        self.start()

    def __repr__(self) -> str:
        return f"<lines of {self._function!r}>"


class OwnLines:
    """The lines of the program's own code that runs between two moments."""

    def __init__(self) -> None:
        self._watch = OwnLineWatch()

    def start(self) -> None:
        """Count from now on; a warning says why if that cannot be done."""
        try:
            self._watch.start(roots(), _running_code())
        except TachographError as error:
            from .warn import warn

            warn(str(error))

    def stop(self) -> LineTable:
        """Stop counting and return the table."""
        counted = self._watch.stop()
        means = line_means()
        return LineTable(lambda: counted, "trace hook" if means == "inserted calls" else means)


def own_lines() -> OwnLines:
    """Return what counts the lines of own code, which is not of a library."""
    return OwnLines()


def _running_code() -> list[object]:
    """Return the code objects of all functions that run now, on any thread."""
    found: dict[int, object] = {}
    for top in sys._current_frames().values():
        frame = top
        while frame is not None:
            found[id(frame.f_code)] = frame.f_code
            frame = cast("Any", frame.f_back)
    return list(found.values())


def _functions(given: object) -> list[FunctionType]:
    """Return the Python functions behind what was given."""
    if isinstance(given, type):
        members = (_functions_or_none(member) for member in vars(given).values())
        found = [function for functions in members for function in functions]
        if found:
            return found
    else:
        found = _functions_or_none(given)
        if found:
            return found
    raise TypeError(
        f"lines() counts functions written in Python, not {given!r}; give it a function, a method "
        "or a class"
    )


def _functions_or_none(given: object) -> list[FunctionType]:
    seen = 0
    while not isinstance(given, FunctionType) or hasattr(given, "__wrapped__"):
        if isinstance(given, property):
            parts = (given.fget, given.fset, given.fdel)
            return [function for part in parts for function in _functions_or_none(part)]
        if isinstance(given, functools.partial):
            given = given.func
            continue
        inner = getattr(given, "__wrapped__", None) or getattr(given, "__func__", None)
        seen += 1
        if inner is None or seen > 100 or isinstance(given, type):
            return []
        given = inner
    return [given]


def _mark_coroutine(door: object, function: FunctionType) -> None:
    """Let the calls of a coroutine function be awaited by whoever asks what it is."""
    from inspect import CO_COROUTINE

    if not function.__code__.co_flags & CO_COROUTINE:
        return
    if sys.version_info >= (3, 12):
        from inspect import markcoroutinefunction

        markcoroutinefunction(cast("Any", door))
    else:
        from asyncio import coroutines

        cast("Any", door)._is_coroutine = coroutines._is_coroutine  # type: ignore[attr-defined]
