"""FLOPs of what really ran between two moments, and who counted them.

Torch tells through its dispatcher, if the program has imported it; everything
else that does linear algebra tells through its BLAS calls. A product and its
sum are two operations. Nothing here imports torch or numpy.
"""

from __future__ import annotations

from _thread import _local

from .._native import BlasWindow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .torch_flops import TorchCounter

__all__ = ["Window", "begin", "end"]

TORCH = "torch dispatcher"
BLAS = "BLAS calls"
NONE = "none"


class _Shared(_local):
    """A thread's counter, shared by its open windows."""

    counter: TorchCounter | None = None
    windows = 0


_shared = _Shared()


class Window:
    """What was counted when it was opened."""

    __slots__ = ("_blas", "_torch", "_torch_flops")

    def __init__(self) -> None:
        self._blas = BlasWindow()
        self._torch = _join()
        self._torch_flops = self._torch.flops if self._torch is not None else 0

    def close(self) -> tuple[int, str]:
        """Return how many operations ran since it was opened, and who says so."""
        torch = 0
        if self._torch is not None:
            torch = self._torch.flops - self._torch_flops
            _leave(self._torch)
            self._torch = None
        blas = self._blas.close()
        sources = [name for name, flops in ((TORCH, torch), (BLAS, blas)) if flops]
        return torch + blas, " + ".join(sources) or NONE


def begin() -> Window:
    """Begin to count what this thread's torch and the process's BLAS compute."""
    return Window()


def end(window: Window) -> tuple[int, str]:
    """Return the number of operations since ``begin``, and who counted them."""
    return window.close()


def _join() -> TorchCounter | None:
    """Return this thread's counter of torch, started if it is the first window."""
    if _shared.counter is None:
        from .torch_flops import counter

        made = counter()
        if made is None:
            return None
        try:
            made.start()
        except Exception:  # a torch of another kind, or a stand-in
            return None
        _shared.counter = made
    _shared.windows += 1
    return _shared.counter


def _leave(counter: TorchCounter) -> None:
    if _shared.counter is not counter:
        return
    _shared.windows -= 1
    if _shared.windows == 0:
        _shared.counter = None
        try:
            counter.stop()
        except Exception:  # torch was changed under us
            return
