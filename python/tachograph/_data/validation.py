"""What validators said about one call."""

from __future__ import annotations

from typing import Any

from .plain import dataclass, field

__all__ = ["ValidationResult"]


@dataclass
class ValidationResult:
    """What validators said about one call.

    Attributes:
        function_name: The function that was called.
        input_valid: No validator rejected an argument.
        output_valid: No validator rejected the result.
        input_errors: Why arguments were rejected, a sentence each.
        output_errors: Why the result was rejected, a sentence each.
        validation_time: Seconds the validators took.
        metadata: ``validators_count``, and for a generator ``values_count``,
            how many values it gave.
    """

    function_name: str
    input_valid: bool
    output_valid: bool
    input_errors: list[str] = field(default_factory=list)
    output_errors: list[str] = field(default_factory=list)
    validation_time: float = 0.0
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        """Whether nothing was rejected."""
        return self.input_valid and self.output_valid
