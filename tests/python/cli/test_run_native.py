"""``tachograph run -- COMMAND`` of a program that is not Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tachograph
from answers import missed_looks
from terminal import plain_environment
from terminal import tachograph as command

COMPILER = os.environ.get("CC", "cc").split()

pytestmark = [
    pytest.mark.skipif(shutil.which(COMPILER[0]) is None, reason="there is no C compiler"),
    pytest.mark.skipif(
        not (Path(tachograph.__file__).parent / "_preload.so").exists(),
        reason="a build for development has no library to preload",
    ),
]

# Holds 50 blocks of 1 MB, works for 0.3 CPU seconds, says how many of them were its own
# thread's, and shows its environment.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char **environ;
static void *held[50];
static volatile unsigned long sum;

__attribute__((noinline)) void hold(void)
{
    for (int i = 0; i < 50; i++) held[i] = memset(malloc(1 << 20), 1, 1 << 20);
}

__attribute__((noinline)) void work(void)
{
    do
        for (int i = 0; i < 100000; i++) sum += i * i;
    while (clock() < CLOCKS_PER_SEC * 3 / 10);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(void)
{
    hold();
    double before = cpu_seconds();
    work();
    FILE *file = fopen("worked", "w");
    fprintf(file, "%.9f", cpu_seconds() - before);
    fclose(file);
    for (char **one = environ; *one; one++)
        if (strncmp(*one, "LD_", 3) == 0) puts(*one);
    puts("done");
    return 7;
}
"""


def built(folder: Path, *options: str) -> Path:
    """Compile the program."""
    source, program = folder / "simulate.c", folder / "simulate"
    source.write_text(PROGRAM)
    subprocess.run([*COMPILER, "-O1", "-g", *options, "-o", program, source], check=True)
    return program


def functions(path: Path) -> set[str]:
    return {row.function for row in tachograph.open(path).functions(measure="cpu")}


def test_a_program_without_python_is_recorded_and_runs_as_it_would_alone(tmp_path: Path) -> None:
    built(tmp_path)

    shown = command("run", "-r", "1khz", "--", "./simulate", folder=tmp_path)

    assert (shown.returncode, shown.stdout) == (7, "done\n"), shown.stderr
    assert shown.stderr.startswith("tachograph · simulate · exit 7 · ")
    recording = tachograph.open(tmp_path / "simulate.tacho")
    [work] = [row for row in recording.functions(measure="cpu") if row.function == "work"]
    # The thread's clock is shared out over its looks, and the work is one stretch: at both
    # ends one look may have too much or too little, and those the recorder says it missed.
    used = float((tmp_path / "worked").read_text())
    unseen = (2 + missed_looks(recording.profile)) * 0.001
    assert work.total_weight / 1e9 == pytest.approx(used, abs=0.01 + unseen)
    held = [row for row in recording.allocations(at="peak") if row.function == "hold"]
    assert sum(row.peak_bytes for row in held) >= 50 << 20  # larger than a period: exact
    assert list(tmp_path.glob("*.tacho")) == [tmp_path / "simulate.tacho"]


def test_what_was_preloaded_before_is_what_the_program_sees(tmp_path: Path) -> None:
    built(tmp_path)
    library = tmp_path / "empty.so"
    (tmp_path / "empty.c").write_text("")
    subprocess.run([*COMPILER, "-shared", "-o", library, tmp_path / "empty.c"], check=True)
    environment = plain_environment(LD_PRELOAD=str(library))

    shown = command("run", "-q", "--", "./simulate", folder=tmp_path, environment=environment)

    assert shown.stdout == f"LD_PRELOAD={library}\ndone\n"


def test_python_that_a_native_program_starts_comes_first(busy: Path, tmp_path: Path) -> None:
    for line in (f"{sys.executable} busy.py 0.1; true", f"exec {sys.executable} busy.py 0.1"):
        shown = command("run", "--force", "-o", "a.tacho", "--", "sh", "-c", line, folder=tmp_path)

        assert shown.returncode == 0
        assert shown.stderr.startswith("tachograph · busy.py · exit 0 · "), shown.stderr
        assert "work" in functions(tmp_path / "a.tacho")
        assert list(tmp_path.glob("*.tacho")) == [tmp_path / "a.tacho"]


def test_a_script_of_a_shell_is_recorded_as_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "go"
    script.write_text("#!/bin/sh\nexit 4\n")
    script.chmod(0o755)

    shown = command("run", "--", "./go", folder=tmp_path)

    assert shown.returncode == 4
    tachograph.open(tmp_path / "go.tacho")


def test_a_static_program_is_named_with_the_reason(tmp_path: Path) -> None:
    try:
        built(tmp_path, "-static")
    except subprocess.CalledProcessError:
        pytest.skip("there is no static C library")

    shown = command("run", "--", "./simulate", folder=tmp_path)

    assert (shown.returncode, shown.stdout) == (7, "done\n")
    assert "simulate is not Python: it is linked statically" in shown.stderr
    assert not list(tmp_path.glob("*.tacho"))


def test_sigterm_keeps_the_recording_of_a_native_program(tmp_path: Path) -> None:
    (tmp_path / "ends.c").write_text(
        "#include <signal.h>\n#include <unistd.h>\n"
        "int main(void) { kill(getpid(), SIGTERM); for (;;) pause(); }\n"
    )
    subprocess.run([*COMPILER, "-o", tmp_path / "ends", tmp_path / "ends.c"], check=True)

    shown = command("run", "--", "./ends", folder=tmp_path)

    assert shown.returncode == -15
    assert " · killed by SIGTERM · " in shown.stderr
    tachograph.open(tmp_path / "ends.tacho")


def test_a_family_may_be_of_both_kinds(busy: Path, tmp_path: Path) -> None:
    built(tmp_path)
    line = f"{sys.executable} busy.py 0.1; ./simulate; true"

    shown = command(
        "run", "--subprocesses", "-r", "1khz", "-o", "a.tacho", "--", "sh", "-c", line,
        folder=tmp_path,
    )  # fmt: skip

    assert shown.returncode == 0, shown.stderr
    facts = json.loads(command("info", "a.tacho", "--json", folder=tmp_path).stdout)
    assert facts["counts"]["processes"] == 3  # the shell, Python, the program
    found = tachograph.open(tmp_path / "a.tacho").functions(measure="cpu")
    files = {Path(row.file).name for row in found if row.function == "work"}
    assert {"busy.py"} < files, files
