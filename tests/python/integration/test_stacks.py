"""Stacks are true: right functions, right lines, right order, none that cannot be."""

from __future__ import annotations

import math
import re
import sys
import time
from collections import Counter
from pathlib import Path

import c_calls
import deep
import made_code
import many_imports
import pytest
import tachograph
import torn
from answers import fewest_looks, marked_line, missed_looks, python_stack, short
from clockwork import cpu_ns, rounds_per_ms


def hot_line_work(rounds: int) -> int:
    total = 0
    total += 1
    for number in range(rounds):
        total += number * number % 7
    return total


HOT_LINES = range(
    hot_line_work.__code__.co_firstlineno + 3, hot_line_work.__code__.co_firstlineno + 5
)


def test_a_frame_carries_the_current_line_not_the_def_line() -> None:
    tachograph.start(interval_ms=1)
    spent = cpu_ns(hot_line_work, rounds_per_ms() * 300)
    profile = tachograph.stop()

    lines: Counter[int] = Counter()
    for sample in profile.samples:
        if sample.frames and short(sample.frames[-1].function_name) == "hot_line_work":
            lines[sample.frames[-1].lineno] += 1
    assert sum(lines.values()) > max(fewest_looks(profile, spent), 0)
    assert sum(lines[line] for line in HOT_LINES) > 0.98 * sum(lines.values())


def outermost(rounds: int) -> int:
    return middle(rounds)


def middle(rounds: int) -> int:
    return hot_line_work(rounds)


def test_frames_are_root_first_with_callers_at_their_call_lines() -> None:
    tachograph.start(interval_ms=1)
    spent = cpu_ns(outermost, rounds_per_ms() * 300)
    profile = tachograph.stop()

    seen = 0
    for sample in profile.samples:
        stack = python_stack(sample)
        names = [short(name) for name, _, _ in stack]
        if "hot_line_work" in names:
            seen += 1
            assert names[-3:] == ["outermost", "middle", "hot_line_work"]
            assert stack[-3][2] == outermost.__code__.co_firstlineno + 1
            assert stack[-2][2] == middle.__code__.co_firstlineno + 1
            assert stack[-1][1] == __file__
    assert seen > max(fewest_looks(profile, spent), 0)


def test_no_impossible_stack_in_code_that_calls_and_returns_fast() -> None:
    rules = torn.Rules()

    tachograph.start(interval_ms=1)
    spent = cpu_ns(torn.torn_root, 2.0)
    profile = tachograph.stop()

    wrong = Counter(filter(None, (rules.why_impossible(python_stack(s)) for s in profile.samples)))
    assert not wrong
    assert len(profile.samples) > max(fewest_looks(profile, spent), 0)
    assert profile.dropped_count <= 0.003 * len(profile.samples) + 3


def test_times_grow_from_the_start_within_the_window() -> None:
    rounds = rounds_per_ms() * 50

    begin = time.monotonic_ns()
    tachograph.start(interval_ms=1)
    spent = cpu_ns(hot_line_work, rounds)
    half = time.monotonic_ns() - begin
    spent += cpu_ns(hot_line_work, rounds)
    profile = tachograph.stop()
    whole = time.monotonic_ns() - begin

    times = [sample.timestamp_ns for sample in profile.samples]
    assert times == sorted(times)
    assert times[-1] <= profile.total_duration_ms * 1e6 + 1e6 <= whole + 2e6
    # The first half has some fifty looks, and the last of them ends the second.
    missed = 1e6 * missed_looks(profile)
    assert 0 <= times[0] < half + missed
    assert times[-1] - times[0] > 0.5 * spent - missed


def test_c_calls_stand_on_the_line_that_made_them() -> None:
    tachograph.start(interval_ms=1)
    c_calls.run(0.6)
    profile = tachograph.stop()

    for name in ("compressing", "sorting"):
        lines = Counter(
            stack[-1][2]
            for stack in map(python_stack, profile.samples)
            if stack and short(stack[-1][0]) == name
        )
        assert lines.most_common(1)[0][0] == marked_line(c_calls, name)
        assert lines[marked_line(c_calls, name)] > 0.95 * sum(lines.values())


def test_code_made_by_exec_has_its_own_names_and_lines() -> None:
    work = made_code.make("made_here", shift=7)

    tachograph.start(interval_ms=1)
    spent = cpu_ns(work, rounds_per_ms() * 200)
    profile = tachograph.stop()

    found = Counter(
        (f.filename, f.lineno)
        for s in profile.samples
        for f in s.frames
        if f.function_name == "made_here"
    )
    assert sum(found.values()) > max(fewest_looks(profile, spent), 0)
    assert {file for file, _ in found} == {"<made made_here>"}
    hot = sum(count for (_, line), count in found.items() if line - 7 in made_code.HOT_LINES)
    assert hot > 0.95 * sum(found.values())


