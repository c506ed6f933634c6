"""Threads that block in different ways, each on a marked line.

Right answer: in wall mode every one of them is seen on its blocking line
nearly all of the time; in CPU mode not at all.
"""

from __future__ import annotations

import queue
import re
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path


def in_sleep(stop: threading.Event) -> None:
    while not stop.is_set():
        time.sleep(0.2)  # line: in_sleep


def in_lock(lock: threading.Lock) -> None:
    lock.acquire()  # line: in_lock
    lock.release()


def in_queue(jobs: queue.SimpleQueue[int]) -> None:
    jobs.get()  # line: in_queue


def in_socket(one: socket.socket) -> None:
    one.recv(1)  # line: in_socket


def in_join(other: threading.Thread) -> None:
    other.join()


def marked_lines() -> dict[str, int]:
    """Return the blocking line of each function."""
    lines = enumerate(Path(__file__).read_text().splitlines(), 1)
    marks = ((number, re.search(r"# line: (\w+)$", text)) for number, text in lines)
    return {mark[1]: number for number, mark in marks if mark}


def is_blocked(thread: threading.Thread, line: int) -> bool:
    """Tell whether `thread` sleeps in the kernel, on `line`."""
    frame = sys._current_frames().get(thread.ident or 0)
    stat = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    return frame is not None and frame.f_lineno == line and stat.rpartition(") ")[2][0] == "S"


class Blocked:
    """Blocks four threads on entry and lets them go on exit."""

    def __enter__(self) -> Blocked:
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.lock.acquire()
        self.jobs: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.ours, theirs = socket.socketpair()
        self.theirs = theirs
        parts: dict[str, tuple[Callable[..., None], object]] = {
            "in_sleep": (in_sleep, self.stop),
            "in_lock": (in_lock, self.lock),
            "in_queue": (in_queue, self.jobs),
            "in_socket": (in_socket, theirs),
        }
        self.threads = [
            threading.Thread(target=work, args=(argument,), name=name)
            for name, (work, argument) in parts.items()
        ]
        for thread in self.threads:
            thread.start()
        lines = marked_lines()
        while not all(is_blocked(thread, lines[thread.name]) for thread in self.threads):
            time.sleep(0.001)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.lock.release()
        self.jobs.put(1)
        self.ours.send(b"x")
        for thread in self.threads:
            thread.join()
        self.ours.close()
        self.theirs.close()
