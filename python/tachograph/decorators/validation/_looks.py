"""What arrays and data frames are like, without importing their libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["ends_of", "is_frame", "is_shape", "is_type", "shape_of", "shown"]


def shown(value: Any) -> str:
    """Return a value as a short text, whatever its ``repr`` does."""
    try:
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:77]}..."


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, list or tuple; ``None`` of anything else."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return tuple(shape)
    return (len(value),) if isinstance(value, (list, tuple)) else None


def is_shape(shape: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    """Say whether a shape is as expected, where ``None`` is any length."""
    pairs = zip(shape, expected, strict=False)
    return len(shape) == len(expected) and all(want in (None, got) for got, want in pairs)


def is_frame(value: Any) -> bool:
    """Say whether `value` has columns by name, and rows."""
    return hasattr(value, "columns") and hasattr(value, "__len__")


def ends_of(value: Any) -> list[float]:
    """Return the smallest and the largest element of an array, or the number itself."""
    if isinstance(value, (list, tuple)):
        numbers = [float(number) for number in value]
        unordered = [number for number in numbers if number != number]
        return unordered or ([min(numbers), max(numbers)] if numbers else [])
    shape = shape_of(value)
    if not shape:
        return [float(value)]
    if 0 in shape:
        return []
    if _has_nan(value):
        return [float("nan")]
    # Of a data frame, the extremes of its columns.
    return [_extreme(value.min(), min), _extreme(value.max(), max)]


def _has_nan(value: Any) -> bool:
    """Say so also of data frames, whose extremes leave NaN out."""
    different = value != value
    while shape_of(different):
        different = different.any()
    return bool(different)


def _extreme(value: Any, of: Callable[[Iterable[float]], float]) -> float:
    return of(float(part) for part in value) if shape_of(value) else float(value)


def is_type(actual: Any, expected: Any) -> bool:
    """Say whether a column's type is a Python class, or called so."""
    if actual == expected or str(actual) == str(expected):
        return True
    name = getattr(expected, "__name__", None)
    if name is None:
        return False
    # A Python class stands for every width of its kind.
    kinds = {"int": "iu", "float": "f", "bool": "b", "complex": "c", "str": "OUT", "object": "O"}
    return getattr(actual, "kind", "") in kinds.get(name, "-") and actual != ""
