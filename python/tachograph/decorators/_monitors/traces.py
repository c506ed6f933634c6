"""Where a call allocated the memory it still holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._doors.heap import HeapWindow
from ...exceptions import TachographError

if TYPE_CHECKING:
    from ..._data.heap import HeapSnapshot

__all__ = ["Traces"]

# Places that a result tells of.
MOST_PLACES = 20

# Kilobytes between two samples. Blocks of 96 KB and more are seen one by one;
# of 1 MB in small objects an eighth is uncertain.
RATE_KB = 64


class Traces:
    """Follows allocations from now until its end. Several may overlap.

    A process that cannot be followed is no error; the result says so.
    """

    def __init__(self) -> None:
        self._held: HeapSnapshot | None = None
        self._why: str | None = None
        self._window: HeapWindow | None = None
        try:
            self._window = HeapWindow(RATE_KB, native=False)
        except (TachographError, RuntimeError, OSError) as error:
            self._why = f"allocations were not followed: {error}"

    def end(self) -> None:
        """Stop following, and note what is still held."""
        if self._window is not None:
            self._held = self._window.snapshot()
            self._window.close()

    def tell(self, fields: dict[str, Any]) -> None:
        """Put what was found into the fields of a `MemoryResult`."""
        facts = fields["metadata"]
        if self._held is None:
            facts["traces"] = self._why or "allocations were not followed after a fork"
            return
        peak = self._held.at_peak
        current = self._held.estimated_heap_bytes
        fields["tracemalloc_current"] = current
        most = 0 if peak is None else peak.estimated_heap_bytes
        fields["tracemalloc_peak"] = max(current, most)
        facts["allocations"] = [_place(site) for site in self._held.top_allocators(MOST_PLACES)]


def _place(site: dict[str, Any]) -> dict[str, Any]:
    return {
        "function": site["function"],
        "file": site["file"],
        "line": site["line"],
        "bytes": site["estimated_bytes"],
        "blocks": site["sample_count"],
    }
