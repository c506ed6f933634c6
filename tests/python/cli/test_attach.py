"""`tachograph attach`: what is recorded from outside is true, on every CPython."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from outside_program import (
    INTERPRETERS,
    PROGRAM,
    Interpreter,
    collapsed_stacks,
    cpu_seconds,
    impossible,
    one_interpreter,
    started,
    wait_for_bytes,
)
from terminal import COMMAND, tachograph

EVERY = pytest.mark.parametrize("python", INTERPRETERS, ids=lambda one: one.name)


def attach(pid: int, *words: str, folder: Path) -> Path:
    """Record process `pid` and return the recording."""
    path = folder / "out.tacho"
    done = tachograph("attach", str(pid), "-o", path, "--force", *words, folder=folder)
    assert done.returncode == 0, done.stderr
    return path


def stacks(path: Path, *words: str) -> str:
    """Return the recording as collapsed stacks."""
    done = tachograph("export", path, "-f", "collapsed", "-o", "-", *words, folder=path.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout


def report(path: Path, measure: str) -> dict[str, object]:
    """Return the tables of a recording."""
    words = ("report", path, "--json", "--measure", measure)
    done = tachograph(*words, folder=path.parent)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def check_stacks(text: str, least: int) -> None:
    """Fail on a stack that cannot have been, or on too few of them."""
    seen = 0
    for frames, count in collapsed_stacks(text):
        own = [frame for frame in frames if frame.file.endswith("outside.py")]
        if own and own[-1].function == "ready":
            continue  # the thread that waits for the end
        assert not impossible(own), (impossible(own), frames)
        seen += count
    assert seen >= least


@EVERY
def test_every_stack_seen_from_outside_is_one_that_can_be(
    python: Interpreter, tmp_path: Path
) -> None:
    with started(python.program, "calls") as pid:
        text = stacks(attach(pid, "-d", "1", "-r", "2khz", folder=tmp_path))

    # A machine with other work to do gives the program less than a second.
    check_stacks(text, least=50)


@pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset")
def test_every_stack_is_possible_when_both_share_one_processor(tmp_path: Path) -> None:
    core = str(min(os.sched_getaffinity(0)))
    with started(one_interpreter().program, "calls", before=("taskset", "-c", core)) as pid:
        path = tmp_path / "out.tacho"
        words = ["attach", str(pid), "-o", str(path), "-d", "1", "-r", "1khz", "--no-native"]
        command = ["taskset", "-c", core, *COMMAND, *words]
        subprocess.run(command, check=True, capture_output=True)

    check_stacks(stacks(path), least=30)


@EVERY
def test_a_deep_stack_is_whole(python: Interpreter, tmp_path: Path) -> None:
    with started(python.program, "deep", "100") as pid:
        text = stacks(attach(pid, "-d", "0.7", "-r", "200", "--no-native", folder=tmp_path))

    for frames, _ in collapsed_stacks(text):
        names = [frame.function for frame in frames]
        if "deeper" in names:
            assert names[:2] == ["<module>", "main"]
            assert names.count("deeper") == 100
            break
    else:
        pytest.fail(f"the deep stack was never seen: {text}")


def test_cpu_time_adds_up_to_what_the_kernel_counted(tmp_path: Path) -> None:
    path = tmp_path / "out.tacho"
    with started(one_interpreter().program, "threads", "3") as pid:
        before = cpu_seconds(pid)
        words = ["attach", str(pid), "-o", str(path), "--quiet"]
        recorder = subprocess.Popen([*COMMAND, *words])
        wait_for_bytes(path)
        begun = cpu_seconds(pid)
        time.sleep(2)
        ending = cpu_seconds(pid)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait() == 0
        after = cpu_seconds(pid)

    lines = (line.rpartition(" ") for line in stacks(path, "--measure", "cpu").splitlines())
    # Collapsed weights of times are nanoseconds.
    recorded = sum(int(weight) for _, _, weight in lines) / 1e9
    # The program ran before the recording began and after it ended; of what it used
    # in between all must be there. The kernel shows hundredths of a second.
    assert recorded <= after - before + 0.05
    assert recorded >= 0.95 * (ending - begun) - 0.05, (recorded, ending - begun)


def test_waiting_threads_are_seen_in_wall_mode_under_their_names(tmp_path: Path) -> None:
    with started(one_interpreter().program, "waits") as pid:
        path = attach(pid, "-d", "1.5", "--mode", "wall", folder=tmp_path)

    text = stacks(path, "--measure", "wall")
    weights: dict[str, int] = {}
    for frames, weight in collapsed_stacks(text):
        for name in ("sleeper", "waiter", "burner"):
            if any(frame.function == name for frame in frames):
                weights[name] = weights.get(name, 0) + weight
    # Each of the three threads was there all the time.
    assert max(weights.values()) < 1.5 * min(weights.values()), weights
    shown = tachograph("info", path, folder=tmp_path).stdout
    assert (
        "sleeping-1" in shown or "sleeping-1" in tachograph("report", path, folder=tmp_path).stdout
    )


def test_native_functions_stand_where_they_were_called(tmp_path: Path) -> None:
    with started(one_interpreter().program, "native") as pid:
        text = stacks(attach(pid, "-d", "1.5", "-r", "500", folder=tmp_path))

    assert any("native (" in line and "[native]" in line for line in text.splitlines()), text
    assert "deflate" in text


def test_python_frames_only_are_had_with_no_native(tmp_path: Path) -> None:
    with started(one_interpreter().program, "native") as pid:
        text = stacks(attach(pid, "-d", "0.7", "--no-native", folder=tmp_path))

    assert "[native]" not in text
    assert "native (" in text


def test_a_stripped_interpreter_is_read_like_any_other(tmp_path: Path) -> None:
    if shutil.which("strip") is None:
        pytest.skip("needs strip")
    python = one_interpreter()
    home = python.program.parent.parent
    bare = tmp_path / "bin" / "renamed"
    bare.parent.mkdir()
    shutil.copy(python.program, bare)
    libraries = list((home / "lib").glob("libpython3.*.so.1.0")) if python.shared else []
    for library in libraries:
        shutil.copy(library, tmp_path / library.name)
    for path in (bare, *(tmp_path / library.name for library in libraries)):
        path.chmod(0o755)
        subprocess.run(["strip", "--strip-all", str(path)], check=True)
    environment = {"LD_LIBRARY_PATH": str(tmp_path), "PYTHONHOME": str(home)}

    with started(bare, "calls", environment=environment) as pid:
        maps = Path(f"/proc/{pid}/maps").read_text()
        assert str(tmp_path) in maps
        text = stacks(attach(pid, "-d", "0.7", "-r", "1khz", folder=tmp_path))

    check_stacks(text, least=20)


def test_a_program_in_another_root_and_pid_namespace_is_read_by_its_pid_here(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    inside = root / "inside.py"
    shutil.copy(PROGRAM, inside)
    script = f"""
        set -e
        cd {root}
        for folder in usr lib lib64 bin proc dev; do
            [ -L /$folder ] && cp -P /$folder . && continue
            [ -d /$folder ] && mkdir -p $folder && mount --rbind /$folder $folder
        done
        exec chroot {root} /usr/bin/python3 /inside.py calls
    """
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    process = subprocess.Popen(
        unshare, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        if not line:
            pytest.skip(f"no namespaces here: {process.stderr.read().strip()}")
        assert int(line) == 1, "the program is the first one of its namespace"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        pid = int(children.split()[0])
        path = attach(pid, "-d", "1", "-r", "1khz", folder=tmp_path)
        dumped = tachograph("dump", str(pid), folder=tmp_path).stdout
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    text = stacks(path)
    assert "/inside.py" in text
    check_stacks(text.replace("/inside.py", "/outside.py"), least=20)
    # Its source is read where the program sees it.
    assert "calls()  # -> calls" in dumped
