from __future__ import annotations

from pathlib import Path

import tachograph
from flame_page import Show
from made_flames import known

RECORDED = Path(__file__).parents[1] / "data" / "train.tacho"


def test_pointing_at_a_box_shows_name_place_time_and_share(show: Show) -> None:
    flame = show(known())

    flame.box("step").hover()

    assert flame.tip() == [
        "step",
        "train.py:31 · your code",
        "total 400 ms · 40.0 %",
        "self 250 ms · 25.0 %",
    ]
    assert flame.tip_is_in_the_window()


def test_a_function_with_two_callers_shows_each_calls_own_share(show: Show) -> None:
    flame = show(known())

    flame.box("step", nth=1).hover()

    assert flame.tip()[2:] == ["total 200 ms · 20.0 %", "self 200 ms · 20.0 %"]


def test_a_native_function_shows_its_library(show: Show) -> None:
    flame = show(known())

    flame.box("deflate").hover()

    assert flame.tip()[:2] == ["deflate", "libz.so · native"]


def test_a_recorded_function_shows_the_line_it_begins_on(show: Show) -> None:
    flame = show(tachograph.open(RECORDED).profile)

    flame.box("Tensor.__matmul__").hover()

    assert flame.tip()[:2] == ["Tensor.__matmul__", "tensorlib/tensor.py:290 · package"]


def test_the_tooltip_goes_away_with_the_pointer(show: Show) -> None:
    flame = show(known())
    flame.box("step").hover()
    assert flame.tip()

    flame.page.mouse.move(640, 700)

    assert flame.tip() == []


def test_in_a_zoomed_chart_the_tooltip_adds_the_share_of_the_view(show: Show) -> None:
    flame = show(known())
    flame.box("train").click()

    flame.box("step").hover()

    assert flame.tip()[2:] == [
        "total 400 ms · 40.0 %",
        "self 250 ms · 25.0 %",
        "66.7 % of the view",
    ]
