"""Code that calls and returns so fast that a careless reader mixes up its stacks.

Every call site is on a line of its own, marked with the functions it may enter
(`# -> name`). A stack is possible only if each caller's line is marked with the
next frame's function. Right answer: no impossible stack, ever.
"""

from __future__ import annotations

import ast
import re
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

# Since 3.12 a list or dict comprehension has no frame of its own (PEP 709).
INLINED = ("<listcomp>", "<dictcomp>") if sys.version_info >= (3, 12) else ()


def leaf_a(number: int) -> int:
    return number * 3 % 101


def leaf_b(number: int) -> int:
    return number * 5 % 103


def leaf_c(number: int) -> int:
    return number * 7 % 107


def left(number: int) -> int:
    number = leaf_a(number)  # -> leaf_a
    number = leaf_b(number)  # -> leaf_b
    return number


def right(number: int) -> int:
    number = leaf_c(number)  # -> leaf_c
    number = left(number)  # -> left
    return number


def deeper(number: int) -> int:
    number = right(number)  # -> right
    number = left(number)  # -> left
    return number


def deepest(number: int) -> int:
    number = deeper(number)  # -> deeper
    number = leaf_c(number)  # -> leaf_c
    return number


def produced(count: int) -> Iterator[int]:
    for number in range(count):
        number = leaf_a(number)  # -> leaf_a
        yield number


def relayed(count: int) -> Iterator[int]:
    yield from produced(count)  # -> produced
    yield leaf_b(count)  # -> leaf_b


def consume(count: int) -> int:
    total = 0
    for number in relayed(count):  # -> relayed
        total += leaf_c(number)  # -> leaf_c
    return total


def comprehend(count: int) -> int:
    numbers = [leaf_b(number) for number in range(count)]  # -> <listcomp> leaf_b
    table = {number: leaf_a(number) for number in numbers}  # -> <dictcomp> leaf_a
    return sum(leaf_c(number) for number in table)  # -> <genexpr> leaf_c


def down(depth: int) -> int:
    if depth == 0:
        return left(depth)  # -> left
    return down(depth - 1)  # -> down


def fail(number: int) -> int:
    if leaf_a(number) >= 0:  # -> leaf_a
        raise ValueError(number)
    return number


def recover(number: int) -> int:
    try:
        return fail(number)  # -> fail
    except ValueError:
        return leaf_b(number)  # -> leaf_b


class Holder:
    """Reaches Python from C: a key function, a property, a finaliser."""

    def __init__(self, number: int) -> None:
        self.number = leaf_a(number)  # -> leaf_a

    @property
    def value(self) -> int:
        return left(self.number)  # -> left

    def key(self) -> int:
        return leaf_c(self.number)  # -> leaf_c

    def __del__(self) -> None:
        leaf_b(self.number)  # -> leaf_b


def from_c(number: int) -> int:
    holders = [
        Holder(number),  # -> __init__
        Holder(number + 1),  # -> __init__
    ]
    holders.sort(key=Holder.key)  # -> key
    total = holders[0].value  # -> value
    holders = []  # -> __del__
    return total


def torn_round(number: int) -> None:
    deepest(number)  # -> deepest
    consume(6)  # -> consume
    comprehend(5)  # -> comprehend
    down(7)  # -> down
    recover(number)  # -> recover
    from_c(number)  # -> from_c
    right(number)  # -> right


def torn_root(seconds: float) -> int:
    """Run for `seconds` of CPU time; return the rounds done."""
    rounds = 0
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        torn_round(rounds)  # -> torn_round
        rounds += 1
    return rounds


# ---- the checker -----------------------------------------------------------


class Rules:
    """Which stacks of this file are possible, read from its own marks."""

    def __init__(self) -> None:
        self.file = str(Path(__file__))
        self.callees: dict[int, set[str]] = {}
        self.owners: dict[int, set[str]] = {}
        text = Path(__file__).read_text()
        for number, line in enumerate(text.splitlines(), 1):
            mark = re.search(r"# -> (.+)$", line)
            if mark and not line.startswith(" " * 8 + "mark"):
                self.callees[number] = set(mark[1].split())
        marked = set().union(*self.callees.values())
        self.called = {name for name in marked if name.isidentifier() and name[0] != "_"}
        self._learn(ast.parse(text), "<module>")

    def _learn(self, node: ast.AST, owner: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = owner
            if isinstance(child, ast.FunctionDef):
                name = child.name
            last = getattr(child, "end_lineno", None)
            if isinstance(child, ast.FunctionDef) and last is not None:
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                for line in range(first, last + 1):
                    self.owners[line] = {name}
            self._learn(child, name)
            if isinstance(child, ast.ListComp | ast.DictComp | ast.GeneratorExp):
                for line in range(child.lineno, (last or child.lineno) + 1):
                    self.owners.setdefault(line, set()).add(_comprehension(child))

    def why_impossible(self, frames: Sequence[tuple[str, str, int]]) -> str | None:
        """Say what is wrong with a root-first stack of (function, file, line).

        None means that it can have existed. Frames outside this file are
        ignored up to `torn_root`; a stack without one of ours is possible.
        """
        own = [(n.rpartition(".")[2], f == self.file, line) for n, f, line in frames]
        ours = [index for index, (_, here, _) in enumerate(own) if here]
        names = [name for name, here, _ in own if here]
        if "torn_root" not in names:
            inside = [name for name in names if name in self.called]
            return f"{inside} without torn_root" if inside else None
        start = next(i for i in ours if own[i][0] == "torn_root")
        return self._check_from(own[start:])

    def _check_from(self, stack: list[tuple[str, bool, int]]) -> str | None:
        for (name, here, line), (callee, _, _) in pairwise(stack):
            if not here:
                return f"{name} is not of this file but has callers in it"
            if name not in self.owners.get(line, ()):
                return f"line {line} is not in {name}"
            allowed = self.callees.get(line, set()) - set(INLINED)
            if "<listcomp>" in self.callees.get(line, ()) and not INLINED and name != "<listcomp>":
                allowed = {"<listcomp>"}
            if "<dictcomp>" in self.callees.get(line, ()) and not INLINED and name != "<dictcomp>":
                allowed = {"<dictcomp>"}
            if "<genexpr>" in allowed:
                allowed = {"leaf_c"} if name == "<genexpr>" else {"<genexpr>"}
            if callee not in allowed:
                return f"{name}:{line} does not call {callee}"
        name, here, line = stack[-1]
        if not here:
            return f"the innermost frame {name} is not of this file"
        if name not in self.owners.get(line, ()):
            return f"line {line} is not in {name}"
        return None


def _comprehension(node: ast.AST) -> str:
    kinds = {ast.ListComp: "<listcomp>", ast.DictComp: "<dictcomp>"}
    return kinds.get(type(node), "<genexpr>")


if __name__ == "__main__":
    print(torn_root(1.0), "rounds")
