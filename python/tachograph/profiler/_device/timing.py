"""A piece of work timed by the device's own clock: two events on its stream."""

from __future__ import annotations

from contextvars import ContextVar

from ..._data.plain import dataclass
from ..._native import gpu_mark, gpu_synchronize
from .libraries import current_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Literal, Self

    from ..._native import Collector, GpuMark, Phase

__all__ = ["DevicePiece", "TimingResult"]


@dataclass
class TimingResult:
    """One measurement.

    Attributes:
        name: What was measured.
        cuda_time_ms: Time on the device. Without one it is the wall time.
        wall_time_ms: Time that passed.
        iterations: How many calls the times are the sum of.
        clock: ``"cuda"``: the first time is from events on the device's stream.
            ``"cpu"``: both times are wall time.
    """

    name: str
    cuda_time_ms: float
    wall_time_ms: float
    iterations: int = 1
    clock: str = "cpu"

    @property
    def cuda_time_per_iter_ms(self) -> float:
        """Time on the device per call."""
        return self.cuda_time_ms / self.iterations

    @property
    def wall_time_per_iter_ms(self) -> float:
        """Time that passed per call."""
        return self.wall_time_ms / self.iterations


_around: ContextVar[DevicePiece | None] = ContextVar("tachograph_device_piece", default=None)


class DevicePiece:
    """A block of work on a device, for ``with``; or begun and ended by hand.

    Its time is known when the device has done the work: at once if it waits
    for the device, else when somebody asks.
    """

    __slots__ = (
        *("name", "result", "_source", "_device", "_waits", "_phase", "_start", "_end"),
        *("_wall_ms", "_inner_ms", "_outer"),
    )

    def __init__(self, source: Collector, name: str, device: int | None, waits: bool) -> None:
        self.name = name
        self.result: TimingResult | None = None
        self._source = source
        self._device = device
        self._waits = waits
        self._phase: Phase | None = None
        self._start: GpuMark | None = None
        self._end: GpuMark | None = None
        self._wall_ms = 0.0
        self._inner_ms = 0.0
        self._outer: DevicePiece | None = None

    def begin(self) -> None:
        """Begin beside whatever else runs."""
        place = self._prepare()
        self._outer = _around.get()
        self._phase = self._source._start_phase(self.name)
        self._start = gpu_mark(*place)

    def end(self) -> None:
        """End it; its time may not be known yet."""
        self._mark_end()
        self._leave(failed=False)

    def give_up(self) -> None:
        """End it without counting it."""
        if self._phase is not None:
            self._phase.give_up()

    def __enter__(self) -> Self:
        if self._phase is not None and self.result is None and self._end is None:
            raise RuntimeError(
                f"phase {self.name!r} is already running; make another one for each block"
            )
        place = self._prepare()
        self._outer = _around.get()
        self._phase = self._source.measure_time(self.name)
        self._phase.__enter__()
        _around.set(self)
        self._start = gpu_mark(*place)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]:
        if self._phase is None:
            raise RuntimeError(f"phase {self.name!r} is not running; enter it first")
        self._mark_end()
        if _around.get() is self:
            _around.set(self._outer)
        self._leave(failed=kind is not None)
        return False

    def _prepare(self) -> tuple[int, int | None]:
        """Return where it is going to happen; what happens there now is over."""
        place = current_stream(self._device)
        if self._waits:
            gpu_synchronize(*place)
        self._end, self.result, self._inner_ms = None, None, 0.0
        return place

    def _mark_end(self) -> None:
        start = self._start
        if start is None:  # the program may have made its context inside of the block
            if self._waits:
                gpu_synchronize(*current_stream(self._device))
            return
        # On the stream on which it began: work of others is not its own.
        self._end = gpu_mark(start.stream, start.device)
        if self._end is not None and self._waits:
            self._end.wait()

    def _leave(self, *, failed: bool) -> None:
        assert self._phase is not None
        self._wall_ms = self._phase._leave(failed) / 1e6
        if self._waits or self._start is None or self._end is None:
            self.settle()

    @property
    def is_done(self) -> bool:
        """Whether its time can be told without waiting."""
        return self.result is not None or self._end is None or self._end.happened

    def settle(self) -> TimingResult:
        """Return its time; wait for the device if need be."""
        if self.result is not None:
            return self.result
        took_ms = None
        if self._start is not None and self._end is not None and self._end.wait():
            took_ms = self._start.elapsed_ms(self._end)
            self._start.record_until(self._end, f"{self.name} (GPU)")
        clock = "cpu" if took_ms is None else "cuda"
        spent_ms = self._wall_ms if took_ms is None else took_ms
        outer = self._outer
        own_ms = max(0.0, spent_ms - self._inner_ms)
        if outer is not None:
            outer._inner_ms += spent_ms
        inside = outer.name if outer is not None and outer.name != self.name else None
        self.result = TimingResult(self.name, spent_ms, self._wall_ms, clock=clock)
        self._source._add_time(self.name, spent_ms, own_ms, inside)
        # Both events are given back to the driver.
        self._start = self._end = self._outer = None
        return self.result

    @property
    def elapsed_ms(self) -> float:
        """Time on the device; while it runs, time that passed so far."""
        if self.result is None and self._end is None and self._phase is not None:
            return self._phase.elapsed_ms
        return self.settle().cuda_time_ms if self._phase is not None else 0.0

    @property
    def elapsed_ns(self) -> int:
        """The same in nanoseconds."""
        return round(self.elapsed_ms * 1e6)
