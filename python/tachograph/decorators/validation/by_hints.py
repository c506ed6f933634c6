"""Rules that come from type hints, and from plain dictionaries."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_type_hints, overload

from ...exceptions import RefuncError, ValidationError
from ._checks import Checks, Rule, checks_of
from ._hints import fault, is_checkable
from ._looks import is_frame, is_shape, shape_of, shown
from .decorate import checked

if TYPE_CHECKING:
    from ..._types import P, R

__all__ = ["validate_data_schema", "validate_types"]


class _Hint:
    """A type hint as a validator."""

    def __init__(self, hint: Any) -> None:
        self._hint = hint

    def validate(self, value: Any) -> None:
        wrong = fault(value, self._hint)
        if wrong is not None:
            raise ValidationError(wrong)


@overload
def validate_types(strict_mode: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def validate_types(
    strict_mode: bool = ..., check_return: bool = ..., raise_on_error: bool = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def validate_types(
    strict_mode: Any = True, check_return: bool = True, raise_on_error: bool = True
) -> Any:
    """Check that arguments and results are what the type hints say.

    Looks into unions, literals and collections; of a large collection at its
    first 100 elements. An ``int`` is a ``float``, as type checkers read it.
    Hints that cannot be checked, such as type variables, let everything pass.

    Args:
        strict_mode: Look into generic hints such as ``list[int]``, and demand
            that there are hints. Otherwise only plain classes count.
        check_return: Check what the function returns; of a generator, nothing.
        raise_on_error: Raise at a value of another type. Otherwise nothing is
            done with what is found.

    Raises:
        ValidationError: When called: a value has another type.
        RefuncError: `strict_mode`, and the function has no hints that can be
            read.

    Example:
        >>> @validate_types
        ... def scale(rows: list[float], by: float = 2.0) -> list[float]:
        ...     return [row * by for row in rows]
        >>> scale([1.0, 2.5])
        [2.0, 5.0]
    """
    function = strict_mode if callable(strict_mode) else None
    strict = function is not None or bool(strict_mode)

    def make(decorated: Any, name: str) -> Checks:
        hints = _hints_of(decorated, name, strict)
        rules: dict[str, tuple[Rule, ...]] = {
            parameter: (Rule(_Hint(hint)),)
            for parameter, hint in hints.items()
            if parameter != "return" and (strict or is_checkable(hint))
        }
        _take_parts(decorated, rules, hints)
        returned = hints.get("return", Any)
        steps = inspect.isgeneratorfunction(decorated) or inspect.isasyncgenfunction(decorated)
        is_checked = check_return and not steps and (strict or is_checkable(returned))
        outputs = (Rule(_Hint(returned)),) if is_checked else ()
        return Checks(decorated, name, rules, outputs, raises=raise_on_error)

    def decorate(decorated: Any) -> Any:
        return checked(decorated, make, return_result=False)

    return decorate if function is None else decorate(function)


def _hints_of(function: Any, name: str, strict: bool) -> dict[str, Any]:
    try:
        hints = get_type_hints(function)
    except (NameError, AttributeError, TypeError) as error:
        if strict:
            raise RefuncError(
                f"the type hints of {name} cannot be read: {error}",
                suggestion="import what they name, or use strict_mode=False",
                original_error=error,
            ) from error
        return {}
    if strict and not hints:
        raise RefuncError(
            f"{name} has no type hints", suggestion="add some, or use strict_mode=False"
        )
    return hints


def _take_parts(function: Any, rules: dict[str, tuple[Rule, ...]], hints: dict[str, Any]) -> None:
    """Hints of ``*args`` and ``**kwargs`` speak of their elements."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in rules:
            continue
        hint = hints[parameter.name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            rules[parameter.name] = (Rule(_Hint(types.GenericAlias(tuple, (hint, ...)))),)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            rules[parameter.name] = (Rule(_Hint(types.GenericAlias(dict, (str, hint)))),)


_KNOWN = {
    "type", "columns", "min_rows", "max_rows", "shape", "min_dims", "max_dims", "min_value",
    "max_value",
}  # fmt: skip


class _Schema:
    """A dictionary of demands as a validator."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        unknown = sorted(set(schema) - _KNOWN)
        if unknown:
            known = ", ".join(sorted(_KNOWN))
            raise ValueError(f"a schema knows no {unknown[0]!r}; it knows {known}")
        self._schema = dict(schema)

    def validate(self, value: Any) -> None:
        faults = list(self._faults(value))
        if faults:
            raise ValidationError("; ".join(faults))

    def _faults(self, value: Any) -> Any:
        schema = self._schema
        kind = schema.get("type")
        if kind is not None and not isinstance(value, kind):
            name = getattr(kind, "__name__", kind)
            yield f"expected {name}, got {type(value).__name__}"
            return
        if is_frame(value):
            missing = [c for c in schema.get("columns", ()) if c not in list(value.columns)]
            if missing:
                yield f"missing columns: {', '.join(map(str, missing))}"
            yield from _bounds(len(value), schema.get("min_rows"), schema.get("max_rows"), "rows")
        shape = shape_of(value)
        if shape is not None:
            expected = schema.get("shape")
            if expected is not None and not is_shape(shape, tuple(expected)):
                yield f"expected shape {tuple(expected)}, got {shape}"
            low, high = schema.get("min_dims"), schema.get("max_dims")
            yield from _bounds(len(shape), low, high, "dimensions")
        if isinstance(value, (int, float)):
            low, high = schema.get("min_value"), schema.get("max_value")
            if low is not None and not value >= low:
                yield f"{shown(value)} is less than {low}"
            if high is not None and not value <= high:
                yield f"{shown(value)} is more than {high}"


def _bounds(number: int, low: int | None, high: int | None, what: str) -> Any:
    if low is not None and number < low:
        yield f"{number} {what} are fewer than {low}"
    if high is not None and number > high:
        yield f"{number} {what} are more than {high}"


def validate_data_schema(
    input_schema: Mapping[str, Mapping[str, Any]] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    raise_on_error: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check data against plain dictionaries of demands.

    A schema may hold ``type``; of a data frame ``columns``, ``min_rows`` and
    ``max_rows``; of an array ``shape``, ``min_dims`` and ``max_dims``; of a
    number ``min_value`` and ``max_value``.

    Args:
        input_schema: A schema for each parameter.
        output_schema: The schema of what the function returns.
        raise_on_error: Raise at data that does not fit. Otherwise nothing is
            done with what is found.

    Raises:
        ValidationError: When called: data does not fit.
        ValueError: A schema holds an unknown word, or the function has no
            such parameter.

    Example:
        >>> @validate_data_schema({"rows": {"type": list}}, {"min_value": 0})
        ... def total(rows):
        ...     return sum(rows)
        >>> total([1, 2])
        3
    """
    inputs = {name: _Schema(schema) for name, schema in (input_schema or {}).items()}
    output = None if output_schema is None else _Schema(output_schema)

    def make(function: Any, name: str) -> Checks:
        return checks_of(function, name, inputs, output, raises=raise_on_error)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        decorated: Callable[P, R] = checked(function, make, return_result=False)
        return decorated

    return decorate
