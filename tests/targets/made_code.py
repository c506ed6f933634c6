"""Code made by `exec`: named functions in files that do not exist, made and dropped.

Right answer: samples name the made function, the made file name and the line
inside the made text. Dropped code must never lend its name to code made later
at the same address.
"""

from __future__ import annotations

import gc

TEXT = """\
def {name}(rounds):
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total
"""

# The loop is on the third and fourth line of the text.
HOT_LINES = (3, 4)


def make(name: str, shift: int = 0):
    """Return a function `name` from a file `<made name>`, `shift` lines down."""
    place: dict[str, object] = {}
    text = "\n" * shift + TEXT.format(name=name)
    exec(compile(text, f"<made {name}>", "exec"), place)
    return place[name]


def churn(count: int, rounds: int) -> None:
    """Make, run and drop `count` functions, each `number` lines down its file."""
    for number in range(count):
        make(f"made_{number}", shift=number % 50)(rounds)
        if number % 20 == 0:
            gc.collect()
