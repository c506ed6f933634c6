"""How well the streams of a device are used, side by side."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from threading import Lock

from .._data.recording import _is_unicode, _terminal_width
from .._native import gpu_mark, gpu_status, stream_efficiency, stream_table
from ._device.libraries import stream_device, stream_handle
from ._device.stream_blocks import unwatch, watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any, Literal, Self

    from .._native import GpuMark

__all__ = ["StreamProfiler"]

# Pieces of work whose time was not fetched; each holds two events of the driver.
_MOST_PENDING = 512


class _Piece:
    """One block on one stream: two events, or two times of the processor's clock."""

    __slots__ = ("end", "end_ns", "place", "start", "start_ns")

    def __init__(self, place: int, handle: int, device: int | None) -> None:
        self.place = place
        self.start_ns = self.end_ns = time.monotonic_ns()
        self.start: GpuMark | None = gpu_mark(handle, device, anchored=True)
        self.end: GpuMark | None = None

    def finish(self) -> None:
        self.end_ns = time.monotonic_ns()
        if self.start is not None:
            self.end = gpu_mark(self.start.stream, self.start.device, anchored=True)

    def settle(self) -> tuple[tuple[int, int, int], bool]:
        """Return place, start and end, and whether they are the device's own."""
        if self.start is not None and self.end is not None and self.end.wait():
            start, end = self.start.time_ns, self.end.time_ns
            if start is not None and end is not None:
                self.start.record_until(self.end, "stream block (GPU)")
                return (self.place, start, max(start, end)), True
        return (self.place, self.start_ns, self.end_ns), False


