"""Exports: valid for the tools that read them, and written whole or not at all."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import tachograph
from made_profiles import MAIN, WORK, ZLIB, made_profile, sample
from speedscope_rules import check_speedscope
from tachograph import Frame, output

PROFILE = made_profile(
    sample(MAIN, WORK, time_ns=0),
    sample(MAIN, WORK, ZLIB, time_ns=10_000_000),
    sample(MAIN, thread=200, name="loader"),
    sample(WORK, thread=12345, name=None),
)


def test_speedscope_has_one_profile_per_thread_and_roots_first() -> None:
    document = PROFILE.to_speedscope()

    check_speedscope(document)
    names = [profile["name"] for profile in document["profiles"]]
    assert sorted(names) == ["MainThread", "Thread-12345", "loader"]
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    main = document["profiles"][names.index("MainThread")]
    stacks = [[frames[index] for index in stack] for stack in main["samples"]]
    assert stacks == [["main", "work"], ["main", "work", "deflate"]]
    assert main["weights"] == [10_000_000, 10_000_000]


def test_a_frame_is_listed_once_however_often_it_is_used() -> None:
    document = made_profile(sample(MAIN, MAIN), sample(MAIN, time_ns=1_000)).to_speedscope()

    assert len(document["shared"]["frames"]) == 1


def test_an_empty_profile_is_still_valid() -> None:
    document = made_profile().to_speedscope()

    check_speedscope(document)
    assert document["profiles"] == []
    assert made_profile().to_collapsed() == ""


def test_collapsed_is_root_first_with_native_frames_marked() -> None:
    lines = PROFILE.to_collapsed().splitlines()

    assert "main (app.py:10);work (worker.py:42) 1" in lines
    assert any(line.startswith("main (app.py:10);work (worker.py:42);[native] ") for line in lines)
    assert "[native]" not in output.to_collapsed(PROFILE, mark_native=False)


def test_a_frame_without_a_file_has_no_parentheses() -> None:
    assert made_profile(sample(Frame("start", "", 0))).to_collapsed() == "start 1"


def test_aggregated_profiles_export_the_same_totals() -> None:
    whole = PROFILE.aggregate()

    assert sorted(whole.to_collapsed().splitlines()) == sorted(PROFILE.to_collapsed().splitlines())
    check_speedscope(output.aggregated_to_speedscope(whole))
    assert output.aggregated_to_collapsed(whole) == whole.to_collapsed()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("p.json", "speedscope"),
        ("p.speedscope.json", "speedscope"),
        ("p.prof", "speedscope"),
        ("p", "speedscope"),
        ("p.collapsed", "collapsed"),
        ("p.svg", "svg"),
        ("p.tacho", "tacho"),
    ],
)
def test_the_extension_says_the_format(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name

    PROFILE.save(path)

    assert kind_of(path) == kind
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", ["speedscope", "collapsed", "svg", "tacho"])
def test_format_overrides_the_extension(tmp_path: Path, kind: tachograph._types.Format) -> None:
    path = tmp_path / "p.txt"

    PROFILE.save(str(path), format=kind)
    PROFILE.aggregate().save(path, format=kind)

    assert kind_of(path) == kind


def test_an_unknown_format_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r'Unknown format "png".*speedscope'):
        PROFILE.save(tmp_path / "p.png", format="png")  # type: ignore[arg-type]

    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_and_the_profile_kept(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"/dev/full.*still in memory.*No space left"):
        PROFILE.save("/dev/full")

    PROFILE.save(tmp_path / "elsewhere.json")
    check_speedscope(json.loads((tmp_path / "elsewhere.json").read_text()))
    assert not Path("/dev/full").is_file()


def test_a_missing_folder_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere"):
        PROFILE.save(tmp_path / "nowhere" / "p.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_ours_is_a_permission_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        PROFILE.save(tmp_path / "p.json")
    tmp_path.chmod(0o700)


def kind_of(path: Path) -> str:
    """Return what the file at `path` really is."""
    data = path.read_bytes()
    if data.startswith(b"{"):
        check_speedscope(json.loads(data))
        return "speedscope"
    if b"<svg" in data[:500]:
        ElementTree.fromstring(data)
        return "svg"
    if data.startswith((b"main", b"work")):
        return "collapsed"
    tachograph.open(path)
    return "tacho"
