"""Threads are found by themselves, with their names, wherever they came from."""

from __future__ import annotations

import ctypes
import resource
import threading
import time
from collections import Counter
from pathlib import Path

import by_thread
import foreign_threads
import lock_fight
import pytest
import tachograph
from answers import (
    counts_by_thread,
    fewest_looks,
    missed_looks,
    most_looks,
    python_stack,
    short,
    tolerance,
    weight_by_thread,
)
from clockwork import cpu_ns, rounds_per_ms, shares, spin


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return foreign_threads.build(tmp_path_factory.mktemp("foreign"))


@pytest.mark.measures
def test_threads_need_no_registration_and_keep_their_names() -> None:
    tachograph.start(interval_ms=1)
    spent = by_thread.run(1.2)
    profile = tachograph.stop()

    truth = shares(spent)
    seen = shares({name: weight_by_thread(profile).get(name, 0) for name in truth})
    count = len(profile.samples)
    for name, share in truth.items():
        assert seen[name] == pytest.approx(share, abs=tolerance(share, count)), name


def test_threads_that_ran_before_the_start_are_seen() -> None:
    stop = threading.Event()

    def early() -> None:
        while not stop.is_set():
            spin(1_000)

    thread = threading.Thread(target=early, name="early-bird")
    thread.start()
    clock = time.pthread_getcpuclockid(thread.ident or 0)
    tachograph.start(interval_ms=1)
    begin = time.clock_gettime_ns(clock)
    time.sleep(0.4)
    spent = time.clock_gettime_ns(clock) - begin
    profile = tachograph.stop()
    stop.set()
    thread.join()

    assert counts_by_thread(profile)["early-bird"] > fewest_looks(profile, spent)
    assert weight_by_thread(profile)["early-bird"] > 0.95 * spent


def test_a_thread_renamed_while_it_runs_has_its_last_name() -> None:
    spent: list[int] = []

    def worker() -> None:
        threading.current_thread().name = "chosen-later"
        spin(rounds_per_ms() * 100)
        spent.append(time.thread_time_ns())

    tachograph.start(interval_ms=1)
    thread = threading.Thread(target=worker, name="chosen-early")
    thread.start()
    thread.join()
    profile = tachograph.stop()

    names = counts_by_thread(profile)
    assert names["chosen-later"] > max(fewest_looks(profile, spent[0]), 0)
    assert names["chosen-early"] == 0


def test_the_thread_id_is_the_one_of_the_operating_system() -> None:
    tachograph.start(interval_ms=1)
    spin(rounds_per_ms() * 100)
    profile = tachograph.stop()

    ids = {s.thread_id for s in profile.samples if s.thread_name == "MainThread"}
    assert ids == {threading.main_thread().native_id}


def test_a_thread_of_c_that_never_meets_python_is_seen(foreign: ctypes.CDLL) -> None:
    tachograph.start(interval_ms=1)
    foreign_threads.run_in_c(foreign, 0.5)
    profile = tachograph.stop()

    main = threading.main_thread().native_id
    others = [sample for sample in profile.samples if sample.thread_id != main]
    assert len(others) > max(fewest_looks(profile, 0.5e9), 0)
    assert all(sample.frames for sample in others)
    # It is found at a tick, and takes what it used since the last one with it.
    lost = 2e6 + 1e6 * missed_looks(profile)
    assert 0.5e9 - lost < sum(sample.weight_ns for sample in others) < 0.52e9


def test_a_thread_of_c_that_calls_back_shows_the_callback(foreign: ctypes.CDLL) -> None:
    tachograph.start(interval_ms=1)
    spent = foreign_threads.run_in_python(foreign, 0.5)
    profile = tachograph.stop()

    inside = [
        sample
        for sample in profile.samples
        if any(short(name) == "called_back" for name, _, _ in python_stack(sample))
    ]
    assert len(inside) > max(fewest_looks(profile, spent), 0)
    assert {s.thread_id for s in inside} != {threading.main_thread().native_id}


def test_a_short_lived_thread_of_c_is_seen_within_two_periods(foreign: ctypes.CDLL) -> None:
    tachograph.start(interval_ms=10)
    for _ in range(20):
        foreign_threads.run_in_c(foreign, 0.060)
    profile = tachograph.stop()

    main = threading.main_thread().native_id
    threads = Counter(s.thread_id for s in profile.samples if s.thread_id != main)
    # 60 ms is six periods: even if two pass before it is found, some four are left. A
    # thread goes unseen only where the sampler missed all of its periods.
    assert len(threads) > 20 - 1 - missed_looks(profile) / 5
    assert sum(threads.values()) > fewest_looks(profile, 20 * 60e6) - 20 * 2


