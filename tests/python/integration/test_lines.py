"""Exact lines: every hit, and the time that really passed."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace

import line_costs
import pytest
import tachograph
from tachograph import LineTable
from tachograph.decorators import time_it

# Times are compared by what contains what, so a busy machine cannot make a test
# fail. Only two clocks are allowed to differ, by this many seconds.
CLOCKS = 0.001

NAPS: list[float] = []


def nap(seconds: float) -> None:
    """Sleep, and note how long that really took."""
    begin = time.perf_counter()
    time.sleep(seconds)
    NAPS.append(time.perf_counter() - begin)


@pytest.fixture(autouse=True)
def no_naps() -> None:
    NAPS.clear()


def hits(table: LineTable, function: object) -> list[int]:
    """Return the hits of the lines that ran, first line after `def` first."""
    name = function.__qualname__  # type: ignore[attr-defined]
    return [row.hits for row in table.rows if row.function == name]


def times(table: LineTable, function: object) -> dict[int, float]:
    """Return seconds by line, counted from the `def` line."""
    code = inspect.unwrap(function).__code__  # type: ignore[arg-type]
    first = code.co_firstlineno
    return {
        row.line_number - first: row.time for row in table.rows if row.function == code.co_qualname
    }


def counting(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 2:
            total += i
        else:
            total -= 1
    return total


def test_every_line_is_counted_exactly() -> None:
    with tachograph.lines(counting) as table:
        result = counting(100)
        counting(0)

    assert result == 50 * 50 - 50
    assert hits(table, counting) == [2, 102, 100, 50, 50, 2]
    assert table.rows[0].function == "counting"
    assert table.rows[0].file == __file__
    assert table.rows[0].line_number == counting.__code__.co_firstlineno + 1


def test_nothing_is_counted_outside_of_the_block() -> None:
    code = counting.__code__
    counting(5)
    with tachograph.lines(counting) as table:
        pass
    counting(5)

    assert table.rows == []
    assert counting.__code__ is code
    assert "no line ran" in str(table)


def naps(quick: float, slow: float) -> None:
    nap(quick)
    nap(slow)


def test_a_line_takes_the_time_that_passed_and_all_lines_the_time_of_the_call() -> None:
    with tachograph.lines(naps) as table:
        begin = time.perf_counter()
        naps(0.05, 0.2)
        took = time.perf_counter() - begin

    seconds = times(table, naps)
    quick, slow = NAPS
    assert quick - CLOCKS <= seconds[1] <= took - slow + CLOCKS
    assert slow - CLOCKS <= seconds[2] <= took - quick + CLOCKS
    assert sum(seconds.values()) <= took + CLOCKS
    shares = [row.time_percent for row in table.rows]
    assert sum(shares) == pytest.approx(100)


def descend(depth: int) -> None:
    if depth:
        descend(depth - 1)
    nap(0.02)


def test_time_of_a_recursion_counts_once() -> None:
    with tachograph.lines(descend) as table:
        begin = time.perf_counter()
        descend(9)
        took = time.perf_counter() - begin

    seconds = times(table, descend)
    assert hits(table, descend) == [10, 9, 10]
    assert sum(NAPS) - CLOCKS <= seconds[3]
    assert sum(seconds.values()) <= took + CLOCKS
    assert seconds[2] <= took - sum(NAPS) + CLOCKS


def values(n: int) -> Iterator[int]:
    for i in range(n):
        yield i + 0
    nap(0.05)


def test_a_suspended_generator_has_no_running_line() -> None:
    with tachograph.lines(values) as table:
        begin = time.perf_counter()
        for _ in values(4):
            nap(0.05)
        took = time.perf_counter() - begin

    seconds = times(table, values)
    *suspended, inside = NAPS
    assert hits(table, values) == [5, 4, 1]
    assert inside - CLOCKS <= seconds[3]
    assert sum(seconds.values()) <= took - sum(suspended) + CLOCKS


def walk(depth: int) -> Iterator[int]:
    yield depth
    if depth:
        yield from walk(depth - 1)


def test_generators_inside_of_each_other_keep_their_lines() -> None:
    with tachograph.lines(walk) as table:
        assert list(walk(3)) == [3, 2, 1, 0]

    assert hits(table, walk) == [4, 4, 3]


def patient() -> Iterator[str]:
    while True:
        try:
            yield "waiting"
        except KeyError:
            nap(0.05)


def test_an_exception_thrown_into_a_generator_goes_on_in_it() -> None:
    with tachograph.lines(patient) as table:
        begin = time.perf_counter()
        generator = patient()
        next(generator)
        nap(0.1)
        generator.throw(KeyError)  # type: ignore[attr-defined]
        generator.close()  # type: ignore[attr-defined]
        took = time.perf_counter() - begin

    seconds = times(table, patient)
    suspended, inside = NAPS
    assert inside - CLOCKS <= seconds[5]
    assert sum(seconds.values()) <= took - suspended + CLOCKS


async def fetch(seconds: float) -> int:
    await asyncio.sleep(seconds)
    nap(0.05)
    return 1


async def gather(n: int) -> int:
    return sum(await asyncio.gather(*(fetch(0.1) for _ in range(n))))


def test_a_suspended_coroutine_has_no_running_line() -> None:
    with tachograph.lines(fetch) as table:
        begin = time.perf_counter()
        assert asyncio.run(gather(3)) == 3
        took = time.perf_counter() - begin

    seconds = times(table, fetch)
    assert hits(table, fetch) == [3, 3, 3]
    assert sum(NAPS) - CLOCKS <= seconds[2]
    # One thread: what ran is less than what passed. Three waits of 0.1 s would not fit.
    assert sum(seconds.values()) <= took + CLOCKS


async def numbers(n: int) -> AsyncIterator[int]:
    for i in range(n):
        await asyncio.sleep(0)
        yield i + 0


def test_asynchronous_generators_are_counted() -> None:
    async def consume() -> list[int]:
        return [i async for i in numbers(3)]

    with tachograph.lines(numbers) as table:
        assert asyncio.run(consume()) == [0, 1, 2]

    assert hits(table, numbers) == [4, 3, 3]


def test_threads_have_clocks_of_their_own() -> None:
    with tachograph.lines(naps) as table:
        begin = time.perf_counter()
        threads = [threading.Thread(target=naps, args=(0.05, 0.1)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    took = time.perf_counter() - begin
    seconds = times(table, naps)
    assert hits(table, naps) == [4, 4]
    assert seconds[1] >= 4 * 0.05 - CLOCKS
    assert seconds[2] >= 4 * 0.1 - CLOCKS
    assert sum(NAPS) - CLOCKS <= sum(seconds.values()) <= 4 * took + CLOCKS


def failing(depth: int) -> None:
    if depth:
        failing(depth - 1)
    nap(0.01)
    raise ValueError(depth)


def test_an_exception_ends_a_line_where_it_leaves_the_function() -> None:
    with tachograph.lines(failing) as table:
        begin = time.perf_counter()
        for _ in range(3):
            with pytest.raises(ValueError, match="0"):
                failing(4)
            nap(0.1)
        took = time.perf_counter() - begin

    seconds = times(table, failing)
    outside = sum(NAPS[1::2])
    assert hits(table, failing) == [15, 12, 3, 3]
    assert sum(NAPS[::2]) - CLOCKS <= seconds[3]
    assert sum(seconds.values()) <= took - outside + CLOCKS


def test_a_traceback_still_has_the_lines_of_the_source() -> None:
    with tachograph.lines(failing), pytest.raises(ValueError, match="0") as caught:
        failing(1)

    first = failing.__code__.co_firstlineno
    assert [entry.lineno - first for entry in caught.traceback[1:]] == [1, 3]  # 0-based


def caught_inside() -> int:
    try:
        int("x")
    except ValueError:
        return 1
    finally:
        time.sleep(0)
    return 0


def test_handlers_are_lines_like_any_other() -> None:
    with tachograph.lines(caught_inside) as table:
        assert caught_inside() == 1

    assert {line: row.hits for line, row in zip(times(table, caught_inside), table, strict=True)}[
        4
    ] == 1


def outer(n: int) -> int:
    def inner(x: int) -> int:
        return x + 1

    return sum(
        inner(i)
        for i in range(n)  # a generator of its own
    )


def test_inner_functions_have_rows_of_their_own() -> None:
    with tachograph.lines(outer) as table:
        assert outer(5) == 15

    named = {row.function: row.hits for row in table.rows if row.function.endswith("inner")}
    assert named == {"outer.<locals>.inner": 5}


def helper(n: int) -> int:
    return n * 2


def calls_helper(n: int) -> int:
    return sum(helper(i) for i in range(n))


def test_several_functions_and_tables_inside_of_each_other_count_their_own() -> None:
    with tachograph.lines(calls_helper, helper) as both:
        calls_helper(10)
        with tachograph.lines(helper) as one:
            calls_helper(3)
        calls_helper(2)

    assert hits(both, helper) == [15]
    assert hits(both, calls_helper) == [3]
    assert hits(one, helper) == [3]


def opened_inside() -> LineTable:
    watch = tachograph.lines(opened_inside)
    with watch as table:
        nap(0.05)
    return table


def test_a_table_may_be_opened_inside_of_its_function() -> None:
    table = opened_inside()

    if sys.version_info >= (3, 12):
        assert sum(times(table, opened_inside).values()) >= NAPS[0] - CLOCKS


def test_a_decorated_function_is_called_as_before_and_has_its_table() -> None:
    @tachograph.lines
    def double(x: int, *, plus: int = 0) -> int:
        """Return twice as much."""
        return 2 * x + plus

    assert double(4, plus=1) == 9
    assert double(5) == 10

    assert double.__name__ == "double"
    assert double.__doc__ == "Return twice as much."
    assert [row.hits for row in double.table] == [2]
    double.stop()
    double(6)
    assert [row.hits for row in double.table] == [2]


def test_methods_can_be_decorated() -> None:
    class Model:
        @tachograph.lines
        def fit(self, n: int) -> int:
            return n + 1

        @classmethod
        @tachograph.lines
        def make(cls) -> Model:
            return cls()

        @staticmethod
        @tachograph.lines
        def size() -> int:
            return 3

    assert Model.make().fit(2) == 3
    assert Model.size() == 3
    assert [row.hits for row in Model.fit.table] == [1]
    for door in (Model.fit, Model.size):
        door.stop()
    vars(Model)["make"].__func__.stop()


def test_a_decorated_coroutine_function_is_still_one() -> None:
    @tachograph.lines
    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    is_one = inspect if sys.version_info >= (3, 12) else asyncio
    assert is_one.iscoroutinefunction(answer)
    assert asyncio.run(answer()) == 42
    assert [row.hits for row in answer.table] == [1, 1]
    answer.stop()


def test_all_methods_of_a_class_are_counted() -> None:
    class Pair:
        def one(self) -> int:
            return 1

        @property
        def two(self) -> int:
            return 2

    with tachograph.lines(Pair) as table:
        assert Pair().one() + Pair().two == 3

    assert [row.hits for row in table] == [1, 1]


def test_the_function_inside_of_wrappers_is_counted() -> None:
    timed = time_it(counting)
    given = functools.partial(timed, 3)

    with tachograph.lines(given) as table:
        given()

    assert hits(table, counting) == [1, 4, 3, 1, 2, 1]


@pytest.mark.measures
def test_what_counting_takes_is_left_out_of_the_times() -> None:
    near, far = line_costs.ask()

    assert near.told_share < 0.5
    assert far.told_share < 0.5


@pytest.mark.measures
@pytest.mark.skipif(sys.version_info < (3, 12), reason="numbers are constants of inserted calls")
def test_what_counting_takes_more_far_down_in_a_file_is_left_out_as_well() -> None:
    def told_of_the_difference() -> float:
        near, far = line_costs.ask()
        return (far.told - near.told) / (far.watched - near.watched)

    # All of it, if both were taken for alike. What either takes is measured once in a process
    # and the difference is a quarter of it, so one measurement that is a tenth off is much
    # here: three processes have one each. The finer figure is measured in benches/lines.
    assert min(told_of_the_difference() for _ in range(3)) < 0.5


@pytest.mark.measures
@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
def test_what_counting_takes_is_measured_again_if_it_could_not_be_at_first() -> None:
    near, _ = line_costs.ask("refused")

    assert near.told_share < 0.5


def test_what_is_not_written_in_python_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"functions written in Python, not <built-in function len>"
    ):
        tachograph.lines(len)


def test_the_decorator_may_have_parentheses() -> None:
    @tachograph.lines()
    def double(n: int) -> int:
        return 2 * n

    assert double(2) == 4
    assert [row.hits for row in double.stop().rows] == [1]


def test_several_functions_cannot_be_called_as_one() -> None:
    with pytest.raises(TypeError, match="several functions"):
        tachograph.lines(helper, counting)(3)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
def test_places_taken_by_other_tools_are_named() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    with contextlib.ExitStack() as stack:
        for place in (2, 3, 4):
            monitoring.use_tool_id(place, f"tool{place}")
            stack.callback(monitoring.free_tool_id, place)
        with (
            pytest.raises(
                tachograph.TachographError, match=r"taken \(2: tool2, 3: tool3, 4: tool4"
            ),
            tachograph.lines(helper),
        ):
            pass


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
def test_another_place_is_found_and_all_is_given_back() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    monitoring.use_tool_id(2, "someone else")
    try:
        with tachograph.lines(helper) as table:
            helper(1)
            assert monitoring.get_tool(3) == "tachograph"
        assert monitoring.get_tool(3) is None
        assert monitoring.get_events(3) == 0 if monitoring.get_tool(3) else True
    finally:
        monitoring.free_tool_id(2)

    assert hits(table, helper) == [1]


def test_a_listing_shows_the_source_beside_the_numbers() -> None:
    with tachograph.lines(counting) as table:
        counting(10)

    text = str(table)
    assert "lines · counting · test_lines.py:" in text
    assert table.source in text
    assert "        for i in range(n):" in text
    assert "\x1b[" not in text
    assert "\x1b[" in table.table(color=True)
    with pytest.raises(ValueError, match="width must be >= 1, not 0"):
        table.table(width=0)


def test_a_listing_is_coloured_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with tachograph.lines(counting) as table:
        counting(10)
    table.print()
    assert "\x1b[" not in capsys.readouterr().out

    written: list[str] = []
    terminal = SimpleNamespace(
        isatty=lambda: True, write=written.append, flush=int, encoding="utf-8"
    )
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", terminal)
    table.print()
    assert "\x1b[" in "".join(written)

    written.clear()
    monkeypatch.setenv("NO_COLOR", "1")
    table.print()
    assert "\x1b[" not in "".join(written)
