"""Help, versions and completions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import tachograph
from terminal import Terminal, plain_environment
from terminal import tachograph as command


def verbs(folder: Path) -> list[str]:
    """Return the verbs that the help lists."""
    listed = command("--help", folder=folder).stdout.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines() if line.startswith("  ")]


def test_every_verb_explains_itself_with_examples_and_exit_statuses(tmp_path: Path) -> None:
    found = verbs(tmp_path)
    assert {"run", "report", "info", "export", "merge", "doctor", "completions"} <= set(found)

    for verb in found:
        if verb == "help":
            continue
        shown = command(verb, "--help", folder=tmp_path)
        assert shown.returncode == 0
        assert "examples:\n" in shown.stdout and "exit status:\n" in shown.stdout, verb
        assert max(map(len, shown.stdout.splitlines())) <= 100, verb
        of_80_columns = plain_environment(COLUMNS="80")
        narrow = command(verb, "--help", folder=tmp_path, environment=of_80_columns)
        assert max(map(len, narrow.stdout.splitlines())) <= 80, verb
        for line in shown.stdout.split("examples:\n")[1].split("\n\n")[0].splitlines():
            example = line.strip().split("   ")[0]
            assert f"  {example}\n" in narrow.stdout or line in narrow.stdout, "it cannot be pasted"


def test_help_is_coloured_on_a_terminal_only(tmp_path: Path) -> None:
    on_terminal = Terminal("--help", folder=tmp_path)
    assert on_terminal.end() == 0
    without = Terminal("--help", folder=tmp_path, environment=plain_environment(NO_COLOR="1"))
    assert without.end() == 0

    assert "\x1b[1m" in on_terminal.text
    assert "\x1b" not in without.text
    assert "\x1b" not in command("--help", folder=tmp_path).stdout


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert command("--version", folder=tmp_path).stdout == f"tachograph {tachograph.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_know_the_verbs(shell: str, tmp_path: Path) -> None:
    script = command("completions", shell, folder=tmp_path).stdout

    assert "subprocesses" in script and "doctor" in script


def test_bash_takes_its_completions(tmp_path: Path) -> None:
    script = command("completions", "bash", folder=tmp_path).stdout
    ask = script + "\nCOMP_WORDS=(tachograph re); COMP_CWORD=1\n"
    ask += '_tachograph tachograph re tachograph; printf "%s\\n" "${COMPREPLY[@]}"\n'

    shown = subprocess.run(["bash", "-c", ask], capture_output=True, text=True)

    assert "report" in shown.stdout.split(), shown.stderr


def test_the_doctor_says_what_follows_from_what(tmp_path: Path) -> None:
    shown = command("doctor", folder=tmp_path)
    findings = json.loads(command("doctor", "--json", folder=tmp_path).stdout)

    assert shown.returncode == 0
    assert "CPython " in shown.stdout and "`tachograph run` uses it" in shown.stdout
    names = {found["check"] for found in findings}
    assert names >= {"python", "ptrace", "perf", "energy", "nvidia", "limits"}
    assert {found["verdict"] for found in findings} <= {"good", "improvable", "absent"}
    for found in findings:
        assert found["what"] in shown.stdout
        assert (found["remedy"] is not None) == (found["verdict"] == "improvable")
