"""A program under ``tachograph run`` finds everything as if it ran alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tachograph
from answers import missed_looks
from terminal import plain_environment
from terminal import tachograph as command

# Prints all that a program can see of how it was started.
LOOK = """\
import json, os, sys, __main__
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "name": __name__, "path": sys.path,
    "main": sorted(vars(__main__)), "file": getattr(__main__, "__file__", None),
    "environ": dict(os.environ), "executable": sys.executable, "flags": list(sys.flags),
    "customized": "sitecustomize" in sys.modules, "stdin": sys.stdin.read(),
    "caches": [name for name in sys.path_importer_cache if name.endswith("_run")],
}))
"""


def seen(run: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert run.returncode == 0, run.stderr
    found: dict[str, object] = json.loads(run.stdout)
    return found


def python(*words: str, folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=plain_environment(),
        input=text,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("look.py", "-q", "--rate", "x y"),
        ("-m", "look", "-q"),
        ("-m", "package.look"),
        ("-c", LOOK, "-o", "x"),
        ("app", "argument"),
    ],
    ids=["script", "module", "package", "code", "folder"],
)
def test_a_program_sees_what_it_would_see_alone(words: tuple[str, ...], tmp_path: Path) -> None:
    for place in ("look.py", "package/look.py", "app/__main__.py"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(LOOK)

    alone = seen(python(*words, folder=tmp_path, text="input"))
    recorded = seen(command("run", "-o", "a.tacho", *words, folder=tmp_path, text="input"))

    assert recorded == alone
    assert (tmp_path / "a.tacho").exists()


def test_a_search_path_and_a_sitecustomize_of_ones_own_are_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("import sys\nsys.mine = 42\n")
    (tmp_path / "look.py").write_text("import sys\nprint(sys.mine)\n" + LOOK)
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, [str(tmp_path / "mine"), inherited]))
    environment = plain_environment(PYTHONPATH=path)

    alone = subprocess.run(
        [sys.executable, "look.py"], cwd=tmp_path, env=environment, capture_output=True, text=True,
        input="",
    )  # fmt: skip
    recorded = command("run", "look.py", folder=tmp_path, environment=environment)

    assert recorded.stdout.startswith("42\n")
    assert json.loads(recorded.stdout[3:]) == json.loads(alone.stdout[3:])


def test_a_traceback_has_no_frames_of_ours(tmp_path: Path) -> None:
    (tmp_path / "fail.py").write_text("def f():\n    1 / 0\nf()\n")

    alone = python("fail.py", folder=tmp_path)
    recorded = command("run", "-q", "fail.py", folder=tmp_path)

    assert recorded.returncode == alone.returncode == 1
    assert recorded.stderr == alone.stderr


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys; sys.exit(3)", 3),
        ("import os; os._exit(4)", 4),
        ("raise SystemExit('no')", 1),
        ("import threading, sys; threading.Thread(target=sys.exit, args=[9]).start()", 0),
        ("import atexit; atexit.register(print, 'bye')", 0),
        ("import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'exit(6)'])", 6),
        ("import os; os.fork() or os._exit(7); print(os.wait()[1] >> 8)", 0),
    ],
)
def test_a_program_ends_as_it_would_alone(code: str, status: int, tmp_path: Path) -> None:
    alone = python("-c", code, folder=tmp_path)
    recorded = command("run", "-q", "-o", "a.tacho", "-c", code, folder=tmp_path)

    assert recorded.returncode == alone.returncode == status
    assert recorded.stdout == alone.stdout
    assert recorded.stderr == alone.stderr
    tachograph.open(tmp_path / "a.tacho")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="older ones do not warn")
def test_a_program_with_threads_of_its_own_is_still_warned_about_forking(tmp_path: Path) -> None:
    code = (
        "import os, threading, time\n"
        "threading.Thread(target=time.sleep, args=[0.5], daemon=True).start()\n"
        "os.fork() or os._exit(0); os.wait()"
    )

    shown = command("run", "-q", "-o", "a.tacho", "-c", code, folder=tmp_path)

    assert "is multi-threaded" in shown.stderr


def test_the_end_is_told_with_the_recording_and_the_next_commands(
    busy: Path, tmp_path: Path
) -> None:
    first = command("run", busy.name, "0.3", folder=tmp_path)
    second = command("run", "-q", busy.name, "0.01", folder=tmp_path)

    assert first.returncode == 0
    lines = first.stderr.splitlines()
    assert lines[0].startswith("tachograph · busy.py · exit 0 · ")
    assert lines[-1].startswith("  busy.tacho (")
    assert "tachograph report busy.tacho" in lines[-1]
    assert (second.stdout, second.stderr) == ("", "")
    assert (tmp_path / "busy-2.tacho").exists(), "the first recording was not to be replaced"


def check_work(recording: tachograph.Recording, folder: Path) -> None:
    """Fail unless a recording at 1 kHz has the CPU time that `busy` says it used."""
    [work] = [row for row in recording.functions(measure="cpu") if row.function == "work"]
    used = float((folder / "worked").read_text())
    # The thread's clock is shared out over its looks, and the work is one stretch: at both
    # ends one look may have too much or too little, and those the recorder says it missed.
    unseen = (2 + missed_looks(recording.profile)) * 0.001
    assert work.total_weight / 1e9 == pytest.approx(used, abs=0.01 + unseen)


def test_the_recording_holds_the_whole_run(busy: Path, tmp_path: Path) -> None:
    command("run", "-o", "a.tacho", "-r", "1khz", busy.name, "0.5", folder=tmp_path)

    recording = tachograph.open(tmp_path / "a.tacho")
    check_work(recording, tmp_path)
    assert recording.meta["settings"]["cpu"]["interval_ns"] == 1_000_000
    assert recording.meta["command"] == ["busy.py", "0.5"]
    assert recording.meta["roots"]["script"] == str(busy)


def test_allocations_are_sampled_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "holds.py").write_text("held = [bytearray(1 << 20) for _ in range(50)]\n")

    command("run", "-o", "with.tacho", "--heap-rate", "64", "holds.py", folder=tmp_path)
    command("run", "-o", "without.tacho", "--no-heap", "holds.py", folder=tmp_path)

    recording = tachograph.open(tmp_path / "with.tacho")
    assert recording.meta["settings"]["heap"]["rate_bytes"] == 64 * 1024
    # Blocks larger than 1.5 periods are exact.
    held = [row for row in recording.allocations(at="peak") if row.file.endswith("holds.py")]
    assert sum(row.peak_bytes for row in held) >= 50 << 20
    assert tachograph.open(tmp_path / "without.tacho").meta["settings"].get("heap") is None


def test_the_machine_is_read_unless_told_otherwise(busy: Path, tmp_path: Path) -> None:
    command("run", "-o", "with.tacho", busy.name, "0.2", folder=tmp_path)
    without = ("--no-machine", "--no-heap")
    command("run", "-o", "without.tacho", *without, busy.name, "0.2", folder=tmp_path)

    def points(name: str) -> int:
        facts = json.loads(command("info", name, "--json", folder=tmp_path).stdout)
        count: int = facts["counts"]["points"]
        return count

    assert points("with.tacho") > 0
    assert points("without.tacho") == 0


RECORDS = """\
import os, tachograph
print(sorted(name for name in os.listdir() if name == "program.tacho"))
with tachograph.record("program.tacho"):
    with tachograph.span("inside"):
        pass
