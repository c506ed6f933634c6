"""The validators of this package by a short name each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .validators import (
    CustomValidator,
    DataFrameValidator,
    RangeValidator,
    ShapeValidator,
    TypeValidator,
)

__all__ = ["custom_check", "dataframe_check", "range_check", "shape_check", "type_check"]


def type_check(expected_type: type | tuple[type, ...]) -> TypeValidator:
    """Return a `TypeValidator`."""
    return TypeValidator(expected_type)


def range_check(min_val: float | None = None, max_val: float | None = None) -> RangeValidator:
    """Return a `RangeValidator`."""
    return RangeValidator(min_val, max_val)


def shape_check(
    expected_shape: Iterable[int | None] | None = None,
    min_dims: int | None = None,
    max_dims: int | None = None,
) -> ShapeValidator:
    """Return a `ShapeValidator`."""
    return ShapeValidator(expected_shape, min_dims, max_dims)


def dataframe_check(
    required_columns: Iterable[Any] | None = None,
    min_rows: int | None = None,
    max_rows: int | None = None,
    column_types: Mapping[Any, Any] | None = None,
) -> DataFrameValidator:
    """Return a `DataFrameValidator`."""
    return DataFrameValidator(required_columns, min_rows, max_rows, column_types)


def custom_check(
    validation_func: Callable[..., Any], error_message: str = "Custom validation failed"
) -> CustomValidator:
    """Return a `CustomValidator`."""
    return CustomValidator(validation_func, error_message)
