"""Stands still in many kinds of frames and says itself where it stands.

Right answer: what it prints. One line per fact, tab-separated:

    runtime  ADDRESS  HEXVERSION
    thread   NATIVE_ID  NAME  TASK      (TASK is "-" outside of asyncio)
    frame    QUALNAME  FILE  LINE       innermost first, of the thread above
    ready

It then waits until its standard input ends.
"""

import asyncio
import ctypes
import linecache
import sys
import threading

gate = threading.Event()
standing = threading.Semaphore(0)
tasks: dict[int, str] = {}


def stand() -> None:
    standing.release()
    gate.wait()


def recurse(depth: int) -> None:
    if depth == 0:
        return stand()
    return recurse(depth - 1)


def through_c() -> None:
    sorted([1], key=lambda _: max([2], key=lambda _: stand()))


def count_slowly():
    yield 1
    stand()
    yield 2


def through_generators() -> None:
    sum(value for value in count_slowly())


class Built:
    def __init__(self, value: int) -> None:
        self.values = [stand() for _ in range(value)]


def through_init() -> None:
    def build(built: type) -> Built:
        return built(seen)

    seen = 1
    build(Built)


def through_exec() -> None:
    exec(compile("\n\n\nstand()\n", "<made up>", "exec"), {"stand": stand})


async def inner() -> None:
    stand()


async def first_step() -> None:
    say_task()
    await inner()


async def later_step() -> None:
    await asyncio.sleep(0.001)
    say_task()
    await inner()


def say_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    tasks[threading.get_native_id()] = task.get_name() if task in named else "?"


named: set[object] = set()


async def start(coroutine, name: str | None) -> None:
    task = asyncio.get_running_loop().create_task(coroutine, name=name)
    if name is not None:
        named.add(task)
    await task


def named_task() -> None:
    asyncio.run(start(first_step(), "crawl /über"))


def numbered_task() -> None:
    asyncio.run(start(first_step(), None))


def woken_task() -> None:
    asyncio.run(start(later_step(), "crawl €"))


class Own(threading.Thread):
    def run(self) -> None:
        self.extra = vars(self)
        stand()


def threads() -> list[threading.Thread]:
    return [
        threading.Thread(target=stand, name="plain"),
        threading.Thread(target=recurse, args=(300,), name="deep"),
        threading.Thread(target=through_c, name="größer"),
        threading.Thread(target=through_generators, name="Straße €"),
        threading.Thread(target=through_init, name="\N{GRINNING FACE} smile"),
        threading.Thread(target=through_exec, name="n" * 200),
        threading.Thread(target=named_task, name="named task"),
        threading.Thread(target=numbered_task, name="numbered task"),
        threading.Thread(target=woken_task, name="woken task"),
        Own(name="subclass with a dict"),
    ]


def is_waiting(thread: threading.Thread) -> bool:
    frame = sys._current_frames()[thread.ident]
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return "waiter.acquire()" in line


def say(*facts: object) -> None:
    print(*facts, sep="\t")


def say_all(started: list[threading.Thread]) -> None:
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    say("runtime", runtime, sys.hexversion)
    frames = sys._current_frames()
    for thread in started:
        assert thread.ident is not None and thread.native_id is not None
        say("thread", thread.native_id, thread.name, tasks.get(thread.native_id, "-"))
        frame = frames[thread.ident]
        while frame is not None:
            code = frame.f_code
            say("frame", code.co_qualname, code.co_filename, frame.f_lineno)
            frame = frame.f_back
    say("ready")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    started = threads()
    for thread in started:
        thread.start()
    for _ in started:
        standing.acquire()
    while not all(is_waiting(thread) for thread in started):
        pass
    say_all(started)
    sys.stdin.read()
    gate.set()
