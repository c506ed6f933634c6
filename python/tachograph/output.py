"""Profiles in the formats other tools read.

One exporter per format exists, in Rust; these functions hand it the profile.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._data.aggregated import AggregatedProfile
    from ._data.profile import Profile

__all__ = [
    "aggregated_to_collapsed",
    "aggregated_to_speedscope",
    "to_collapsed",
    "to_speedscope",
]

_NATIVE_MARK = re.compile(r"(^|;)\[native\] ", re.MULTILINE)


def to_speedscope(profile: Profile | AggregatedProfile) -> dict[str, Any]:
    """Return a profile as Speedscope reads it, one part per thread."""
    document: dict[str, Any] = json.loads(profile.recording._native.export("speedscope", None))
    return document


def to_collapsed(profile: Profile | AggregatedProfile, mark_native: bool = True) -> str:
    """Return one line per distinct stack: frames from root to leaf, then the count.

    Args:
        profile: What to write.
        mark_native: Put ``[native]`` before native frames.
    """
    text = profile.recording._native.export("collapsed", None).decode().rstrip("\n")
    return text if mark_native else _NATIVE_MARK.sub(r"\1", text)


def aggregated_to_speedscope(profile: AggregatedProfile) -> dict[str, Any]:
    """Return an aggregated profile as Speedscope reads it."""
    return to_speedscope(profile)


def aggregated_to_collapsed(profile: AggregatedProfile, mark_native: bool = True) -> str:
    """Return an aggregated profile as collapsed stacks."""
    return to_collapsed(profile, mark_native)
