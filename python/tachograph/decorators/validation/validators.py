"""Validators: what says whether a value may pass.

None of them imports numpy or pandas: an array is what has a ``shape``, a data
frame what has ``columns`` and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._checks import agrees, takes_context
from ._looks import ends_of, is_frame, is_shape, is_type, shape_of, shown

__all__ = [
    "CustomValidator",
    "DataFrameValidator",
    "RangeValidator",
    "ShapeValidator",
    "TypeValidator",
    "ValidatorBase",
]

Context = Mapping[str, Any]


class ValidatorBase:
    """A rule for values. Subclasses write ``validate``.

    ``validate(self, value)`` or ``validate(self, value, context)`` rejects a
    value by raising `tachograph.exceptions.ValidationError`, whose text is
    shown, or by returning ``False``, which shows `get_error_message`.
    Returning ``None`` or ``True`` lets the value pass.

    The context is a dict: ``function_name``; ``parameter``, ``None`` for a
    result; ``arguments`` of the call by name.

    Example:
        >>> class Even(ValidatorBase):
        ...     def validate(self, value):
        ...         return value % 2 == 0
    """

    # Of any arguments, so that type checkers accept both ways to write it.
    def validate(self, *args: Any, **kwargs: Any) -> bool | None:
        """Say whether a value may pass."""
        raise NotImplementedError(f"{type(self).__name__} has no method `validate`; write one")

    def get_error_message(self, *args: Any, **kwargs: Any) -> str:
        """Return why a value is rejected; takes what `validate` takes."""
        return f"{shown(args[0]) if args else 'the value'} is not valid"


class TypeValidator(ValidatorBase):
    """Lets instances of a class pass, or of one of several."""

    def __init__(self, expected_type: type | tuple[type, ...]) -> None:
        kinds = expected_type if isinstance(expected_type, tuple) else (expected_type,)
        for kind in kinds:
            if not isinstance(kind, type):
                raise TypeError(f"a class or a tuple of classes is needed, not {kind!r}")
        self.expected_type = expected_type

    def validate(self, value: Any, context: Context | None = None) -> bool:
        """Say whether `value` may pass."""
        return isinstance(value, self.expected_type)

    def get_error_message(self, value: Any, context: Context | None = None) -> str:
        """Return why `value` is rejected."""
        expected = self.expected_type
        kinds = expected if isinstance(expected, tuple) else (expected,)
        names = " or ".join(kind.__name__ for kind in kinds)
        return f"expected {names}, got {type(value).__name__}"


class RangeValidator(ValidatorBase):
    """Lets numbers between two bounds pass, the bounds included.

    Of an array every element must; NaN never passes.
    """

    def __init__(self, min_val: float | None = None, max_val: float | None = None) -> None:
        if min_val is not None and max_val is not None and min_val > max_val:
            raise ValueError(f"min_val is {min_val} and max_val {max_val}: nothing could pass")
        self.min_val = min_val
        self.max_val = max_val

    def validate(self, value: Any, context: Context | None = None) -> bool:
        """Say whether `value` may pass."""
        try:
            return all(self._holds(end) for end in ends_of(value))
        except (TypeError, ValueError):
            return False

    def _holds(self, number: float) -> bool:
        if number != number:  # NaN
            return False
        if self.min_val is not None and number < self.min_val:
            return False
        return self.max_val is None or number <= self.max_val

    def get_error_message(self, value: Any, context: Context | None = None) -> str:
        """Return why `value` is rejected."""
        low = "-inf" if self.min_val is None else f"{self.min_val}"
        high = "inf" if self.max_val is None else f"{self.max_val}"
        try:
            ends = ends_of(value)
        except (TypeError, ValueError):
            return f"{shown(value)} is no number; it must be within [{low}, {high}]"
        if len(ends) > 1:
            return f"values from {ends[0]} to {ends[1]} are not within [{low}, {high}]"
        return f"{shown(value)} is not within [{low}, {high}]"


class ShapeValidator(ValidatorBase):
    """Lets arrays of a shape pass. A list or tuple has one dimension.

    Args:
        expected_shape: The shape; ``None`` in it stands for any length.
        min_dims: The fewest dimensions.
        max_dims: The most dimensions.
    """

    def __init__(
        self,
        expected_shape: Iterable[int | None] | None = None,
        min_dims: int | None = None,
        max_dims: int | None = None,
    ) -> None:
        self.expected_shape = None if expected_shape is None else tuple(expected_shape)
        self.min_dims = min_dims
        self.max_dims = max_dims

    def validate(self, value: Any, context: Context | None = None) -> bool:
        """Say whether `value` may pass."""
        shape = shape_of(value)
        if shape is None:
            return False
        if self.min_dims is not None and len(shape) < self.min_dims:
            return False
        if self.max_dims is not None and len(shape) > self.max_dims:
            return False
        return self.expected_shape is None or is_shape(shape, self.expected_shape)

    def get_error_message(self, value: Any, context: Context | None = None) -> str:
        """Return why `value` is rejected."""
        shape = shape_of(value)
        if shape is None:
            return f"expected an array, got {type(value).__name__}"
        if self.expected_shape is not None and not is_shape(shape, self.expected_shape):
            return f"expected shape {self.expected_shape}, got {shape}"
        low = 0 if self.min_dims is None else self.min_dims
        most = "" if self.max_dims is None else f" to {self.max_dims}"
        return f"expected {low}{most or ' or more'} dimensions, got {len(shape)}: shape {shape}"


class DataFrameValidator(ValidatorBase):
    """Lets data frames with certain columns, types and numbers of rows pass.

    Args:
        required_columns: Columns that must be there.
        min_rows: The fewest rows.
        max_rows: The most rows.
        column_types: Per column, what its type is: a Python class such as
            ``int``, or the type as the library calls it, such as ``"int64"``.
    """

    def __init__(
        self,
        required_columns: Iterable[Any] | None = None,
        min_rows: int | None = None,
        max_rows: int | None = None,
        column_types: Mapping[Any, Any] | None = None,
    ) -> None:
        self.required_columns = list(required_columns or ())
        self.min_rows = min_rows
        self.max_rows = max_rows
        self.column_types = dict(column_types or {})

    def validate(self, value: Any, context: Context | None = None) -> bool:
        """Say whether `value` may pass."""
        return not self._faults(value)

    def get_error_message(self, value: Any, context: Context | None = None) -> str:
        """Return why `value` is rejected."""
        return "; ".join(self._faults(value))

    def _faults(self, value: Any) -> list[str]:
        if not is_frame(value):
            return [f"expected a data frame, got {type(value).__name__}"]
        faults = []
        columns = list(value.columns)
        missing = [column for column in self.required_columns if column not in columns]
        if missing:
            faults.append(f"missing columns: {', '.join(map(str, missing))}")
        rows = len(value)
        if self.min_rows is not None and rows < self.min_rows:
            faults.append(f"{rows} rows are fewer than {self.min_rows}")
        if self.max_rows is not None and rows > self.max_rows:
            faults.append(f"{rows} rows are more than {self.max_rows}")
        for column, expected in self.column_types.items():
            if column not in columns:
                if column not in missing:
                    faults.append(f"missing columns: {column}")
                continue
            actual = value[column].dtype
            if not is_type(actual, expected):
                name = getattr(expected, "__name__", expected)
                faults.append(f"column {column!r} is {actual}, not {name}")
        return faults


class CustomValidator(ValidatorBase):
    """Lets pass what a function agrees to.

    Args:
        validation_func: Takes the value, or the value and the context. An
            exception rejects the value too.
        error_message: What is said when it does not agree.
    """

    def __init__(
        self,
        validation_func: Callable[..., Any],
        error_message: str = "Custom validation failed",
    ) -> None:
        if not callable(validation_func):
            raise TypeError(f"a function is needed, not {validation_func!r}")
        self.validation_func = validation_func
        self.error_message = error_message
        self._takes_context = takes_context(validation_func)

    def validate(self, value: Any, context: Context | None = None) -> bool:
        """Say whether `value` may pass."""
        function = self.validation_func
        try:
            return agrees(function(value, context) if self._takes_context else function(value))
        except Exception:
            return False

    def get_error_message(self, value: Any, context: Context | None = None) -> str:
        """Return why `value` is rejected."""
        return self.error_message
