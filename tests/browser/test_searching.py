from __future__ import annotations

import pytest
from flame_page import Show
from made_flames import known, named, recursive

ANSWERS = {
    "step": (["step", "step"], "matched 600 ms · 60.0 %"),
    "deflate": (["deflate"], "matched 150 ms · 15.0 %"),
    "LOAD": (["load"], "matched 300 ms · 30.0 %"),
    # `step` under `train` lies inside a match and is not added again.
    "train.py": (["step", "step", "train"], "matched 800 ms · 80.0 %"),
    "data.py:7": (["load"], "matched 300 ms · 30.0 %"),
    "main": (["main"], "matched 1 s · 100.0 %"),
    "nowhere": ([], "matched 0 ns · 0.0 %"),
}


def test_a_search_marks_its_boxes_and_tells_their_share(show: Show) -> None:
    flame = show(known())

    for text, (found, answer) in ANSWERS.items():
        assert flame.search(text) == answer
        assert flame.found() == found


def test_recursion_counts_once_in_the_matched_share(show: Show) -> None:
    flame = show(recursive())

    assert flame.search("visit") == "matched 750 ms · 75.0 %"
    assert flame.found() == ["visit", "visit", "visit"]


def test_in_a_zoomed_chart_the_share_is_that_of_the_view(show: Show) -> None:
    flame = show(known())
    flame.search("step")

    flame.box("load").click()

    assert flame.matched() == "matched 200 ms · 66.7 %"


def test_matches_too_narrow_to_draw_still_count(show: Show) -> None:
    # 2500 calls share a chart of 448 pixels: each is narrower than a fifth of one.
    flame = show(named(*[f"call_{number}" for number in range(2500)]))
    flame.page.set_viewport_size({"width": 480, "height": 600})
    flame.page.wait_for_function("() => document.documentElement.clientWidth === 480")

    assert flame.search("call_") == "matched 250 s · 100.0 %"


def test_a_search_text_is_no_pattern(show: Show) -> None:
    flame = show(named("f(x)", "f.x", "<lambda>"))

    assert flame.search("f(x)") == "matched 100 ms · 33.3 %"
    assert flame.search(".*") == "matched 0 ns · 0.0 %"
    assert flame.search("<lambda>") == "matched 100 ms · 33.3 %"


@pytest.mark.parametrize("keys", ["/", "Control+f"])
def test_a_key_leads_to_the_search_field(show: Show, keys: str) -> None:
    flame = show(known())

    flame.page.keyboard.press(keys)
    flame.page.keyboard.type("deflate")

    assert flame.matched() == "matched 150 ms · 15.0 %"


def test_escape_ends_the_search_first_and_the_zoom_second(show: Show) -> None:
    flame = show(known())
    flame.box("load").click()
    flame.search("step")

    flame.page.keyboard.press("Escape")
    assert (flame.found(), flame.matched()) == ([], "")
    assert flame.span(flame.box("load")) == flame.full_span()

    flame.page.keyboard.press("Escape")
    assert flame.span(flame.box("load")) != flame.full_span()


def test_the_reset_button_ends_the_search(show: Show) -> None:
    flame = show(known())
    flame.search("step")

    flame.reset_button().click()

    assert (flame.found(), flame.matched()) == ([], "")
    assert flame.page.get_by_role("searchbox").evaluate("field => field.value") == ""