MADE = 800


def test_code_that_was_dropped_never_lends_its_name_to_later_code() -> None:
    tachograph.start(interval_ms=1)
    spent = cpu_ns(made_code.churn, MADE, rounds_per_ms())
    profile = tachograph.stop()

    seen: Counter[str] = Counter()
    for sample in profile.samples:
        for frame in sample.frames:
            number = re.fullmatch(r"made_(\d+)", frame.function_name)
            if number:
                seen[frame.function_name] += 1
                shift = int(number[1]) % 50
                assert frame.filename == f"<made {frame.function_name}>"
                assert shift < frame.lineno <= shift + 5
    # A stale name would repeat. By chance alone, `looks` that fall on `MADE` texts leave out
    # a share of exp(-looks / MADE), and none gets many more than its part. Half of the time
    # goes into making them.
    looks = sum(seen.values())
    part = looks / MADE
    assert looks > 0.3 * fewest_looks(profile, spent)
    assert len(seen) > 0.8 * MADE * (1 - math.exp(-part))
    assert seen.most_common(1)[0][1] < 10 + part + 8 * math.sqrt(part)


GONE = "<code that is gone>"


def check_bodies(profile: tachograph.Profile, pattern: str, count: int) -> None:
    """Demand that samples in texts of `many_imports` name them, at their lines."""
    bodies: Counter[int] = Counter()
    gone = 0
    for sample in profile.samples:
        gone += any(frame.function_name == GONE for frame in sample.frames)
        innermost = sample.frames[-1]
        number = re.search(pattern, innermost.filename or "")
        if number:
            bodies[int(number[1])] += 1
            if innermost.lineno <= 1:
                continue  # where every text begins, whatever lines stand before it
            line = innermost.lineno - many_imports.blank_lines(int(number[1]))
            assert 1 <= line <= 1 + len(many_imports.HOT_LINES)
    # Each takes 10 ms, about ten samples; a name that was lent would be met far more often.
    # One has none only when the sampler itself missed all of its looks, at least five.
    assert len(bodies) >= count - missed_looks(profile) / 5
    assert sum(bodies.values()) > 0.8 * len(profile.samples)
    assert bodies.most_common(1)[0][1] < 0.1 * len(profile.samples)
    assert gone < 0.01 * len(profile.samples)


def test_the_body_of_a_module_keeps_its_name_when_its_code_is_gone(tmp_path: Path) -> None:
    many_imports.write(tmp_path, 60, rounds_per_ms() * 10)

    tachograph.start(interval_ms=1)
    many_imports.run_imports(tmp_path, 60)
    profile = tachograph.stop()

    check_bodies(profile, r"made_module_(\d+)\.py$", 60)


def test_text_that_is_run_and_dropped_keeps_its_own_name() -> None:
    tachograph.start(interval_ms=1)
    many_imports.run_texts(60, rounds_per_ms() * 10)
    profile = tachograph.stop()

    check_bodies(profile, r"^<text (\d+)>$", 60)


@pytest.mark.parametrize("depth", [50, 400])
def test_a_deep_stack_is_complete(depth: int) -> None:
    rounds = rounds_per_ms() * 150

    tachograph.start(interval_ms=1)
    deep.run(depth, rounds)
    profile = tachograph.stop()

    depths = Counter(
        sum(short(frame.function_name) == "descend" for frame in sample.frames)
        for sample in profile.samples
        if sample.frames and short(sample.frames[-1].function_name) == "spin"
    )
    assert set(depths) == {depth}


def test_a_stack_beyond_the_limit_keeps_its_innermost_frames() -> None:
    rounds = rounds_per_ms() * 150

    tachograph.start(interval_ms=1, max_depth=40)
    spent = cpu_ns(deep.run, 2000, rounds)
    profile = tachograph.stop()

    stacks = [s for s in profile.samples if short(s.frames[-1].function_name) == "spin"]
    # Going down and coming back takes some of it.
    assert len(stacks) > max(0.7 * fewest_looks(profile, spent), 0)
    for sample in stacks:
        # A label may stand for the frames that were left out.
        assert 40 <= len(sample.frames) <= 41
        assert short(sample.frames[-2].function_name) == "at_the_bottom"


def test_a_recursion_error_stays_an_ordinary_exception() -> None:
    before = sys.getrecursionlimit()
    tachograph.start(interval_ms=1)
    caught = wanted = 0
    # A few milliseconds each time; the sampler gets many looks, however fast the machine is.
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        caught += deep.overflow(50)
        wanted += 50
    profile = tachograph.stop()

    assert caught == wanted
    assert sys.getrecursionlimit() == before
    assert len(profile.samples) > 0
