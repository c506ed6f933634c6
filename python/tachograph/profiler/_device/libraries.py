"""What torch and CuPy know, where the program has imported them. Nothing is imported here."""

from __future__ import annotations

import sys
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["AllocatorMemory", "current_stream", "torch_cuda", "torch_memory"]


class AllocatorMemory(NamedTuple):
    """What torch's allocator holds on one device, in bytes; peaks since they were reset."""

    allocated: int
    reserved: int
    peak_allocated: int
    peak_reserved: int


def torch_cuda() -> Any:
    """Return ``torch.cuda`` if torch is imported and uses a device; else ``None``."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        return cuda if cuda is not None and cuda.is_initialized() is True else None
    except Exception:  # a torch that is half imported, or another module of that name
        return None


def current_stream(device: int | None) -> tuple[int, int | None]:
    """Return the stream that work goes to now, and its device; 0 is the default stream."""
    try:
        if (cuda := torch_cuda()) is not None:
            stream = cuda.current_stream(device)
            return stream_handle(stream), stream_device(stream, device)
        if (cupy := sys.modules.get("cupy")) is not None:
            return int(cupy.cuda.get_current_stream().ptr), device
    except Exception:  # what they answer is theirs to change
        pass
    return 0, device


def stream_handle(stream: object) -> int:
    """Return the driver's number of a stream of torch or CuPy; 0 for anything else."""
    for name in ("cuda_stream", "ptr"):
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    return 0


def stream_device(stream: object, otherwise: int | None = None) -> int | None:
    """Return the number of a stream's device."""
    device = getattr(stream, "device_index", None)
    return device if isinstance(device, int) and device >= 0 else otherwise


def torch_memory(device: int | None) -> AllocatorMemory | None:
    """Return what torch's allocator holds; ``None`` unless torch uses a device."""
    cuda = torch_cuda()
    if cuda is None:
        return None
    try:
        return AllocatorMemory(
            int(cuda.memory_allocated(device)),
            int(cuda.memory_reserved(device)),
            int(cuda.max_memory_allocated(device)),
            int(cuda.max_memory_reserved(device)),
        )
    except Exception:  # a device that torch does not have
        return None
