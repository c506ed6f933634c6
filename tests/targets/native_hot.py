"""Hot spots in C, most of them with the GIL released.

Right answer: the samples of each part stand in its Python function, on the
marked line; with native frames on, a function of the named library stands
below it. The clock is read every few milliseconds only: reading it makes the
kernel see that the thread has had its turn, so on a crowded machine that is
where the thread loses its processor, and where a look then finds it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
import zlib
from collections.abc import Callable

DATA = os.urandom(1 << 16) * 8


def compress(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        zlib.compress(DATA, 6)  # line: compress


def digest(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(20):
            hashlib.sha256(DATA).digest()  # line: digest


def stat(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(20_000):
            os.stat("/")  # line: stat


def query(seconds: float) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("create table numbers (a integer, b integer)")
    database.executemany("insert into numbers values (?, ?)", ((i, i * 7) for i in range(2_000)))
    text = "select count(*) from numbers x, numbers y where x.b % 97 = y.a % 89"
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        database.execute(text).fetchone()  # line: query
    database.close()


def sort(seconds: float) -> None:
    numbers = [number * 7919 % 100_003 for number in range(100_000)]
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sorted(numbers)  # line: sort


def multiply(seconds: float) -> None:
    import numpy

    matrix = numpy.ones((192, 192))
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(20):
            matrix @ matrix  # line: multiply


PARTS: dict[str, Callable[[float], None]] = {
    "compress": compress,
    "digest": digest,
    "stat": stat,
    "query": query,
    "sort": sort,
    "multiply": multiply,
}

# A word in the name of the library that does the work, where it is a library.
LIBRARIES = {"compress": "libz", "digest": "libcrypto", "query": "libsqlite3"}
