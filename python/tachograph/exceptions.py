"""What tachograph raises beside Python's own exceptions.

A mistake in a call is a ``ValueError`` or a ``TypeError``, a session that is
or is not running a ``RuntimeError``, a file that cannot be written an
``OSError``. The classes here are for the rest.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

__all__ = [
    "DataError",
    "RecordingError",
    "RefuncError",
    "TachographError",
    "ValidationError",
]


class TachographError(Exception):
    """Tachograph could not do what it was asked; the program is not affected."""


class RecordingError(TachographError):
    """A file is missing, is not a recording, or is damaged."""


class RefuncError(TachographError):
    """What the decorators of ``tachograph.decorators`` raise themselves.

    Args:
        message: What is wrong.
        context: Facts about it.
        suggestion: What to do about it.
        original_error: The exception behind it.

    Attributes:
        message: As given.
        context: As given; empty without one.
        suggestion: As given.
        original_error: As given.
    """

    def __init__(
        self,
        message: str = "",
        context: Mapping[str, Any] | None = None,
        suggestion: str | None = None,
        original_error: BaseException | None = None,
    ) -> None:
        import time

        super().__init__(message)
        self.message = message
        self.context: dict[str, Any] = dict(context or {})
        self.suggestion = suggestion
        self.original_error = original_error
        self._unix_time = time.time()

    @property
    def timestamp(self) -> datetime:
        """When the error was made."""
        from datetime import datetime

        return datetime.fromtimestamp(self._unix_time)

    def __str__(self) -> str:
        return self.message if self.suggestion is None else f"{self.message}; {self.suggestion}"

    def to_dict(self) -> dict[str, Any]:
        """Return the error as plain values, for a log."""
        original = self.original_error
        return {
            "error_type": type(self).__name__,
            "message": self.message,
            "context": self.context,
            "suggestion": self.suggestion,
            "original_error": None if original is None else str(original),
            "timestamp": self.timestamp.isoformat(),
        }


class DataError(RefuncError):
    """Data is not what a function takes or gives."""


class ValidationError(DataError):
    """A validator rejected a value. Validators raise it to say why."""
