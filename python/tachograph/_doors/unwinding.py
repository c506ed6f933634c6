"""Native frames: whether they can be had, and whether ``start()`` takes them."""

from __future__ import annotations

from .. import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._data.model import NativeFrame

_DEEPEST = 256
_UNAVAILABLE = (
    "Native unwinding is not available here: it needs Linux with glibc 2.35 or newer; "
    "Python frames are recorded as usual"
)

_enabled = False


def native_unwinding_available() -> bool:
    """Return whether C, C++ and Rust frames can be recorded on this machine."""
    return _native.native_available()


def set_native_unwinding(enabled: bool) -> None:
    """Say whether the next ``start()`` records native frames among the Python ones.

    ``record()`` has an argument for it and does not look here.

    Raises:
        RuntimeError: They are asked for and cannot be had.
    """
    global _enabled
    if enabled and not native_unwinding_available():
        raise RuntimeError(_UNAVAILABLE)
    _enabled = bool(enabled)


def native_unwinding_enabled() -> bool:
    """Return what was last said to ``set_native_unwinding()``; ``False`` at first."""
    return _enabled


def capture_native_stack() -> list[NativeFrame]:
    """Return the native stack of the calling thread, innermost frame first.

    Raises:
        RuntimeError: Native stacks cannot be unwound here.
    """
    if not native_unwinding_available():
        raise RuntimeError(_UNAVAILABLE)
    from .._data.model import NativeFrame

    return [
        NativeFrame(ip, symbol, filename, offset, bool(symbol))
        for ip, symbol, filename, offset in _native.capture_native_stack(_DEEPEST)
    ]
