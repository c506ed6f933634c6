from __future__ import annotations

from pathlib import Path

from flame_page import FlamePage, Show
from made_flames import deep, known, made_profile
from playwright.sync_api import Browser


def test_a_flame_graph_opens_silently_and_fetches_nothing(show: Show) -> None:
    flame = show(known())
    flame.box("train").hover()
    flame.box("train").click()
    flame.search("step")
    flame.page.wait_for_load_state("networkidle")

    assert flame.complaints == []
    assert flame.fetched == [flame.path.as_uri()]


def test_the_tab_is_named_after_program_and_measure(show: Show) -> None:
    flame = show(known())

    assert flame.page.title() == "python: CPU time"


def test_the_chart_is_as_wide_as_the_window_and_follows_it(show: Show) -> None:
    flame = show(known())
    assert flame.span(flame.box("all")) == flame.full_span()

    flame.page.set_viewport_size({"width": 700, "height": 500})
    flame.page.wait_for_function("() => document.documentElement.clientWidth === 700")
    # The page hears of its new size before the next frame is drawn.
    two_frames = "() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))"
    flame.page.evaluate(two_frames)

    assert flame.span(flame.box("all")) == flame.full_span()
    left, right = flame.span(flame.box("train"))
    assert abs((right - left) - 0.6 * (700 - 32)) <= 1.5


def test_a_profile_without_samples_says_so(show: Show) -> None:
    flame = show(made_profile([]))

    assert flame.page.get_by_text("No CPU time was recorded.").is_visible()
    assert "NaN" not in flame.page.content()


def test_a_high_chart_opens_at_its_root_with_the_head_in_sight(show: Show) -> None:
    flame = show(deep(120))

    assert in_the_window(flame, "all")
    assert in_the_window(flame, "level_0")
    assert not in_the_window(flame, "level_119")
    flame.page.wait_for_function("() => document.querySelector('.head').transform.baseVal.length")
    head = flame.page.locator(".head > rect").bounding_box()
    assert head is not None and head["y"] == 0


def test_the_innermost_frame_of_a_high_chart_can_be_reached(show: Show) -> None:
    flame = show(deep(120))

    flame.page.evaluate("() => window.scrollTo(0, 0)")
    flame.box("level_119").hover()

    assert flame.tip()[:2] == ["level_119", "deep.py:120 · your code"]
    assert flame.tip_is_in_the_window()


def test_a_flame_graph_pasted_into_a_page_can_be_pointed_at_and_zoomed(
    browser: Browser, tmp_path: Path
) -> None:
    path, around = tmp_path / "flame.svg", tmp_path / "report.html"
    known().save(path)
    _, _, markup = path.read_text().partition("?>")
    around.write_text(f"<meta charset='utf-8'><title>Report</title><h1>Report</h1>{markup}")
    flame = FlamePage(browser.new_page(), path, shown_as=around)

    flame.box("load").hover()
    assert flame.tip()[:2] == ["load", "data.py:7 · your code"]
    before = flame.span(flame.box("load"))
    flame.box("load").click()
    assert flame.span(flame.box("load"))[1] > before[1]

    assert flame.page.title() == "Report"
    assert (flame.complaints, flame.fetched) == ([], [around.as_uri()])
    flame.page.close()


def in_the_window(flame: FlamePage, name: str) -> bool:
    edges = flame.box(name).bounding_box()
    window = flame.page.viewport_size
    assert edges is not None and window is not None
    return edges["y"] >= 0 and edges["y"] + edges["height"] <= window["height"]
