"""What a measurement says about itself: on standard output, in the log, in a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._data.timing import TimingResult
    from .._native import Ended

# The name programs configure in `logging`; the module is imported on first use.
LOGGER = "tachograph.timing"


def checked_precision(precision: int) -> int:
    """Return `precision`; anything but a count of decimals is a ``ValueError``."""
    if not isinstance(precision, int) or precision < 0:
        raise ValueError(f"precision is a number of decimals, 0 or more, not {precision!r}")
    return precision


def text_of(error: BaseException) -> str:
    """Return what an exception says, whatever its ``__str__`` does."""
    try:
        return str(error)
    except Exception:
        return f"<unprintable {type(error).__name__}>"


def sentence(name: str, seconds: float, mode: str, precision: int, failed: bool) -> str:
    """Return the line that is printed for one measurement."""
    happened = "failed after" if failed else "executed in"
    return f"{name} {happened} {seconds:.{precision}f}s ({mode})"


def log(line: str, failed: bool) -> None:
    """Log one measurement: a failure is a warning, the rest information."""
    import logging

    level = logging.WARNING if failed else logging.INFO
    logging.getLogger(LOGGER).log(level, "%s", line)


def teller(
    name: str, mode: str, *, print_result: bool, log_results: bool, precision: int
) -> Callable[[Ended], object] | None:
    """Return what tells of every end of `name`; nothing when nobody wants to hear."""
    if not (print_result or log_results):
        return None

    def tell(ended: Ended) -> None:
        line = sentence(name, ended.duration_ns / 1e9, mode, precision, ended.failed)
        if print_result:
            print(line)
        if log_results:
            log(line, ended.failed)

    return tell


def completing(
    result: TimingResult, is_async: bool, tell: Callable[[Ended], object] | None
) -> Callable[[Ended], object]:
    """Return what fills in the result of one call that goes by steps, when it ends.

    Each call has its own, which is what makes it right in recursion and tasks.
    """

    def complete(ended: Ended) -> None:
        error = ended.error
        result.execution_time = ended.duration_ns / 1e9
        result.timestamp = ended.started_unix_ns / 1e9
        result.metadata.update(
            success=not ended.failed,
            error=None if error is None else text_of(error),
            running_time=ended.running_ns / 1e9,
            suspended_time=ended.suspended_ns / 1e9,
        )
        if is_async:
            result.metadata["async"] = True
        if tell is not None:
            tell(ended)

    return complete