@pytest.mark.measures
def test_threads_that_fight_for_the_lock_get_what_their_clocks_say() -> None:
    tachograph.start(interval_ms=1)
    spent = lock_fight.run(1.0)
    profile = tachograph.stop()

    weights = weight_by_thread(profile)
    # A thread that ends takes what it used since the last look with it.
    unseen = 5e6 + 1e6 * missed_looks(profile)
    for name, nanoseconds in spent.items():
        assert weights.get(name, 0) == pytest.approx(nanoseconds, rel=0.05, abs=unseen), name


def test_three_hundred_threads_are_all_recorded() -> None:
    gate = threading.Barrier(301)
    rounds = rounds_per_ms() * 6

    spent: dict[int, int] = {}

    def worker() -> None:
        gate.wait()
        spin(rounds)
        spent[threading.get_native_id()] = time.thread_time_ns()
        gate.wait()

    threads = [threading.Thread(target=worker, name=f"many-{i}") for i in range(300)]
    tachograph.start(interval_ms=1)
    for thread in threads:
        thread.start()
    gate.wait()
    gate.wait()
    profile = tachograph.stop()
    for thread in threads:
        thread.join()

    names = {name for name in counts_by_thread(profile) if name.startswith("many-")}
    # 6 ms of CPU each: a thread without any sample is one chance in several hundred, or
    # one for every five looks in a row that were missed.
    assert len(names) > 290 - missed_looks(profile) / 5
    seen = {sample.thread_id for sample in profile.samples} & set(spent)
    weight = sum(sample.weight_ns for sample in profile.samples if sample.thread_id in seen)
    # Three hundred threads that wake up at once keep the sampler waiting as well. What a
    # thread used between its last look and its end is lost, a period for each look missed.
    lost = 1e6 * missed_looks(profile)
    assert weight > 0.95 * sum(spent[thread] for thread in seen) - lost


def test_threads_that_start_and_die_leave_true_samples() -> None:
    rounds = rounds_per_ms() * 10
    spent: list[int] = []

    def worker() -> None:
        spin(rounds)
        spent.append(time.thread_time_ns())

    tachograph.start(interval_ms=1)
    for number in range(60):
        thread = threading.Thread(target=worker, name=f"brief-{number}")
        thread.start()
        thread.join()
    profile = tachograph.stop()

    # A thread that ended before its first look is one label, not a look.
    looks = [s for s in profile.samples if not s.frames[0].function_name.startswith("<ended")]
    brief = [s for s in looks if (s.thread_name or "").startswith("brief-")]
    stacks = [stack for stack in map(python_stack, brief) if stack[0][1]]
    # Before its first and after its last Python frame a thread is in C alone, each time
    # for less than a period: one look may fall there. Wherever else it is, it shows.
    assert len(brief) - len(stacks) <= 2 * len(spent)
    assert {short(stack[0][0]) for stack in stacks} <= {"_bootstrap"}
    # An ended thread takes with it what it used since the last look at it: one period or
    # two, and those that were missed. One that was never looked at is lost whole.
    lost = (2 * len(spent) + missed_looks(profile)) * 1e6
    assert sum(sample.weight_ns for sample in brief) > sum(spent) - lost


def test_stop_may_be_called_from_another_thread_than_start() -> None:
    results: list[tachograph.Profile] = []

    starter = threading.Thread(target=tachograph.start, args=(1,))
    starter.start()
    starter.join()
    spent = cpu_ns(spin, rounds_per_ms() * 200)
    stopper = threading.Thread(target=lambda: results.append(tachograph.stop()))
    stopper.start()
    stopper.join()

    assert counts_by_thread(results[0])["MainThread"] > fewest_looks(results[0], spent)


def test_registering_still_works_and_changes_nothing() -> None:
    spent: list[int] = []
    pushed_aside: list[int] = []

    def worker() -> None:
        with tachograph.ThreadProfiler():
            spin(rounds_per_ms() * 300)
            spent.append(time.thread_time_ns())
            pushed_aside.append(resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw)

    tachograph.start(interval_ms=1)
    assert tachograph.register_thread()
    thread = threading.Thread(target=worker, name="registered")
    thread.start()
    thread.join()
    tachograph.unregister_thread()
    profile = tachograph.stop()

    # Twice registered, sampled once.
    count = counts_by_thread(profile)["registered"]
    most = most_looks(profile, spent[0], pushed_aside[0])
    assert fewest_looks(profile, spent[0]) < count < most


def test_our_own_threads_never_appear() -> None:
    before = set(Path("/proc/self/task").iterdir())
    tachograph.start(interval_ms=1, mode="wall")
    own = {int(task.name) for task in set(Path("/proc/self/task").iterdir()) - before}
    spin(rounds_per_ms() * 200)
    profile = tachograph.stop()

    assert own
    assert not own & {sample.thread_id for sample in profile.samples}
