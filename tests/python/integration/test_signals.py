"""The recorder lives beside other users of signals, and interrupts nobody's waits."""

from __future__ import annotations

import faulthandler
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import raw_poll
import tachograph
from answers import counts_by_thread, fewest_looks
from clockwork import cpu_ns, rounds_per_ms, spin
from programs import Programs


@contextmanager
def blocked(*signals: signal.Signals) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.measures
@pytest.mark.parametrize("mode", ["cpu", "wall"])
def test_threads_that_wait_long_are_left_alone(mode: str) -> None:
    tachograph.start(interval_ms=1, mode=mode)
    waits = raw_poll.run(1.5, (50, 70), threads=8, fewest=100)
    tachograph.stop()

    # A wait has fifty ticks and more, and each of them leaves it alone. A signal sent in the
    # microseconds before it begins may still end it, on a busy machine up to 0.7 % of them;
    # four standard errors more are chance.
    assert waits.done >= 100
    assert waits.interrupted <= 0.007 * waits.done + 4 * (0.007 * waits.done) ** 0.5


@pytest.mark.measures
@pytest.mark.parametrize("mode", ["cpu", "wall"])
def test_of_waits_of_a_few_milliseconds_less_than_one_in_fifty_is_cut_short(mode: str) -> None:
    tachograph.start(interval_ms=1, mode=mode)
    waits = raw_poll.run(1.5, (2, 3, 4), threads=4, busy=False, fewest=400)
    tachograph.stop()

    # One per cent is expected; four standard errors more are chance.
    assert waits.done >= 400
    assert waits.interrupted < 0.02 * waits.done + 4 * (0.01 * waits.done) ** 0.5


def test_the_cpu_timer_never_interrupts_a_wait() -> None:
    tachograph.start(interval_ms=1, trigger="cpu-timer")
    waits = raw_poll.run(1.5, (2, 3, 4), threads=4)
    tachograph.stop()

    assert waits.interrupted == 0


def test_a_handler_of_the_users_own_still_gets_its_signals() -> None:
    got: list[int] = []
    kinds = (signal.SIGURG, signal.SIGPROF, signal.SIGUSR1)
    before = {kind: signal.signal(kind, lambda number, _: got.append(number)) for kind in kinds}
    try:
        tachograph.start(interval_ms=1)
        begin = time.thread_time_ns()
        for kind in kinds * 3:
            signal.raise_signal(kind)
            spin(rounds_per_ms() * 10)
        spent = time.thread_time_ns() - begin
        profile = tachograph.stop()
        for kind in kinds:
            signal.raise_signal(kind)
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)

    assert sorted(got) == sorted(kinds * 4)
    assert len(profile.samples) > fewest_looks(profile, spent)


def test_a_handler_set_over_ours_is_called_for_its_own_signals_only() -> None:
    got: list[int] = []
    rounds = rounds_per_ms()
    before = signal.getsignal(signal.SIGURG)
    start = time.monotonic_ns()
    tachograph.start(interval_ms=1)
    try:
        spin(rounds * 50)
        signal.signal(signal.SIGURG, lambda number, _: got.append(number))
        signal.raise_signal(signal.SIGURG)
        # Ours may still arrive while the change is being noticed; then they must stop.
        noticed = 0
        while len(got) > noticed:
            noticed = len(got)
            spin(rounds * 20)
        since = time.monotonic_ns() - start
        spent = cpu_ns(spin, rounds * 200)
        still_ours = len(got) - noticed
        signal.raise_signal(signal.SIGURG)
    finally:
        profile = tachograph.stop()
        signal.signal(signal.SIGURG, before or signal.SIG_DFL)

    assert noticed >= 1
    assert still_ours == 0
    assert len(got) == noticed + 1
    # A signal that the other handler got is given up after 20 intervals of CPU time; from
    # then on the thread is looked at as before.
    later = [sample for sample in profile.samples if sample.timestamp_ns > since]
    assert len(later) > max(fewest_looks(profile, spent) - 25, 0)


def test_an_interval_timer_of_the_users_own_keeps_ticking() -> None:
    ticks: list[int] = []
    before = signal.signal(signal.SIGPROF, lambda number, _: ticks.append(number))
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
        tachograph.start(interval_ms=1)
        spin(rounds_per_ms() * 400)
        tachograph.stop()
        spin(rounds_per_ms() * 100)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)

    assert len(ticks) > 15


def test_a_thread_that_blocks_our_signal_does_not_stop_the_others() -> None:
    rounds = rounds_per_ms() * 200

    def deaf() -> None:
        with blocked(signal.SIGURG, signal.SIGPROF, signal.SIGTRAP):
            spin(rounds)

    tachograph.start(interval_ms=1)
    thread = threading.Thread(target=deaf, name="deaf")
    thread.start()
    spent = cpu_ns(spin, rounds)
    thread.join()
    profile = tachograph.stop()

    assert counts_by_thread(profile)["MainThread"] > fewest_looks(profile, spent)


def test_a_thread_that_blocks_every_signal_is_counted_in_the_weights_or_named() -> None:
    rounds = rounds_per_ms() * 300

    def deaf() -> None:
        with blocked(*(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})):
            spin(rounds)

    tachograph.start(interval_ms=1)
    thread = threading.Thread(target=deaf, name="deaf")
    thread.start()
    thread.join()
    profile = tachograph.stop()

    seen = counts_by_thread(profile)["deaf"] > 0
    named = any("deaf" in str(note) or "block" in str(note) for note in profile.recording.notes)
    assert seen or named or profile.dropped_count > 0


def test_faulthandler_enabled_while_recording_still_reports_a_crash(programs: Programs) -> None:
    result = programs.text(
        "import ctypes, faulthandler, tachograph\n"
        "from clockwork import rounds_per_ms, spin\n"
        "tachograph.start(interval_ms=1)\n"
        "faulthandler.enable()\n"
        "spin(rounds_per_ms() * 100)\n"
        "ctypes.string_at(8)\n",
        check=False,
    )

    assert result.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in result.stderr
    assert "program.py" in result.stderr


def test_a_crash_of_the_program_while_recording_is_still_a_crash(programs: Programs) -> None:
    result = programs.text(
        "import ctypes, faulthandler, tachograph\n"
        "faulthandler.enable()\n"
        "tachograph.start(interval_ms=1)\n"
        "ctypes.string_at(8)\n",
        check=False,
    )

    assert result.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in result.stderr


def test_faulthandler_works_beside_a_recording() -> None:
    was_enabled = faulthandler.is_enabled()
    tachograph.start(interval_ms=1)
    faulthandler.enable()
    spent = cpu_ns(spin, rounds_per_ms() * 300)
    faulthandler.disable()
    spent += cpu_ns(spin, rounds_per_ms() * 300)
    profile = tachograph.stop()
    if was_enabled:
        faulthandler.enable()

    assert counts_by_thread(profile)["MainThread"] > fewest_looks(profile, spent)


def test_keyboard_interrupt_still_ends_a_recorded_program(programs: Programs) -> None:
    result = programs.text(
        "import os, signal, threading, time, tachograph\n"
        "from clockwork import spin\n"
        "tachograph.start(interval_ms=1, output_path='interrupted.tacho')\n"
        "def interrupt():\n"
        "    while time.process_time() < 0.5:\n"
        "        time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt).start()\n"
        "while True:\n"
        "    spin(1000)\n",
        check=False,
    )

    assert "KeyboardInterrupt" in result.stderr
    assert result.returncode == -signal.SIGINT
    assert len(tachograph.open(programs.folder / "interrupted.tacho").functions()) > 0