"""


@pytest.mark.parametrize("words", [[], ["-o", "program.tacho"]], ids=["default", "named"])
def test_a_program_that_records_to_the_same_name_keeps_its_file(
    words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(RECORDS)

    shown = command("run", *words, "program.py", folder=tmp_path)

    assert (shown.returncode, shown.stdout) == (0, "[]\n"), shown.stderr
    told, recorded = shown.stderr.splitlines()[0], tachograph.open(tmp_path / "program-2.tacho")
    assert told == (
        "program.tacho was written while the program ran and is kept; "
        "this recording is program-2.tacho"
    )
    assert "tachograph report program-2.tacho" in shown.stderr
    # Its own holds the block alone, ours the whole program.
    own = tachograph.open(tmp_path / "program.tacho")
    assert own.duration < recorded.duration
    assert [span.name for span in own.timeline()] == ["inside"]
    assert sorted(path.name for path in tmp_path.glob("*.tacho")) == [
        "program-2.tacho",
        "program.tacho",
    ]


def test_force_keeps_the_old_recording_until_the_end(busy: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tacho").write_text("old")
    code = "print(open('a.tacho').read())"

    shown = command("run", "-q", "--force", "-o", "a.tacho", "-c", code, folder=tmp_path)

    assert shown.stdout == "old\n"
    tachograph.open(tmp_path / "a.tacho")
    assert list(tmp_path.glob("*.tacho")) == [tmp_path / "a.tacho"]


def test_two_runs_at_once_get_a_recording_each(busy: Path, tmp_path: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "tachograph", "run", "-q", busy.name, "0.2"],
            cwd=tmp_path,
            env=plain_environment(),
        )
        for _ in range(2)
    ]

    assert [run.wait(60) for run in both] == [0, 0]
    for name in ("busy.tacho", "busy-2.tacho"):
        tachograph.open(tmp_path / name)


def test_options_reach_the_recorder(busy: Path, tmp_path: Path) -> None:
    command(
        "run", "-o", "a.tacho", "-r", "300", "--mode", "wall", "--no-native", "--no-source",
        "--max-depth", "7", busy.name, "0.05", folder=tmp_path,
    )  # fmt: skip

    cpu = tachograph.open(tmp_path / "a.tacho").meta["settings"]["cpu"]
    assert (cpu["interval_ns"], cpu["mode"], cpu["native"], cpu["max_depth"]) == (
        3_333_333, "wall", False, 7,
    )  # fmt: skip


def test_os_exit_keeps_the_last_second(tmp_path: Path, busy: Path) -> None:
    busy.write_text(busy.read_text() + "import os; os._exit(0)\n")

    command("run", "-o", "a.tacho", "-r", "1khz", busy.name, "0.3", folder=tmp_path)

    check_work(tachograph.open(tmp_path / "a.tacho"), tmp_path)


def test_any_command_that_starts_python_is_recorded(busy: Path, tmp_path: Path) -> None:
    line = f"{sys.executable} {busy.name} 0.1; {sys.executable} -c pass; exit 5"

    shown = command("run", "-o", "a.tacho", "--", "sh", "-c", line, folder=tmp_path)

    assert shown.returncode == 5
    assert shown.stderr.startswith("tachograph · busy.py · exit 5 · ")


def test_open_draws_the_flame_graph_and_calls_the_browser(busy: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > called\n')
    browser.chmod(0o755)
    environment = plain_environment(BROWSER=str(browser))

    shown = command("run", "--open", busy.name, "0.1", folder=tmp_path, environment=environment)

    assert "  busy.svg\n" in shown.stderr
    assert (tmp_path / "busy.svg").read_text().startswith("<?xml")


# An interpreter that keeps everything out that it was not built with.
ISOLATED = ["--", sys.executable, "-I", "-c"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["no.py"], 2, "tachograph: there is no script no.py\n  check the path; for a module"),
        (["-m"], 2, "tachograph: -m needs the name of a module\n"),
        (["--"], 2, "tachograph: -- needs a command\n"),
        (["-o", "there.tacho", "busy.py"], 2, "there.tacho exists and would be replaced\n"),
        (["-o", "no/a.tacho", "busy.py"], 3, "there is no folder "),
        (["--python", "no/python", "busy.py"], 3, "tachograph: cannot start no/python: No such "),
        (["--", "no-such-command"], 3, "tachograph: cannot start no-such-command: No such file"),
        (["-r", "0", "busy.py"], 2, "must be between 1 and 1000"),
        (["--mode", "wall", "--trigger", "perf", "busy.py"], 2, "leave --trigger out with --mode"),
        (["-o", ".", "busy.py"], 2, "it is there and no file\n  name a file with -o"),
        ([*ISOLATED, "exit(0)"], 3, "tachograph: nothing was recorded: no Python with tachograph"),
        ([*ISOLATED, "exit(1)"], 1, "tachograph: nothing was recorded"),
        ([], 2, "Usage: tachograph run"),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_remedy(
    words: list[str], status: int, message: str, busy: Path, tmp_path: Path
) -> None:
    (tmp_path / "there.tacho").write_text("mine")

    shown = command("run", *words, folder=tmp_path)

    assert shown.returncode == status
    assert message in shown.stderr
    assert (tmp_path / "there.tacho").read_text() == "mine"


def test_a_recording_that_cannot_be_written_does_not_stop_the_program(tmp_path: Path) -> None:
    (tmp_path / "shut").mkdir()

    shown = command(
        "run", "-o", "shut/a.tacho", "--", "sh", "-c",
        f'mv shut moved; "{sys.executable}" -c "print(1)"', folder=tmp_path,
    )  # fmt: skip
    assert shown.stdout == "1\n"
    assert "tachograph: cannot record process " in shown.stderr
    assert shown.returncode == 3
