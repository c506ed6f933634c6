"""Whether a value is what a type hint says."""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any

__all__ = ["fault", "is_checkable"]

# Elements of a collection that are looked at. A hint is a promise about all of
# them; looking at every element of a large one would cost more than the call.
MOST_ELEMENTS = 100


def is_checkable(hint: Any) -> bool:
    """Say whether a hint is a plain class or a union of such."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return all(is_checkable(part) for part in typing.get_args(hint))
    return hint is None or hint is Any or isinstance(hint, type)


def fault(value: Any, hint: Any) -> str | None:
    """Return what is wrong with `value`; ``None`` when it is what `hint` says.

    A hint that cannot be looked at, such as a type variable, is right.
    """
    return None if _is(value, hint) else f"expected {_name(hint)}, got {_described(value)}"


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def _described(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, (list, tuple, set, frozenset, dict)) and value:
        inside = sorted({type(part).__name__ for part in list(value)[:MOST_ELEMENTS]})
        return f"{kind} of {', '.join(inside)}"
    return kind


def _is(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    parts = typing.get_args(hint)
    if hint is None:
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_is(value, part) for part in parts)
    if origin is typing.Literal:
        return any(value == part and type(value) is type(part) for part in parts)
    if origin is typing.Annotated or origin in (typing.Final, typing.ClassVar):
        return _is(value, parts[0])
    if origin is type:
        return isinstance(value, type)
    if isinstance(hint, typing.NewType):
        return _is(value, hint.__supertype__)
    if origin is None:
        return _is_instance(value, hint)
    return _is_instance(value, origin) and _is_made_of(value, origin, parts)


def _is_instance(value: Any, kind: Any) -> bool:
    if not isinstance(kind, type):
        return True
    if kind is float:  # as type checkers read it
        return isinstance(value, (float, int))
    if kind is complex:
        return isinstance(value, (complex, float, int))
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol that is not for checks at run time
        return True


def _is_made_of(value: Any, origin: Any, parts: tuple[Any, ...]) -> bool:
    """Look at the elements of a collection; of an iterator nothing may be taken."""
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return all(_is(part, parts[0]) for part in value[:MOST_ELEMENTS])
        if parts == ((),):
            return len(value) == 0
        matched = zip(value, parts, strict=False)
        return len(value) == len(parts) and all(_is(part, hint) for part, hint in matched)
    if isinstance(value, collections.abc.Mapping) and len(parts) == 2:
        pairs = zip(range(MOST_ELEMENTS), value.items(), strict=False)
        return all(_is(key, parts[0]) and _is(held, parts[1]) for _, (key, held) in pairs)
    if isinstance(value, (list, set, frozenset, collections.deque)) and len(parts) == 1:
        return all(
            _is(part, parts[0]) for _, part in zip(range(MOST_ELEMENTS), value, strict=False)
        )
    return True
