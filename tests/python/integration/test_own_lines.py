"""Exact lines of the program's own code, whatever of it runs."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tachograph._doors.lines import own_lines

if TYPE_CHECKING:
    from collections.abc import Callable

needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")


def load(n: int) -> list[int]:
    rows = json.loads(json.dumps(list(range(n)), indent=1))
    return [row for row in rows if row % 2]


def test_own_code_is_counted_and_libraries_are_not() -> None:
    watch = own_lines()
    watch.start()
    load(10)
    load(10)
    table = watch.stop()

    rows = {(row.function, row.line_number): row for row in table.rows}
    first = load.__code__.co_firstlineno
    assert rows["load", first + 1].hits == 2
    assert {row.file for row in table.rows} == {__file__}


def test_the_function_around_the_window_is_counted_too() -> None:
    watch = own_lines()
    watch.start()
    time.sleep(0.05)  # never less
    table = watch.stop()

    name = "test_the_function_around_the_window_is_counted_too"
    own = [row for row in table.rows if row.function == name]
    assert max(row.time for row in own) >= 0.049


def test_windows_may_overlap() -> None:
    one, two = own_lines(), own_lines()
    one.start()
    load(1)
    two.start()
    load(1)
    first = one.stop()
    load(1)
    second = two.stop()

    for table in (first, second):
        assert {row.hits for row in table.rows if row.function == "load"} == {2}


def test_other_threads_are_counted() -> None:
    watch = own_lines()
    watch.start()
    thread = threading.Thread(target=load, args=(3,))
    thread.start()
    thread.join()
    table = watch.stop()

    assert {row.hits for row in table.rows if row.function == "load"} == {1}


def test_functions_that_start_on_many_threads_at_once_are_all_counted() -> None:
    names = [[f"f_{thread}_{i}" for i in range(100)] for thread in range(8)]
    program = "".join(f"def {name}(): return 1\n" for group in names for name in group)
    functions: dict[str, Callable[[], int]] = {}
    exec(compile(program, __file__, "exec"), functions)
    together = threading.Barrier(len(names))

    def call(group: list[str]) -> None:
        together.wait()
        for name in group:
            functions[name]()

    watch = own_lines()
    watch.start()
    threads = [threading.Thread(target=call, args=(group,)) for group in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table = watch.stop()

    hits = {row.function: row.hits for row in table.rows if row.function.startswith("f_")}
    assert hits == {name: 1 for group in names for name in group}


@needs_monitoring
def test_nothing_is_left_behind() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    watch = own_lines()
    watch.start()
    load(1)
    watch.stop()

    assert [monitoring.get_tool(place) for place in (2, 3, 4)] == [None] * 3


@needs_monitoring
def test_a_place_that_is_taken_is_a_warning_and_an_empty_table() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    for place in (2, 3, 4):
        monitoring.use_tool_id(place, f"tool{place}")
    try:
        watch = own_lines()
        with pytest.warns(RuntimeWarning, match="is taken"):
            watch.start()
        load(1)
        assert watch.stop().rows == []
    finally:
        for place in (2, 3, 4):
            monitoring.free_tool_id(place)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer interpreters are not traced")
def test_before_3_12_own_code_is_traced_and_the_table_says_so() -> None:
    watch = own_lines()
    watch.start()
    load(1)
    table = watch.stop()

    assert table.source == "trace hook"
    assert sys.gettrace() is None
    assert threading.gettrace() is None
    sys.settrace(lambda *_: None)
    try:
        with pytest.warns(RuntimeWarning, match="is traced with already"):
            watch.start()
    finally:
        sys.settrace(None)
    assert watch.stop().rows == []
