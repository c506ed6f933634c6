"""Calls, yields, raises and recurses without rest, until its input ends.

Right answer: a line that calls says whom in a `# ->` comment, and every call
has a line of its own. On a stack that can exist, the line of a frame names the
function of the frame inside of it.
"""

import ctypes
import sys
import threading


def leaf(n):
    return n + 1


def cell(n):
    def inner():
        return n

    return inner()  # -> cell.<locals>.inner


def ladder(n):
    if n == 0:
        return leaf(n)  # -> leaf
    return ladder(n - 1)  # -> ladder


def numbers(n):
    for i in range(n):
        yield leaf(i)  # -> leaf


def doubled(n):
    yield from numbers(n)  # -> numbers


def consume(n):
    total = 0
    for value in doubled(n):  # -> doubled
        total += value
    return total


def key(n):
    return -n


def sort(n):
    return sorted(range(n), key=key)  # -> key


class Point:
    def __init__(self, n):
        self.n = cell(n)  # -> cell

    def __add__(self, other):
        return leaf(self.n)  # -> leaf


def points(n):
    one = Point(n)  # -> Point.__init__
    return one + one  # -> Point.__add__


def throw(n):
    raise ValueError(n)


def catch(n):
    try:
        throw(n)  # -> throw
    except ValueError:
        return leaf(n)  # -> leaf


async def coroutine(n):
    return leaf(n)  # -> leaf


async def chain(n):
    return await coroutine(n)  # -> coroutine


def drive(n):
    try:
        chain(n).send(None)  # -> chain
    except StopIteration as done:
        return done.value


def mapped(n):
    return list(map(leaf, range(n)))  # -> leaf


def main():
    while running:
        ladder(12)  # -> ladder
        consume(6)  # -> consume
        sort(6)  # -> sort
        points(3)  # -> points
        catch(1)  # -> catch
        drive(1)  # -> drive
        mapped(6)  # -> mapped


def wait_for_end():
    global running
    sys.stdin.read()
    running = False


if __name__ == "__main__":
    running = True
    threading.Thread(target=wait_for_end, daemon=True).start()
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    print("runtime", runtime, sys.hexversion, sep="\t")
    print("thread", threading.get_native_id(), "MainThread", "-", sep="\t")
    print("ready", flush=True)
    main()  # -> main
