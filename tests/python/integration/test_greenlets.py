"""Stacks stay true when something else than the interpreter switches them."""

from __future__ import annotations

from collections import Counter

import green
import tachograph
from answers import fewest_looks, short


def test_greenlets_that_switch_all_the_time_never_share_a_stack() -> None:
    tachograph.start(interval_ms=1)
    switches = green.run(1.0)
    profile = tachograph.stop()

    kinds: Counter[tuple[bool, bool]] = Counter()
    for sample in profile.samples:
        names = {short(frame.function_name) for frame in sample.frames}
        kinds["ping_outer" in names, "pong_outer" in names] += 1
        assert not ("ping" in names and "ping_outer" not in names)
        assert not ("pong" in names and "pong_outer" not in names)
    assert switches > 1000
    assert kinds[True, True] == 0
    # Half of the looks each, less what chance and the switches themselves take.
    assert min(kinds[True, False], kinds[False, True]) > max(0.3 * fewest_looks(profile, 1e9), 0)
