"""The file as `<img>`: no script runs there, so the file itself must be complete."""

from __future__ import annotations

from pathlib import Path

import pytest
import tachograph
from colours import colours_at
from flame_page import FlamePage, StillBox, still_boxes
from made_flames import known
from playwright.sync_api import Browser, Page

RECORDED = Path(__file__).parents[1] / "data" / "train.tacho"
# The still picture's size; the head and the room below the rows are in the height.
WIDTH, NARROWEST_LABEL = 1200, 24


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "flame.svg"
    tachograph.open(RECORDED).profile.save(path)
    return path


def as_image(browser: Browser, path: Path) -> Page:
    """Return a page that shows nothing but the file, as an image."""
    around = path.with_suffix(".html")
    around.write_text(
        f'<body style="margin: 0"><img src="{path.name}" style="display: block"></body>'
    )
    page = browser.new_page(viewport={"width": WIDTH, "height": 400})
    page.goto(around.as_uri())
    return page


def test_an_image_is_as_large_as_its_chart(browser: Browser, picture: Path) -> None:
    page = as_image(browser, picture)

    size = page.locator("img").evaluate("image => [image.naturalWidth, image.naturalHeight]")

    boxes = still_boxes(picture)
    assert size[0] == WIDTH
    assert size[1] >= max(box.top + box.height for box in boxes)
    page.close()


def test_an_image_shows_every_box_in_the_colour_of_its_kind(
    browser: Browser, picture: Path
) -> None:
    page = as_image(browser, picture)
    boxes = [box for box in still_boxes(picture) if box.width >= 3]

    shot = page.screenshot()
    colours = colours_at(browser, shot, [corner(box) for box in boxes])
    kinds = {box.style: colour for box, colour in zip(boxes, colours, strict=True)}

    assert colours == [kinds[box.style] for box in boxes]
    assert len(set(kinds.values())) >= 6
    assert (255.0, 255.0, 255.0) not in kinds.values()
    page.close()


def test_an_image_shows_the_label_of_every_box_that_has_room(
    browser: Browser, picture: Path
) -> None:
    page = as_image(browser, picture)
    boxes = [box for box in still_boxes(picture) if box.width >= NARROWEST_LABEL]

    shot = page.screenshot()
    points = [point for box in boxes for point in [corner(box), *label_points(box)]]
    colours = colours_at(browser, shot, points)

    assert [box.name for box in boxes if not box.label] == []
    length = len(colours) // len(boxes)
    for number, box in enumerate(boxes):
        ground, *letters = colours[number * length : (number + 1) * length]
        assert any(colour != ground for colour in letters), f"no label on {box.name}"
    page.close()


def test_an_image_shows_title_facts_and_legend_but_no_controls(
    browser: Browser, picture: Path
) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(picture.as_uri())

    for text in ("CPU time, 2.32 s", "CPython 3.12.1", "2 stacks cut", "standard library"):
        assert page.locator("text", has_text=text).first.is_visible(), text
    assert page.locator("button, input").count() == 0
    page.close()


def test_the_script_changes_nothing_but_the_width_and_the_controls(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "flame.svg"
    known().save(path)
    page = browser.new_page(viewport={"width": WIDTH, "height": 400})
    flame = FlamePage(page, path)

    for still, box in zip(still_boxes(path), page.locator(".chart > svg").all(), strict=True):
        left, right = flame.span(box)
        assert left == pytest.approx(still.left, abs=0.02)
        assert right == pytest.approx(still.left + still.width, abs=0.02)
        assert flame.label(box) == still.label
    page.close()


def corner(box: StillBox) -> tuple[int, int]:
    """Return a point of the box that no letter covers."""
    return int(box.left + box.width) - 1, int(box.top) + 1


def label_points(box: StillBox) -> list[tuple[int, int]]:
    """Return the points where the first letters of a box's label are."""
    left, top = int(box.left), int(box.top)
    return [(left + x, top + y) for x in range(5, 20) for y in range(4, 16)]
