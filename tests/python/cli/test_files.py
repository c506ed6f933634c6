"""The verbs that look at recordings: report, info, export, merge."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import tachograph
from terminal import COMMAND, Terminal, plain_environment
from terminal import tachograph as command


def test_a_report_is_what_python_shows_with_options_for_arguments(
    recording: Path, tmp_path: Path
) -> None:
    shown = command("report", recording, "--width", "102", folder=tmp_path)

    assert shown.returncode == 0, shown.stderr
    in_python = tachograph.open(recording).summary(width=100)
    assert "recording.within(" in in_python and "max_depth" in in_python
    lines = zip(shown.stdout.splitlines(), in_python.splitlines(), strict=True)
    differing = [line for line, other in lines if line != other]
    assert all("--within" in line or "--max-depth" in line for line in differing), differing
    assert shown.stderr == ""


def test_a_report_follows_the_terminal_and_its_colours(recording: Path, tmp_path: Path) -> None:
    narrow = Terminal("report", recording, folder=tmp_path, columns=70)
    assert narrow.end() == 0
    plain = Terminal(
        "report",
        recording,
        folder=tmp_path,
        columns=70,
        environment=plain_environment(NO_COLOR="1"),
    )
    assert plain.end() == 0

    assert "\x1b[1m" in narrow.text
    assert "\x1b" not in plain.text
    assert max(map(len, plain.text.splitlines())) <= 70
    assert "█" in plain.text


def test_bars_are_ascii_where_the_locale_is(recording: Path, tmp_path: Path) -> None:
    shown = command("report", recording, folder=tmp_path, environment=plain_environment(LC_ALL="C"))

    assert shown.stdout.isascii()


def test_the_tables_of_a_report_are_there_as_json(recording: Path, tmp_path: Path) -> None:
    shown = command("report", recording, "--json", folder=tmp_path)

    tables = json.loads(shown.stdout)
    first = tachograph.open(recording).functions()[0]
    assert tables["functions"][0]["function"] == first.function
    assert tables["functions"][0]["self_weight"] == first.self_weight


def test_a_report_can_be_of_one_span(recording: Path, tmp_path: Path) -> None:
    shown = command("report", recording, "--within", "forward", folder=tmp_path)

    assert "train.py · within forward · 1.20 s" in shown.stdout.splitlines()[0]


def test_facts_are_told_in_lines_and_as_json(recording: Path, tmp_path: Path) -> None:
    text = command("info", recording, folder=tmp_path).stdout
    facts = json.loads(command("info", recording, "--json", folder=tmp_path).stdout)

    assert "  program  train.py\n" in text
    assert "    holds  232 samples, 39 spans" in text
    assert facts["counts"]["samples"] == 232
    meta = tachograph.open(recording).meta
    assert facts["meta"]["command"] == meta["command"]
    assert facts["meta"]["machine"] == meta["machine"]


def test_collapsed_stacks_count_samples_unless_told_otherwise(
    recording: Path, tmp_path: Path
) -> None:
    counted = command("export", recording, "-f", "collapsed", "-o", "-", folder=tmp_path).stdout
    weighed = command(
        "export", recording, "-f", "collapsed", "-o", "-", "--measure", "cpu", folder=tmp_path
    ).stdout

    def total(text: str) -> int:
        return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())

    assert total(counted) == 232
    assert total(weighed) == sum(
        row.self_weight for row in tachograph.open(recording).functions(measure="cpu")
    )


def test_an_export_is_named_after_its_recording_and_replaces_nothing(
    recording: Path, tmp_path: Path
) -> None:
    shutil.copy(recording, tmp_path / "a.tacho")

    first = command("export", "a.tacho", "-f", "speedscope", folder=tmp_path)
    second = command("export", "a.tacho", "-f", "speedscope", folder=tmp_path)
    third = command("export", "a.tacho", "-f", "speedscope", "--force", folder=tmp_path)

    assert (first.returncode, first.stderr) == (0, "a.speedscope.json\n")
    assert "speedscope" in json.loads((tmp_path / "a.speedscope.json").read_text())["$schema"]
    assert second.returncode == 2
    assert second.stderr == (
        "tachograph: a.speedscope.json exists and would be replaced\n"
        "  choose another name with -o, or say --force\n"
    )
    assert third.returncode == 0


def test_the_ending_says_the_format(recording: Path, tmp_path: Path) -> None:
    shown = command("export", recording, "-o", "flame.svg", "-q", folder=tmp_path)

    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")
    assert (tmp_path / "flame.svg").read_text().startswith("<?xml")


def test_merged_recordings_add_up(recording: Path, tmp_path: Path) -> None:
    shown = command("merge", recording, recording, "-o", "both.tacho", folder=tmp_path)

    assert (shown.returncode, shown.stderr) == (0, "both.tacho\n")
    assert tachograph.open(tmp_path / "both.tacho").sample_count == 2 * 232


def test_a_reader_that_goes_away_is_no_error(recording: Path, tmp_path: Path) -> None:
    big = tmp_path / "big.tacho"
    command("merge", *[recording] * 50, "-o", big, folder=tmp_path)
    shown = subprocess.run(
        f"{' '.join(COMMAND)} report {big} --json | head -c 10",
        shell=True,
        capture_output=True,
        env=plain_environment(),
        executable="/bin/bash",
    )

    assert (shown.returncode, shown.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (
            ["report", "no.tacho"],
            3,
            'tachograph: cannot read recording "no.tacho": No such file or directory\n'
            "  check the path\n",
        ),
        (
            ["info", "notes.txt"],
            3,
            "tachograph: notes.txt is not a tachograph recording\n"
            "  recordings end in .tacho and are written by tachograph\n",
        ),
        (
            ["report", "a.tacho", "--between", "3", "2"],
            2,
            "tachograph: --between ends before it begins: 3 2\n  name the earlier second first\n",
        ),
        (
            ["report", "a.tacho", "--within", "nothing"],
            2,
            'tachograph: the recording has no span "nothing"\n',
        ),
        (
            ["export", "a.tacho"],
            2,
            "tachograph: the format is not known\n  name one with -f: ",
        ),
        (
            ["export", "a.tacho", "-o", "no/such/folder/a.svg"],
            3,
            'tachograph: cannot write "no/such/folder/a.svg": No such file or directory\n'
            "  choose a directory that exists\n",
        ),
        (["export", "a.tacho", "-f", "png"], 2, "known formats are tacho, speedscope"),
        (["export", "a.tacho", "-f", "svg", "--measure", "x"], 2, "known measures are cpu, wall"),
        (["report", "a.tacho", "--between", "soon", "2"], 2, "must be a number of seconds"),
        (["reprot", "a.tacho"], 2, "report"),
        ([], 2, "Usage: tachograph"),
    ],
)
def test_an_error_is_a_sentence_with_its_remedy(
    words: list[str], status: int, message: str, recording: Path, tmp_path: Path
) -> None:
    shutil.copy(recording, tmp_path / "a.tacho")
    (tmp_path / "notes.txt").write_text("hello")

    shown = command(*words, folder=tmp_path)

    assert shown.returncode == status
    assert message in shown.stderr
    assert shown.stdout == ""


def test_a_full_disk_is_told(recording: Path, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        shown = subprocess.run(
            [*COMMAND, "report", str(recording)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=plain_environment(),
            cwd=tmp_path,
        )

    assert shown.returncode == 3
    assert shown.stderr == (
        "tachograph: cannot write the result: No space left on device\n  name a file with -o\n"
    )
