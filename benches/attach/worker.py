"""Works at a given stack depth in a given number of threads and counts what it did.

`worker.py DEPTH THREADS FILE`: every thread adds to its own number in FILE, which the
bench maps too; so the work of any stretch of time can be read without a word to us.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading


def unit() -> int:
    total = 0
    for number in range(300):
        total += number * number % 7
    return total


def work(numbers: mmap.mmap, slot: int) -> None:
    done = 0
    while True:
        unit()
        done += 1
        struct.pack_into("<Q", numbers, slot * 8, done)


def deeper(left: int, numbers: mmap.mmap, slot: int) -> None:
    if left > 1:
        deeper(left - 1, numbers, slot)
    else:
        work(numbers, slot)


def main() -> None:
    depth, threads = int(sys.argv[1]), int(sys.argv[2])
    with open(sys.argv[3], "r+b") as file:
        numbers = mmap.mmap(file.fileno(), 8 * threads)
    for slot in range(1, threads):
        thread = threading.Thread(target=deeper, args=(depth, numbers, slot), daemon=True)
        thread.start()
    print(os.getpid(), flush=True)
    # main, deeper and work are frames too.
    deeper(max(1, depth - 3), numbers, 0)


if __name__ == "__main__":
    main()
