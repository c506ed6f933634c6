"""How many parameters a model has, by torch's interface and without importing it."""

from __future__ import annotations

from typing import Any


def parameter_count(model: Any) -> int | None:
    """Return the sum of ``numel()`` over ``model.parameters()``; ``None`` if it is not known.

    Whatever a model raises is not the measured program's affair.
    """
    if model is None:
        return None
    try:
        return sum(int(parameter.numel()) for parameter in model.parameters())
    except Exception:  # parameters that are not made yet, or a model of another kind
        return None
