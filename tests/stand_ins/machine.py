"""The stand-in libraries as a program under test uses them.

``cuda`` and ``nvml`` are what the environment names; importing this module
loads them into the process, as a program that uses a device would. ``torch``
is a small module of that name over them: streams, a current stream, an
allocator with statistics. It is put in place by ``install_torch()``.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MS = 1_000_000


def _library(variable: str) -> Any:
    path = os.environ.get(variable)
    return ctypes.CDLL(path) if path else None


cuda = _library("TACHOGRAPH_CUDA_LIBRARY")
nvml = _library("TACHOGRAPH_NVML_LIBRARY")

if cuda is not None:
    cuda.stand_in_make_stream.restype = ctypes.c_void_p
    cuda.stand_in_launch.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    cuda.stand_in_capture.argtypes = [ctypes.c_void_p, ctypes.c_int]
    for name in ("inits", "contexts", "live_events", "waits"):
        getattr(cuda, f"stand_in_{name}").restype = ctypes.c_uint64
if nvml is not None:
    nvml.stand_in_allocate.argtypes = [ctypes.c_int, ctypes.c_longlong]
    nvml.stand_in_readings.restype = ctypes.c_uint64


def wait_for_readings(number: int = 1) -> None:
    """Wait until the sampler has read the devices so often, from beginning to end."""
    # One may be under way now, and the last is done when another begins.
    wanted = nvml.stand_in_readings() + number + 2
    while nvml.stand_in_readings() < wanted:
        time.sleep(0.002)


def launch(milliseconds: float, stream: int | None = None) -> None:
    """Tell a stream to work so long; returns at once."""
    cuda.stand_in_launch(stream, int(milliseconds * MS))


class Stream:
    """A stream of the stand-in driver, with torch's names."""

    device_index = 0

    def __init__(self, handle: int | None = None) -> None:
        self.cuda_stream = cuda.stand_in_make_stream() if handle is None else handle


class Tensor:
    """Memory on the device, as long as it lives."""

    def __init__(self, size: int) -> None:
        self.size_bytes = size
        _allocator.change(size)

    def __del__(self) -> None:
        _allocator.change(-self.size_bytes)


class _Allocator:
    def __init__(self) -> None:
        self.allocated = self.peak = 0

    def change(self, size: int) -> None:
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        if nvml is not None:
            nvml.stand_in_allocate(1, size)  # the library counts devices the other way round


_allocator = _Allocator()
_streams: list[Stream] = []


def install_torch() -> Any:
    """Put a module called ``torch`` in place that uses the stand-in device."""
    torch, module = types.ModuleType("torch"), types.ModuleType("torch.cuda")
    cuda.stand_in_make_context(0)
    _streams.append(Stream(0))

    @contextmanager
    def stream(chosen: Stream) -> Iterator[None]:
        _streams.append(chosen)
        try:
            yield
        finally:
            _streams.pop()

    def randn(*shape: int, device: str = "cpu") -> Tensor:
        size = 4
        for side in shape:
            size *= side
        return Tensor(size)

    def matmul(a: Tensor, b: Tensor) -> Tensor:
        launch(5, _streams[-1].cuda_stream)
        return Tensor(a.size_bytes)

    def reset() -> None:
        _allocator.peak = _allocator.allocated

    members: dict[str, Any] = {
        "is_initialized": lambda: True,
        "is_available": lambda: True,
        "current_stream": lambda device=None: _streams[-1],
        "stream": stream,
        "Stream": Stream,
        "memory_allocated": lambda device=None: _allocator.allocated,
        "memory_reserved": lambda device=None: 2 * _allocator.allocated,
        "max_memory_allocated": lambda device=None: _allocator.peak,
        "max_memory_reserved": lambda device=None: 2 * _allocator.peak,
        "reset_peak_memory_stats": lambda device=None: reset(),
        "mem_get_info": lambda device=None: (6 << 30, 8 << 30),
    }
    for name, member in members.items():
        setattr(module, name, member)
    torch.cuda, torch.randn, torch.matmul = module, randn, matmul  # type: ignore[attr-defined]
    sys.modules["torch"], sys.modules["torch.cuda"] = torch, module
    return torch
