"""`@time_it`: every kind of function stays what it was, and is timed on the clock asked for."""

from __future__ import annotations

import functools
import inspect
import logging
import re
import threading
import time
from collections.abc import Iterator

import pytest
from tachograph import decorators
from tachograph.decorators import (
    TimingMode,
    TimingResult,
    clear_timing_stats,
    get_timing_stats,
    time_it,
    time_it_async,
)

MODES = ["wall_clock", "process_time", "thread_time", "perf_counter"]


@pytest.fixture(autouse=True)
def no_measurements() -> Iterator[None]:
    clear_timing_stats()
    yield
    clear_timing_stats()


def test_a_timed_function_keeps_its_signature_name_and_text() -> None:
    @time_it
    def area(width: float, height: float = 2.0) -> float:
        """Multiply."""
        return width * height

    assert area(3, height=4) == 12
    assert str(inspect.signature(area)) == "(width: 'float', height: 'float' = 2.0) -> 'float'"
    assert (area.__name__, area.__doc__) == ("area", "Multiply.")
    assert area.__wrapped__(3) == 6  # type: ignore[attr-defined]


@pytest.mark.parametrize("decorate", [time_it, time_it(), time_it(collect_stats=True)])
def test_parentheses_are_optional(decorate: object) -> None:
    def one() -> int:
        return 1

    assert decorate(one)() == 1  # type: ignore[operator]
    assert get_timing_stats("one").call_count == 1


def test_a_tuple_stays_a_tuple() -> None:
    @time_it
    def pair() -> tuple[int, int]:
        return 1, 2

    assert pair() == (1, 2)


def test_arguments_of_every_kind_arrive() -> None:
    @time_it
    def show(first, /, second, *rest, named, **more):  # type: ignore[no-untyped-def]
        return first, second, rest, named, more

    assert show(1, 2, 3, named=4, func=5, mode=6) == (1, 2, (3,), 4, {"func": 5, "mode": 6})


@pytest.mark.parametrize("mode", ["wall_clock", "perf_counter"])
def test_time_asleep_counts_on_clocks_of_elapsed_time(mode: str) -> None:
    @time_it(mode=mode, return_result=True)
    def doze() -> None:
        time.sleep(0.05)

    before = time.perf_counter()
    _, result = doze()
    around = time.perf_counter() - before

    assert 0.05 <= result.execution_time <= around
    assert result.timing_mode == mode


@pytest.mark.parametrize("mode", ["process_time", "thread_time"])
def test_time_asleep_does_not_count_on_clocks_of_cpu_time(mode: str) -> None:
    clock = getattr(time, mode)

    @time_it(mode=mode, return_result=True)
    def doze() -> None:
        time.sleep(0.05)

    before = clock()
    _, result = doze()
    around = clock() - before

    # The same clock around the call hardly moves, and the result has no more than it.
    assert 0 <= result.execution_time <= around


@pytest.mark.parametrize("mode", ["process_time", "thread_time"])
def test_work_counts_on_clocks_of_cpu_time(mode: str) -> None:
    clock = getattr(time, mode)

    @time_it(mode=mode, return_result=True)
    def work() -> float:
        before = clock()
        while clock() - before < 0.02:
            pass
        return clock() - before

    inside, result = work()

    assert result.execution_time >= inside >= 0.02


def test_only_process_time_counts_the_work_of_other_threads() -> None:
    def work() -> None:
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            pass

    def wait_for_another() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    _, of_process = time_it(mode="process_time", return_result=True)(wait_for_another)()
    before = time.thread_time()
    _, of_thread = time_it(mode="thread_time", return_result=True)(wait_for_another)()
    own = time.thread_time() - before

    assert of_process.execution_time >= 0.03
    assert of_thread.execution_time <= own


def test_an_unknown_mode_is_named_with_the_four_that_exist() -> None:
    with pytest.raises(ValueError, match="'lamport'") as refused:
        time_it(mode="lamport")

    assert all(repr(mode) in str(refused.value) for mode in MODES)


def test_the_modes_have_constants() -> None:
    constants = [TimingMode.WALL_CLOCK, TimingMode.PROCESS_TIME]
    constants += [TimingMode.THREAD_TIME, TimingMode.PERF_COUNTER]

    assert constants == MODES


def test_a_mode_given_without_its_keyword_is_explained() -> None:
    with pytest.raises(TypeError, match=r"'process_time'.*@time_it\(mode="):
        time_it("process_time")  # type: ignore[call-overload]


@pytest.mark.parametrize("precision", [-1, 2.5, "3"])
def test_a_precision_that_is_no_number_of_decimals_is_refused(precision: object) -> None:
    with pytest.raises(ValueError, match="precision"):
        time_it(precision=precision)  # type: ignore[call-overload]


def test_the_result_is_returned_beside_the_value() -> None:
    @time_it(return_result=True)
    def add(first: int, second: int, *, third: int) -> int:
        return first + second + third

    before = time.time()
    value, result = add(1, 2, third=3)

    assert value == 6
    assert isinstance(result, TimingResult)
    assert result.function_name == "add"
    assert result.execution_time > 0
    assert before - 1 <= result.timestamp <= time.time() + 1
    assert result.args_hash is None
    assert result.metadata == {
        "success": True,
        "error": None,
        "args_count": 2,
        "kwargs_count": 1,
    }


