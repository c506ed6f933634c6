"""What tachograph raises beside Python's own exceptions.

A mistake in a call is a ``ValueError`` or a ``TypeError``, a session that is
or is not running a ``RuntimeError``, a file that cannot be written an
``OSError``. The classes here are for the rest.
"""

from __future__ import annotations

__all__ = ["RecordingError", "TachographError"]


class TachographError(Exception):
    """Tachograph could not do what it was asked; the program is not affected."""


class RecordingError(TachographError):
    """A file is missing, is not a recording, or is damaged."""
