"""Spans and their timeline, under the names smonitor gives them."""

from __future__ import annotations

from ._native import span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

__all__ = ["export_timeline", "span"]

_FORMATS = ("json", "csv")


def export_timeline(path: str | PathLike[str], format: str = "json") -> None:
    """Write the entries of ``report()["timeline"]`` to a file.

    A CSV file has one column per key that any entry has, in alphabetical
    order; an empty timeline makes no CSV file.

    Args:
        path: The file; one that exists is replaced.
        format: ``"json"`` or ``"csv"``.

    Raises:
        ValueError: The format is unknown.
        OSError: The file cannot be written.

    Example:
        >>> tachograph.profiling.export_timeline("timeline.csv", format="csv")
    """
    if format not in _FORMATS:
        raise ValueError(f"Unsupported format {format!r}; choose 'json' or 'csv'")
    from . import _native
    from ._doors.paths import writable_path

    _native.export_timeline(writable_path(path), format)
