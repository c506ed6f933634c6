"""Prints where asyncio keeps a task's name and a handle's callback.

Run by generate.py under each interpreter. The structs are private to
`_asyncio`, no header shows them, so this looks for a known pointer in the
memory of a real object. It must find exactly one.
"""

from __future__ import annotations

import asyncio
import ctypes


def offset_of(wanted: object, holder: object) -> int:
    """Return where in `holder` the pointer to `wanted` lies, in bytes."""
    size = type(holder).__basicsize__
    words = (ctypes.c_uint64 * (size // 8)).from_address(id(holder))
    first = 2  # the reference count and the type come before any field
    found = [at * 8 for at, word in enumerate(words) if at >= first and word == id(wanted)]
    if len(found) != 1:
        raise SystemExit(f"{type(wanted)} occurs {len(found)} times in {type(holder)}, expected 1")
    return found[0]


async def waits(awaited: asyncio.Future[None]) -> None:
    """Wait for `awaited`."""
    await awaited


async def main() -> None:
    """Make a task that has not started and look at it and at its handle."""
    loop = asyncio.get_running_loop()
    name = "tachograph layout probe"
    handles = []
    schedule = loop.call_soon
    loop.call_soon = lambda *a, **k: handles.append(schedule(*a, **k)) or handles[-1]  # type: ignore[method-assign]
    task = loop.create_task(asyncio.sleep(0), name=name)
    loop.call_soon = schedule  # type: ignore[method-assign]
    (handle,) = handles
    callback = handle._callback
    print("task_name", offset_of(name, task))
    print("handle_callback", offset_of(callback, handle))
    print("step_task", offset_of(task, callback))
    await task
    awaited = loop.create_future()
    coroutine = waits(awaited)
    waiting = loop.create_task(coroutine)
    await asyncio.sleep(0)
    print("task_coroutine", offset_of(coroutine, waiting))
    print("task_awaits", offset_of(awaited, waiting))
    awaited.set_result(None)
    await waiting


asyncio.run(main())
