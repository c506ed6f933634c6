"""Warnings that point at the program, not at tachograph."""

from __future__ import annotations

import os
import sys

_OWN_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep


def warn(message: str) -> None:
    """Warn with a ``RuntimeWarning`` at the line of the program that called us."""
    import warnings

    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = frame.f_back
        level += 1
    warnings.warn(message, RuntimeWarning, stacklevel=level)
