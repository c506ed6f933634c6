from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
import tachograph
from colours import READABLE, colours_at, contrast, luminance, texts
from flame_page import FlamePage, Show, Theme
from playwright.sync_api import Browser

# Has every kind of frame, a folded one and a warning.
RECORDED = Path(__file__).parents[1] / "data" / "train.tacho"

both_themes = pytest.mark.parametrize("theme", get_args(Theme))


def recorded() -> tachograph.Profile:
    return tachograph.open(RECORDED).profile


def assert_readable(flame: FlamePage, *expected: str) -> None:
    found = texts(flame.page)
    assert set(expected) <= {one.text for one in found}
    assert [one for one in found if one.contrast < READABLE] == []


def test_contrast_is_reckoned_as_the_guidelines_say() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((119, 119, 119), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)


@both_themes
def test_every_text_is_readable(show: Show, theme: Theme) -> None:
    flame = show(recorded(), theme=theme)

    assert_readable(
        flame,
        "all",
        "2 stacks cut at 512 frames (raise max_depth)",
        "Find function or file   /",
        "your code",
    )


@both_themes
def test_the_tooltip_is_readable(show: Show, theme: Theme) -> None:
    flame = show(recorded(), theme=theme)

    flame.box("run_epoch").hover()

    assert_readable(flame, *flame.tip())


@both_themes
def test_the_callers_of_a_zoomed_box_are_readable(show: Show, theme: Theme) -> None:
    flame = show(recorded(), theme=theme)

    flame.box("sgemm_kernel").click()

    assert_readable(flame, "maintrain.py")


@both_themes
def test_what_a_search_did_not_find_is_still_readable(show: Show, theme: Theme) -> None:
    flame = show(recorded(), theme=theme)

    flame.search("decode")

    assert_readable(flame, "maintrain.py", flame.matched())


@both_themes
def test_the_page_is_painted_in_the_readers_theme(
    show: Show, browser: Browser, theme: Theme
) -> None:
    flame = show(recorded(), theme=theme)
    left, right = flame.span(flame.box("<module>"))
    edges = flame.box("<module>").bounding_box()
    assert edges is not None
    in_own_code = (int(left + right) // 2, int(edges["y"]) + 3)

    picture = flame.page.screenshot()
    page, below, own_code = colours_at(browser, picture, [(2, 2), (640, 790), in_own_code])

    assert page == below
    assert (luminance(page) > 0.9) if theme == "light" else (luminance(page) < 0.05)
    # A box that holds most of the time has to stand out from the page.
    assert contrast(own_code, page) >= 3
