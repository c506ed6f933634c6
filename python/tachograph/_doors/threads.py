"""Registering threads, for programs written for profilers that need it.

Every thread is found and sampled without being registered.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


def register_thread() -> bool:
    """Return ``True``: the calling thread is sampled, registered or not."""
    return True


def unregister_thread() -> bool:
    """Return ``True``: a thread that ends needs no farewell."""
    return True


class ThreadProfiler:
    """Register the calling thread for the length of a block.

    Example:
        >>> def worker():
        ...     with tachograph.ThreadProfiler():
        ...         do_work()
    """

    def __enter__(self) -> ThreadProfiler:
        register_thread()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        unregister_thread()
