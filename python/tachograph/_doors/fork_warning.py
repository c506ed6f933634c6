"""Keeps CPython from warning a program with one thread about ours.

From 3.12 on, ``os.fork()`` warns when the process has more than one thread,
whoever started them. Ours are safe to fork, and a program under ``tachograph
run`` must not print what it would not print alone. A program with threads of
its own is warned as ever.
"""

from __future__ import annotations

import os


class _OwnThreadsOnly:
    """Stands for a pattern among the filters of ``warnings``, which ask it to match."""

    def match(self, text: str) -> bool:
        """Whether `text` is that warning, and all threads but one are ours."""
        if "is multi-threaded, use of" not in text:
            return False
        try:
            names = [_name(thread) for thread in os.listdir("/proc/self/task")]
        except OSError:
            return False
        return sum(not name.startswith("tacho-") for name in names) <= 1


def _name(thread: str) -> str:
    with open(f"/proc/self/task/{thread}/comm") as file:
        return file.read()


def keep_quiet_about_own_threads() -> None:
    """Put the filter in force; programs that set filters of their own cover it.

    Versions that do not warn never ask it.
    """
    try:
        import _warnings

        filters: list[tuple[object, ...]] = _warnings.filters  # type: ignore[assignment]
        filters.insert(0, ("ignore", _OwnThreadsOnly(), DeprecationWarning, None, 0))
        # Since 3.14 the name says that a lock must be held; here is no other thread yet.
        for name in ("_filters_mutated", "_filters_mutated_lock_held"):
            if hasattr(_warnings, name):
                getattr(_warnings, name)()
    except (ImportError, AttributeError, RuntimeError):  # an inner module, and free to change
        return
