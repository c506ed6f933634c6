"""``dataclass``, safe while another thread is importing ``typing``.

``dataclasses`` looks at ``typing`` wherever it finds it, also half imported,
and then fails. Importing it here waits until it is whole.
"""

from __future__ import annotations

import typing  # noqa: F401
from dataclasses import dataclass, field

__all__ = ["dataclass", "field"]