class StreamProfiler:
    """Shows how busy each stream was, how much they overlapped, and where they idled.

    Inside of the ``with`` block every ``torch.cuda.stream(...)`` block counts as
    work of its stream: from the moment the stream came to it until the stream
    was done with it, by events on the stream. Pauses of the program inside of
    such a block count as work, too. Without torch, use ``stream()``.

    Without a device the blocks are timed by the processor's clock: that shows
    when the program was in them. The table says so.

    Args:
        num_streams: How many streams the program means to use. One that has no
            work is idle in the table; further ones that have work are shown, too.

    Raises:
        ValueError: ``num_streams`` is less than 1.

    Example:
        >>> profiler = StreamProfiler(num_streams=2)
        >>> with profiler:
        ...     with profiler.stream(0):
        ...         total = sum(range(100_000))
        >>> profiler.get_stats()["streams"][0]["pieces"]
        1
    """

    def __init__(self, num_streams: int = 4) -> None:
        if num_streams < 1:
            raise ValueError(f"num_streams must be >= 1, not {num_streams}")
        self.num_streams = num_streams
        self._lock = Lock()
        self._start_ns = self._end_ns = 0
        self._is_open = False
        self._places: dict[object, int] = {}
        self._kept: list[object] = []
        self._names: list[str] = []
        self._open: dict[int, list[_Piece]] = {}
        self._done: list[_Piece] = []
        self._work: list[tuple[int, int, int]] = []
        self._by_device = self._by_processor = 0

    def __enter__(self) -> Self:
        if self._is_open:
            raise RuntimeError("this StreamProfiler is already running; make another one")
        self._forget()
        self._is_open = True
        self._start_ns = self._end_ns = time.monotonic_ns()
        watch(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]:
        unwatch(self)
        left_ns = time.monotonic_ns()
        self._is_open = False
        for pieces in list(self._open.values()):
            for piece in pieces:
                piece.finish()
                self._done.append(piece)
        self._open.clear()
        self._settle(0)
        # The device may have gone on after the program had left the block.
        self._end_ns = max([left_ns, *(end for _, _, end in self._work)])
        return False

    @contextmanager
    def stream(self, stream: object = 0, name: str | None = None) -> Iterator[None]:
        """Count a block as work of a stream, for programs without torch.

        Args:
            stream: A stream of torch or CuPy, or any number that tells streams
                apart where there is no device.
            name: What the stream is called in the table.
        """
        block = object()
        self._entered(stream, block, name)
        try:
            yield
        finally:
            self._left(block)

    def _entered(self, stream: object, block: object, name: str | None = None) -> None:
        if not self._is_open:
            return
        handle, device = stream_handle(stream), stream_device(stream)
        with self._lock:
            place = self._place_of(stream, handle, device, name)
        piece = _Piece(place, handle, device)
        with self._lock:
            self._open.setdefault(id(block), []).append(piece)
        if len(self._done) > _MOST_PENDING:
            self._settle(_MOST_PENDING // 2)

    def _left(self, block: object) -> None:
        with self._lock:
            pieces = self._open.get(id(block))
            piece = pieces.pop() if pieces else None
            if not pieces:
                self._open.pop(id(block), None)
        if piece is not None:
            piece.finish()
            self._done.append(piece)

    def _place_of(self, stream: object, handle: int, device: int | None, name: str | None) -> int:
        has_handle = handle or hasattr(stream, "cuda_stream") or hasattr(stream, "ptr")
        key: object = (device, handle) if has_handle else stream
        try:
            hash(key)
        except TypeError:
            key = id(stream)
        if key not in self._places:
            self._places[key] = len(self._places)
            self._kept.append(stream)  # so that no other gets its id
            usual = "default stream" if has_handle and not handle else f"stream {len(self._names)}"
            self._names.append(name or usual)
        return self._places[key]

    def _settle(self, leave: int) -> None:
        while len(self._done) > leave:
            row, by_device = self._done.pop(0).settle()
            self._work.append(row)
            self._by_device += by_device
            self._by_processor += not by_device

    def _forget(self) -> None:
        for rows in (self._places, self._kept, self._names, self._open, self._done, self._work):
            rows.clear()
        self._by_device = self._by_processor = 0

    @property
    def clock(self) -> str:
        """``"cuda"`` when every block was timed by the device, ``"cpu"`` when none was."""
        if self._by_device and self._by_processor:
            return "cuda and cpu"
        return "cuda" if self._by_device else "cpu"

    def _all_names(self) -> list[str]:
        missing = range(len(self._names), self.num_streams)
        return [*self._names, *(f"stream {place}" for place in missing)]

    def _window(self) -> tuple[int, int]:
        return self._start_ns, time.monotonic_ns() if self._is_open else self._end_ns

    def get_stats(self) -> dict[str, Any]:
        """Return the figures of the table.

        ``efficiency`` (0 to 1: every stream busy all the time is 1),
        ``concurrency`` (streams at work at once, on average while any was),
        ``window_ms``, ``any_busy_ms``, ``overlap_ms`` (two or more at work),
        ``clock``, and ``streams``: per stream ``name``, ``busy`` (0 to 1),
        ``busy_ms``, ``pieces``, ``idle_ms`` (between pieces) and
        ``longest_gap_ms``. Work whose end is not known yet is left out.
        """
        names = self._all_names()
        found = json.loads(stream_efficiency(self._work, len(names), self._window()))
        streams = [
            {
                "name": name,
                "busy": row["busy"],
                "busy_ms": row["busy_ns"] / 1e6,
                "pieces": row["pieces"],
                "idle_ms": row["idle_between_ns"] / 1e6,
                "longest_gap_ms": max((end - start for start, end in row["gaps"]), default=0) / 1e6,
            }
            for name, row in zip(names, found["streams"], strict=True)
        ]
        return {
            "efficiency": found["efficiency"],
            "concurrency": found["concurrency"],
            "window_ms": found["window_ns"] / 1e6,
            "any_busy_ms": found["any_busy_ns"] / 1e6,
            "overlap_ms": found["overlap_ns"] / 1e6,
            "clock": self.clock,
            "streams": streams,
        }

    def summary(self, *, color: bool = False, width: int | None = None) -> str:
        """Return busy shares, overlap, idle gaps and a picture of when each stream worked.

        Args:
            color: Use terminal colours.
            width: Columns to fill; by default those of the terminal.
        """
        clocks = {
            "cuda": "by CUDA events",
            "cpu": "by the processor's clock",
            "cuda and cpu": "partly by CUDA events, partly by the processor's clock",
        }
        return stream_table(
            self._work,
            self._all_names(),
            self._window(),
            clocks[self.clock],
            self._doubts(),
            color=color,
            width=_terminal_width() if width is None else width,
            unicode=_is_unicode(),
        )

    def print_stream_efficiency(self) -> None:
        """Print that, in colour on a terminal."""
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(self.summary(color=color))

    def _doubts(self) -> list[str]:
        doubts = []
        if not self._work:
            doubts.append(
                "no work was seen; put it into torch.cuda.stream(...) blocks, "
                "or into profiler.stream(...) blocks"
            )
        elif self._by_processor:
            reason = next((text for name, _, text in gpu_status() if name == "CUDA driver"), "")
            reason = reason.split(";")[0]
            doubts.append(
                f"{self._by_processor} of {len(self._work)} blocks show when the program was in "
                f"them, not when a device worked: {reason}"
            )
        if len(self._names) > self.num_streams:
            doubts.append(f"num_streams is {self.num_streams}; {len(self._names)} had work")
        return doubts