def test_results_of_recursive_calls_are_told_apart() -> None:
    @time_it(return_result=True)
    def countdown(n: int) -> list[float]:
        time.sleep(0.001)
        if n == 0:
            return []
        inner, result = countdown(n - 1)
        return [*inner, result.execution_time]

    times, outermost = countdown(5)

    times.append(outermost.execution_time)
    assert times == sorted(times)
    assert len(times) == 6
    assert get_timing_stats("countdown").call_count == 6


def test_an_exception_passes_and_is_counted() -> None:
    error = LookupError("mine")

    @time_it
    def fail() -> None:
        raise error

    with pytest.raises(LookupError) as raised:
        fail()

    assert raised.value is error
    assert get_timing_stats("fail").call_count == 1


def test_a_line_is_printed_for_each_call(capsys: pytest.CaptureFixture[str]) -> None:
    @time_it(print_result=True, precision=3, mode="perf_counter")
    def load(ok: bool) -> None:
        if not ok:
            raise OSError

    load(True)
    with pytest.raises(OSError):
        load(False)

    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"load executed in \d+\.\d{3}s \(perf_counter\)", first)
    assert re.match(r"load failed after \d+\.\d{3}s", second)


def test_nothing_is_printed_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    time_it(lambda: None)()

    assert capsys.readouterr() == ("", "")


def test_calls_are_logged_as_they_end(caplog: pytest.LogCaptureFixture) -> None:
    @time_it(log_results=True)
    def load(ok: bool) -> None:
        if not ok:
            raise OSError

    with caplog.at_level(logging.INFO, logger="tachograph.timing"):
        load(True)
        with pytest.raises(OSError):
            load(False)

    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert caplog.messages[0].startswith("load executed in ")
    assert caplog.messages[1].startswith("load failed after ")


def test_a_broken_standard_output_does_not_break_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def write(self, text: str) -> int:
            raise OSError("no space left")

    @time_it(print_result=True)
    def work() -> int:
        return 5

    monkeypatch.setattr("sys.stdout", Broken())
    with pytest.warns(RuntimeWarning, match="no space left"):
        assert work() == 5


def test_methods_of_every_kind_can_be_timed() -> None:
    class Job:
        factor = 2

        @time_it
        def plain(self, n: int) -> int:
            return self.factor * n

        @time_it
        @classmethod
        def outside(cls, n: int) -> int:
            return cls.factor * n

        @classmethod
        @time_it
        def inside(cls, n: int) -> int:
            return cls.factor * n

        @time_it
        @staticmethod
        def static(n: int) -> int:
            return 2 * n

        @property
        @time_it
        def shown(self) -> int:
            return self.factor

    job = Job()
    assert [job.plain(4), Job.outside(4), job.inside(4), Job.static(4), job.static(4)] == [8] * 5
    assert job.shown == 2
    names = {"plain": 1, "outside": 1, "inside": 1, "static": 2, "shown": 1}
    counted = {name: stats.call_count for name, stats in get_timing_stats().items()}
    assert counted == names


def test_whatever_can_be_called_can_be_timed() -> None:
    class Adder:
        def __call__(self, n: int) -> int:
            return n + 1

    assert time_it(Adder())(1) == 2
    assert time_it(functools.partial(int, base=2))("11") == 3
    assert time_it(len)([1, 2]) == 2
    assert get_timing_stats("Adder").call_count == 1
    assert get_timing_stats("len").call_count == 1
    assert get_timing_stats("int").call_count == 1


def test_calls_in_many_threads_are_all_counted() -> None:
    @time_it
    def work() -> None:
        pass

    def run() -> None:
        for _ in range(2_000):
            work()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert get_timing_stats("work").call_count == 16_000


def test_without_statistics_nothing_is_kept() -> None:
    @time_it(collect_stats=False, return_result=True)
    def work() -> int:
        return 1

    value, result = work()

    assert (value, result.metadata["success"]) == (1, True)
    assert get_timing_stats("work") is None


def test_time_it_async_refuses_a_plain_function_by_its_name() -> None:
    def load() -> None:
        pass

    for decorate in (time_it_async, time_it_async(), time_it_async(mode="perf_counter")):
        with pytest.raises(TypeError, match=r"load is none; use time_it"):
            decorate(load)


def test_the_other_names_are_the_same_functions() -> None:
    assert decorators.measure_time is time_it
    assert decorators.measure_time_async is time_it_async
    assert decorators.time_block is decorators.timer
    assert set(decorators.__all__) <= set(dir(decorators))


def test_a_name_that_does_not_exist_is_missing_like_any_other() -> None:
    with pytest.raises(ImportError, match="no_such_decorator"):
        from tachograph.decorators import no_such_decorator  # type: ignore[attr-defined] # noqa: F401
