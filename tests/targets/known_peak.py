"""Holds most memory in the middle of its run, and says where and how much.

Right answer: at the peak `images` holds 60 MB and `labels` 24 MB; `buffers`,
which allocates most of all, holds nothing then, because it had freed it.
"""

from __future__ import annotations

IMAGES = 60_000 * 1000
LABELS = 24_000 * 1000
CHURN = 200


def images() -> list[bytes]:
    return [bytes(1000 - 33) for _ in range(60_000)]


def labels() -> list[bytes]:
    return [bytes(1000 - 33) for _ in range(24_000)]


def buffers() -> None:
    for _ in range(CHURN):
        bytearray(1_000_000)


def run() -> None:
    """Go up to the peak and down again."""
    buffers()
    kept = images()
    more = labels()
    del kept
    buffers()
    del more
