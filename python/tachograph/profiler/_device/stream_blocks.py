"""Sees which streams a program gives work to: its ``torch.cuda.stream`` blocks.

While somebody watches, the two methods that enter and leave such a block tell
about it, and then do what they always do.
"""

from __future__ import annotations

import sys
from functools import wraps
from threading import Lock
from typing import Any, Protocol

__all__ = ["StreamWatcher", "unwatch", "watch"]


class StreamWatcher(Protocol):
    """Who wants to know."""

    def _entered(self, stream: object, block: object) -> None: ...
    def _left(self, block: object) -> None: ...


_watchers: list[StreamWatcher] = []
_lock = Lock()
_undo: list[tuple[object, str, object]] = []


def watch(watcher: StreamWatcher) -> None:
    """Tell ``watcher`` of every block from now on, if torch is imported."""
    with _lock:
        _watchers.append(watcher)
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        if cuda is None or _undo:
            return
        blocks = getattr(cuda, "StreamContext", None)
        if isinstance(blocks, type):
            _replace(blocks, "__enter__", _entering(blocks.__enter__))  # type: ignore[attr-defined]
            _replace(blocks, "__exit__", _leaving(blocks.__exit__))  # type: ignore[attr-defined]
        elif hasattr(cuda, "stream"):
            _replace(cuda, "stream", _wrapped(cuda.stream))


def unwatch(watcher: StreamWatcher) -> None:
    """Tell it nothing more; the last one puts everything back."""
    with _lock:
        if watcher in _watchers:
            _watchers.remove(watcher)
        while not _watchers and _undo:
            setattr(*_undo.pop())


def _replace(owner: object, name: str, by: object) -> None:
    _undo.append((owner, name, getattr(owner, name)))
    setattr(owner, name, by)


def _entering(enter: Any) -> Any:
    @wraps(enter)
    def wrapper(block: Any) -> Any:
        entered = enter(block)
        _tell_entered(getattr(block, "stream", None), block)
        return entered

    return wrapper


def _leaving(leave: Any) -> Any:
    @wraps(leave)
    def wrapper(block: Any, *error: Any) -> Any:
        _tell_left(block)
        return leave(block, *error)

    return wrapper


def _wrapped(make: Any) -> Any:
    @wraps(make)
    def stream(chosen: Any, *rest: Any, **more: Any) -> _Around:
        return _Around(make(chosen, *rest, **more), chosen)

    return stream


class _Around:
    """A block of a torch that has no class for it."""

    def __init__(self, block: Any, stream: object) -> None:
        self._block = block
        self._stream = stream

    def __enter__(self) -> Any:
        entered = self._block.__enter__()
        _tell_entered(self._stream, self)
        return entered

    def __exit__(self, *error: Any) -> Any:
        _tell_left(self)
        return self._block.__exit__(*error)


def _tell_entered(stream: object, block: object) -> None:
    for watcher in tuple(_watchers):
        watcher._entered(stream, block)


def _tell_left(block: object) -> None:
    for watcher in tuple(_watchers):
        watcher._left(block)
