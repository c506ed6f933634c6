"""What decorators look like to a type checker, whatever they give beside a value."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from .._types import P, R

if TYPE_CHECKING:
    from types import TracebackType

Told = TypeVar("Told", covariant=True)


class WithResult(Protocol[Told]):
    """Decorates a function that then returns what was told of a call beside its value."""

    @overload  # the narrower case comes first
    def __call__(  # type: ignore[overload-overlap]
        self, func: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, tuple[R, Told]]]: ...

    @overload
    def __call__(self, func: Callable[P, R], /) -> Callable[P, tuple[R, Told]]: ...


class Block(Protocol[Told]):
    """A block that is watched; also decorates functions."""

    def __enter__(self) -> Told: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: Callable[P, R]) -> Callable[P, R]: ...
