"""Peaks of torch's allocator, for several watchers at once.

The allocator keeps one peak per device, which has to be reset to see that of a
stretch of time. Before each reset the peak so far goes to every watcher that is
open, so stretches may overlap and none loses its peak.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from weakref import WeakSet

from .libraries import torch_cuda, torch_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .libraries import AllocatorMemory

__all__ = ["PeakWatch", "reset_peaks"]

_lock = Lock()
_open: WeakSet[PeakWatch] = WeakSet()


class PeakWatch:
    """The most that torch held on one device, from now until it is closed.

    Without ``anew`` nothing is reset: peaks may be older than the watch.
    """

    def __init__(self, device: int | None, *, anew: bool = True) -> None:
        self.device = device
        self.allocated = self.reserved = 0
        self.start = torch_memory(device)
        self.end: AllocatorMemory | None = None
        with _lock:
            if anew:
                _fold_and_reset(device)
            _open.add(self)

    def read(self) -> AllocatorMemory | None:
        """Return what torch holds now, with the peaks of this stretch; ``None`` without torch."""
        if self.end is not None:
            return self.end
        with _lock:
            now = torch_memory(self.device)
            self._fold(now)
        if now is None:
            return None
        return now._replace(peak_allocated=self.allocated, peak_reserved=self.reserved)

    def close(self) -> None:
        """End the stretch; ``read`` answers the same from now on."""
        self.end = self.read()
        with _lock:
            _open.discard(self)

    def _fold(self, memory: AllocatorMemory | None) -> None:
        if memory is not None:
            self.allocated = max(self.allocated, memory.peak_allocated)
            self.reserved = max(self.reserved, memory.peak_reserved)


def reset_peaks(device: int | None) -> None:
    """Let torch's own peaks begin anew; open watchers keep theirs."""
    with _lock:
        _fold_and_reset(device)


def _fold_and_reset(device: int | None) -> None:
    cuda, memory = torch_cuda(), torch_memory(device)
    if cuda is None or memory is None:
        return
    for watch in tuple(_open):
        if watch.device == device:
            watch._fold(memory)
    with suppress(Exception):  # a torch that cannot: peaks are then those since its start
        cuda.reset_peak_memory_stats(device)
