"""Guards around functions: what goes in and what comes out is looked at.

Nothing here imports numpy or pandas; arrays and data frames are known by what
they can do.
"""

from __future__ import annotations

from ..._data.validation import ValidationResult
from .by_hints import validate_data_schema, validate_types
from .decorate import validate_inputs, validate_outputs
from .factories import custom_check, dataframe_check, range_check, shape_check, type_check
from .validators import (
    CustomValidator,
    DataFrameValidator,
    RangeValidator,
    ShapeValidator,
    TypeValidator,
    ValidatorBase,
)

__all__ = [
    "CustomValidator",
    "DataFrameValidator",
    "RangeValidator",
    "ShapeValidator",
    "TypeValidator",
    "ValidationResult",
    "ValidatorBase",
    "custom_check",
    "dataframe_check",
    "range_check",
    "shape_check",
    "type_check",
    "validate_data_schema",
    "validate_inputs",
    "validate_outputs",
    "validate_types",
]
