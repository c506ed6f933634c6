"""Opens and closes line tables while threads run the functions they watch.

Results must stay right, tables must add up, and in the end every function must
be as it was.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import threading
import time
from collections.abc import Iterator

import tachograph
from tachograph._doors.lines import own_lines


def add(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


def descend(n: int) -> int:
    if n == 0:
        return 0
    return 1 + descend(n - 1)


def numbers(n: int) -> Iterator[int]:
    for i in range(n):
        try:
            yield i
        except KeyError:
            return


def fails(n: int) -> int:
    try:
        return [][n]  # type: ignore[no-any-return]
    except IndexError:
        raise ValueError(n) from None


async def naps(n: int) -> int:
    for _ in range(n):
        await asyncio.sleep(0)
    return n


WATCHED = [add, descend, numbers, fails, naps]


def work(stop: threading.Event, wrong: list[str]) -> None:
    while not stop.is_set():
        n = random.randrange(1, 30)
        generator = numbers(n)
        next(generator)
        if random.random() < 0.3:
            generator.close()  # type: ignore[attr-defined]
        try:
            fails(n)
            wrong.append("fails did not fail")
        except ValueError as error:
            if error.args != (n,):
                wrong.append(f"fails raised {error!r}")
        found = (add(n), descend(n), list(numbers(n)), asyncio.run(naps(n)))
        if found != (n * (n - 1) // 2, n, list(range(n)), n):
            wrong.append(f"{n} gave {found}")


def check(table: tachograph.LineTable, wrong: list[str]) -> None:
    for row in table.rows:
        if row.time < 0 or row.hits < 0 or not 0 <= row.time_percent <= 100.001:
            wrong.append(f"impossible: {row}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    seconds = parser.parse_args().seconds
    before = [function.__code__ for function in WATCHED]
    stop, wrong = threading.Event(), list[str]()
    threads = [threading.Thread(target=work, args=(stop, wrong)) for _ in range(4)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + seconds
    tables = 0
    while time.monotonic() < until and not wrong:
        with tachograph.lines(*random.sample(WATCHED, 3)) as outer:
            with tachograph.lines(random.choice(WATCHED)) as inner:
                time.sleep(random.random() * 0.005)
            if sys.version_info >= (3, 12) and random.random() < 0.2:
                own = own_lines()
                own.start()
                add(3)
                check(own.stop(), wrong)
        check(outer, wrong)
        check(inner, wrong)
        str(outer)
        tables += 2
    stop.set()
    for thread in threads:
        thread.join()
    if [function.__code__ for function in WATCHED] != before:
        wrong.append("a function was left changed")
    monitoring = getattr(sys, "monitoring", None)
    if monitoring and any(monitoring.get_tool(place) for place in (2, 3, 4)):
        wrong.append("a place in sys.monitoring was not given back")
    print(f"{tables} tables; {len(wrong)} mistakes", *wrong[:5], sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
