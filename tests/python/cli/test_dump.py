"""`tachograph dump`: what every thread does, read without running code in the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from outside_program import INTERPRETERS, Interpreter, goes_on, one_interpreter, started
from terminal import tachograph

EVERY = pytest.mark.parametrize("python", INTERPRETERS, ids=lambda one: one.name)


def dump(pid: int, *words: str) -> dict[str, Any]:
    """Return a dump as JSON."""
    done = tachograph("dump", str(pid), "--json", *words, folder=Path.cwd())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def functions(thread: dict[str, Any]) -> list[str]:
    """Return the names of a thread's functions, innermost first, without their classes."""
    return [frame["function"].rpartition(".")[2] for frame in thread["frames"]]


@EVERY
def test_threads_are_told_by_name_and_by_what_they_wait_for(python: Interpreter) -> None:
    with started(python.program, "waits") as pid:
        # Threads that have just been started may still be on their way.
        for _ in range(20):
            found = dump(pid)
            threads = {thread["name"]: thread for thread in found["threads"]}
            there = {name for thread in threads.values() for name in functions(thread)}
            waits = [threads.get(name, {}).get("waits_in") for name in ("sleeping-1", "waiting-1")]
            if all(waits) and {"sleeper", "waiter", "burner"} <= there:
                break
        assert goes_on(pid)

    assert set(threads) == {"MainThread", "sleeping-1", "waiting-1", "burning-1"}
    assert "sleeper" in functions(threads["sleeping-1"])
    assert threads["sleeping-1"]["state"] == "waiting"
    assert threads["sleeping-1"]["waits_in"] in ("clock_nanosleep", "select", "pselect6")
    assert "waiter" in functions(threads["waiting-1"])
    assert threads["waiting-1"]["waits_in"] == "futex"
    assert "burner" in functions(threads["burning-1"])
    assert functions(threads["MainThread"])[-1] == "<module>"
    assert found["python"] == ".".join(map(str, python.version))
    holders = [name for name, thread in threads.items() if thread["holds_gil"]]
    assert holders in ([], ["burning-1"]), "nobody else ever takes the lock"


@EVERY
def test_locals_are_shown_as_python_writes_them(python: Interpreter) -> None:
    if python.short_name == "3.13t":
        pytest.skip("local variables of this build are not laid out")
    with started(python.program, "locals") as pid:
        found = dump(pid, "--locals")

    frames = found["threads"][0]["frames"]
    (here,) = (frame for frame in frames if frame["function"] == "locals_here")
    assert here["locals"] == {
        "number": "42",
        "large": "-1" + "0" * 30,
        "real": "2.5",
        "text": "'héllo'",
        "nothing": "None",
        "yes": "True",
        "items": "<list of 3>",
        "pairs": "<dict of 1>",
        "many": "<tuple of 2>",
        "raw": "b'bytes'",
    }


@EVERY
def test_tasks_are_told_with_what_they_await(python: Interpreter) -> None:
    if python.short_name == "3.13t":
        pytest.skip("tasks of this build are not laid out")
    with started(python.program, "tasks") as pid:
        found = dump(pid)

    tasks = {task["name"]: task for task in found["tasks"]}
    assert set(tasks) == {"Task-1", "fetch-0", "fetch-1", "fetch-2"}
    for number in range(3):
        steps = [step["function"].rpartition(".")[2] for step in tasks[f"fetch-{number}"]["awaits"]]
        assert steps == ["download", "read_stream", "sleep"]
        assert tasks[f"fetch-{number}"]["waits_for"] == "Future"
    assert tasks["Task-1"]["waits_for"] == "_GatheringFuture"


@EVERY
def test_a_task_that_runs_waits_for_nothing(python: Interpreter) -> None:
    if python.short_name == "3.13t":
        pytest.skip("tasks of this build are not laid out")
    with started(python.program, "busy-task") as pid:
        pages = [dump(pid) for _ in range(5)]

    for page in pages:
        tasks = {task["name"]: task for task in page["tasks"]}
        (step,) = tasks["worker"]["awaits"]
        assert step["function"].rpartition(".")[2] == "work"
        assert tasks["worker"]["waits_for"] == ""
        assert tasks["Task-1"]["waits_for"] == "task worker"


def test_a_thread_in_native_code_shows_its_native_functions() -> None:
    with started(one_interpreter().program, "native") as pid:
        for _ in range(40):
            main = dump(pid)["threads"][0]
            native = [frame["function"] for frame in main["frames"] if frame["native"]]
            if any("deflate" in name for name in native):
                break
        else:
            pytest.fail(f"deflate was never seen, last: {native}")

    assert functions(main)[-1] == "<module>"


def test_the_page_names_program_lock_lines_and_source() -> None:
    with started(one_interpreter().program, "waits") as pid:
        for _ in range(20):  # as above
            done = tachograph("dump", str(pid), folder=Path.cwd())
            if "time.sleep(1000)" in done.stdout:
                break

    assert done.returncode == 0
    first = done.stdout.splitlines()[0]
    assert first.startswith(f"outside.py ({pid}) CPython 3."), first
    assert "4 threads" in first
    assert "time.sleep(1000)" in done.stdout
    assert "\x1b" not in done.stdout, "colour is for terminals"
