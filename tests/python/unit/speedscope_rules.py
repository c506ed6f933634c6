"""What Speedscope asks of a file, checked strictly."""

from __future__ import annotations

from typing import Any

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
UNITS = {"none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}


def check_speedscope(document: dict[str, Any]) -> None:
    """Fail with the rule that `document` breaks."""
    assert set(document) == {"$schema", "version", "shared", "profiles", "name", "exporter"}
    assert document["$schema"] == SCHEMA
    assert document["version"] == "1.0.0"
    assert document["exporter"].startswith("tachograph ")
    frames = document["shared"]["frames"]
    for frame in frames:
        assert set(frame) <= {"name", "file", "line", "col"} and frame["name"]
    rows = [(frame["name"], frame.get("file"), frame.get("line")) for frame in frames]
    assert len(set(rows)) == len(rows), "a frame is listed twice"
    for profile in document["profiles"]:
        check_profile(profile, len(frames))


def check_profile(profile: dict[str, Any], frame_count: int) -> None:
    """Fail with the rule that one thread's profile breaks."""
    assert profile["type"] == "sampled"
    assert profile["unit"] in UNITS
    assert profile["name"]
    assert profile["startValue"] == 0
    assert len(profile["samples"]) == len(profile["weights"]) > 0
    assert all(weight > 0 for weight in profile["weights"])
    assert profile["endValue"] == sum(profile["weights"])
    for stack in profile["samples"]:
        assert stack, "a stack is empty"
        assert all(0 <= index < frame_count for index in stack)
