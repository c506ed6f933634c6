"""Leaks small objects into arenas that another place had filled before.

Right answer: `leak` holds the objects. A tool that sees only arenas names
`warm_up`, which made them and freed everything in them.
"""

from __future__ import annotations

import sys
from typing import Any

COUNT = 120_000
# A list of one: the list with its array of one, and a float.
EACH = sys.getsizeof([0.5]) + sys.getsizeof(0.5)

kept: list[Any] = []


def warm_up() -> None:
    """Make arenas and leave them, nearly empty, to whoever comes next."""
    objects = [[float(i)] for i in range(COUNT * 2)]
    # One object in a thousand stays, so that no arena is given back.
    kept.extend(objects[::1000])


def leak() -> None:
    for i in range(COUNT):
        kept.append([i + 0.5])
