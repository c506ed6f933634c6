"""Calls inserted into the code of 3.11 tell what the interpreter's own tracing tells."""

from __future__ import annotations

import argparse
import ast
import asyncio
import calendar
import copy
import difflib
import email.feedparser
import email.message
import html.parser
import inspect
import json.decoder
import json.encoder
import json.scanner
import pprint
import sys
import textwrap
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
import tachograph

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="newer interpreters tell of lines themselves"
)

SOURCE = inspect.getsource(textwrap)


def functions_of(*modules: ModuleType) -> list[FunctionType]:
    """List the plain functions and methods of modules."""
    found = []
    for module in modules:
        for value in vars(module).values():
            members = vars(value).values() if isinstance(value, type) else [value]
            for member in members:
                function = getattr(member, "__func__", member)
                own = getattr(function, "__module__", None) == module.__name__
                if (
                    isinstance(function, FunctionType)
                    and own
                    and "__wrapped__" not in vars(function)
                ):
                    found.append(function)
    return found


def inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from inner(constant)


def traced(functions: list[FunctionType], work: Callable[[], object]) -> Counter[Any]:
    """Count lines by the interpreter's own tracing."""
    watched = {code for function in functions for code in inner(function.__code__)}
    counts: Counter[Any] = Counter()

    def on_event(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            counts[frame.f_code.co_filename, frame.f_code.co_qualname, frame.f_lineno] += 1
        return on_event

    sys.settrace(lambda frame, *_: on_event if frame.f_code in watched else None)
    try:
        work()
    finally:
        sys.settrace(None)
    return counts


def counted(functions: list[FunctionType], work: Callable[[], object]) -> Counter[Any]:
    """Count lines by inserted calls."""
    counts: Counter[Any] = Counter()
    with tachograph.lines(*functions) as table:
        work()
    for row in table.rows:
        if row.hits:
            counts[row.file, row.function, row.line_number] += row.hits
    return counts


def parse_html() -> None:
    parser = html.parser.HTMLParser()
    parser.feed("<a href='x'>b<br/>&amp;<!-- c --></a>")
    parser.close()


def parse_arguments() -> str:
    parser = argparse.ArgumentParser(prog="x")
    parser.add_argument("a", nargs="+")
    parser.add_argument("--b", type=int, default=3, help="say %(default)s")
    parser.parse_args(["1", "2", "--b", "4"])
    return parser.format_help()


PROGRAMS: dict[str, tuple[list[ModuleType], Callable[[], object]]] = {
    "argparse": ([argparse], parse_arguments),
    "ast": ([ast], lambda: ast.unparse(ast.parse(SOURCE))),
    "calendar": ([calendar], lambda: calendar.TextCalendar().formatyear(2024)),
    "copy": ([copy], lambda: copy.deepcopy({"a": [1, 2, {3}]})),
    "difflib": ([difflib], lambda: list(difflib.unified_diff("abcdefg" * 3, "abxdefgh" * 3))),
    "email": (
        [email.feedparser, email.message],
        lambda: email.message_from_string("From: a\nSubject: b\n\nhello\n").as_string(),
    ),
    "html": ([html.parser], parse_html),
    "json": (
        [json.decoder, json.encoder, json.scanner],
        lambda: json.loads(json.dumps({"a": [1, {"b": None}], "c": "x\n"}, indent=2)),
    ),
    "pprint": ([pprint], lambda: pprint.pformat({"a": list(range(40)), "b": ("x" * 30,) * 5})),
    "textwrap": ([textwrap], lambda: textwrap.wrap("hello wonderful world of lines " * 20, 30)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_inserted_calls_count_what_tracing_counts(name: str) -> None:
    modules, work = PROGRAMS[name]
    functions = functions_of(*modules)
    before = [function.__code__ for function in functions]
    result = work()

    expected = traced(functions, work)
    found = counted(functions, work)

    assert sum(expected.values()) > 50
    assert found == expected
    assert [function.__code__ for function in functions] == before
    assert work() == result


def corner_cases(n: int) -> list[object]:
    found: list[object] = []
    for i in range(n): found.append(i)  # fmt: skip # noqa: E701
    while n: n -= 1  # fmt: skip # noqa: E701
    text = (
        found
        or [1]
    )  # fmt: skip
    for i in range(3):
        if i == 1:
            continue
        try:
            with open("/nonexistent") as file:
                found.append(file)
        except OSError as error:
            found.append(error.errno)
        finally:
            found.append("finally")
    squares = [
        i * i
        for i in range(4)
        if i % 2
    ]  # fmt: skip
    match found:
        case []:
            found.append("none")
        case [first, *_]:
            found.append(first)
    return [*found, *squares, *text, (lambda x: x + 1)(3)]


def test_corner_cases_of_the_language_are_counted_alike() -> None:
    functions = [corner_cases]
    result = corner_cases(4)

    assert counted(functions, lambda: corner_cases(4)) == traced(functions, lambda: corner_cases(4))
    with tachograph.lines(corner_cases):
        assert corner_cases(4) == result


def many_lines() -> FunctionType:
    """Make a function whose jumps and constants need long arguments."""
    body = "\n".join(f"        total += {1000 + i} if total % 7 else x" for i in range(400))
    source = (
        f"def large(x):\n    total = 0\n    while x:\n{body}\n        x -= 1\n    return total\n"
    )
    space: dict[str, Any] = {}
    exec(compile(source, "<large>", "exec"), space)
    function: FunctionType = space["large"]
    return function


def test_long_jumps_still_arrive() -> None:
    large = many_lines()
    result = large(5)

    assert counted([large], lambda: large(5)) == traced([large], lambda: large(5))
    with tachograph.lines(large):
        assert large(5) == result


def raises(x: int) -> float:
    try:
        return 1 / x
    finally:
        x += 1


def test_a_traceback_points_at_the_same_columns() -> None:
    def told() -> list[str]:
        try:
            raises(0)
        except ZeroDivisionError as error:
            return traceback.format_exception(error)[2:]
        return []

    before = told()
    with tachograph.lines(raises):
        assert told() == before


async def delegating(log: list[str]) -> str:
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        log.append("cancelled")
        await asyncio.sleep(0)
        return "cleaned up"
    return "slept"


def test_a_coroutine_can_be_cancelled_while_its_lines_are_counted() -> None:
    async def main() -> tuple[str, list[str]]:
        log: list[str] = []
        task = asyncio.create_task(delegating(log))
        await asyncio.sleep(0)
        task.cancel()
        return await task, log

    expected = asyncio.run(main())
    with tachograph.lines(delegating) as table:
        begin = time.perf_counter()
        assert asyncio.run(main()) == expected
        took = time.perf_counter() - begin

    # Nobody waited for the ten seconds. Two clocks may differ by a millisecond.
    assert sum(row.time for row in table.rows) <= took + 0.001
    assert [row.hits for row in table.rows] == [1, 1, 1, 1, 1, 1]


class Swallows:
    """An iterator that ends when an exception is thrown into it."""

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        return 1

    def throw(self, *_: object) -> int:
        raise StopIteration(42)


def from_iterator() -> Iterator[int]:
    answer = yield from Swallows()  # type: ignore[func-returns-value]
    yield answer  # type: ignore[misc]


def test_an_exception_swallowed_by_what_is_delegated_to_goes_on_behind_it() -> None:
    with tachograph.lines(from_iterator):
        generator = from_iterator()
        assert next(generator) == 1
        assert generator.throw(KeyError) == 42  # type: ignore[attr-defined]
        with pytest.raises(StopIteration):
            next(generator)
