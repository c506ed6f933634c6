from __future__ import annotations

import pytest
from flame_page import FlamePage, Show
from made_flames import known


def test_a_click_widens_a_box_to_the_whole_chart(show: Show) -> None:
    flame = show(known())
    before = flame.span(flame.box("load"))
    assert before != flame.full_span()

    flame.box("load").click()

    assert flame.span(flame.box("load")) == flame.full_span()
    left, right = flame.span(flame.box("step", nth=1))
    whole = flame.full_span()[1] - flame.full_span()[0]
    assert (right - left) / whole == pytest.approx(2 / 3, abs=0.002)


def test_zooming_keeps_the_callers_and_hides_what_lies_beside(show: Show) -> None:
    flame = show(known())

    flame.box("load").click()

    assert flame.span(flame.box("main")) == flame.full_span()
    assert flame.label(flame.box("main")) == "mainapp.py"
    assert flame.box("train").is_hidden()
    assert flame.box("deflate").is_hidden()


def test_the_reset_button_restores_the_picture(show: Show) -> None:
    flame = show(known())
    before = spans(flame)
    assert flame.reset_button().is_disabled()
    flame.box("deflate").click()
    assert spans(flame) != before

    flame.reset_button().click()

    assert spans(flame) == before
    assert flame.reset_button().is_disabled()


def test_escape_restores_the_picture(show: Show) -> None:
    flame = show(known())
    before = spans(flame)
    flame.box("deflate").click()

    flame.page.keyboard.press("Escape")

    assert spans(flame) == before


def test_a_click_on_the_whole_restores_the_picture(show: Show) -> None:
    flame = show(known())
    before = spans(flame)
    flame.box("deflate").click()

    flame.box("all").click()

    assert spans(flame) == before


def test_the_keyboard_alone_walks_and_zooms(show: Show) -> None:
    flame = show(known())
    keys = flame.page.keyboard

    keys.press("ArrowUp")  # main
    keys.press("ArrowUp")  # train, the heaviest call
    keys.press("ArrowRight")
    assert flame.tip()[0] == "load"
    keys.press("Enter")
    assert flame.span(flame.box("load")) == flame.full_span()

    keys.press("Backspace")
    assert flame.span(flame.box("load")) != flame.full_span()
    assert flame.span(flame.box("main")) == flame.full_span()


def test_an_icicle_has_its_root_at_the_top(show: Show) -> None:
    flame = show(known())
    assert tops(flame, "all") > tops(flame, "main") > tops(flame, "deflate")

    flame.page.get_by_role("button", name="Icicle").click()
    assert tops(flame, "all") < tops(flame, "main") < tops(flame, "deflate")

    flame.page.keyboard.press("i")
    assert tops(flame, "all") > tops(flame, "main") > tops(flame, "deflate")


def spans(flame: FlamePage) -> list[tuple[float, float] | None]:
    boxes = flame.page.locator(".chart > svg").all()
    return [flame.span(box) if box.is_visible() else None for box in boxes]


def tops(flame: FlamePage, name: str) -> float:
    edges = flame.box(name).bounding_box()
    assert edges is not None
    return edges["y"]
