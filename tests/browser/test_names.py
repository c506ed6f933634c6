"""Names come from a recorded program: shown as they are, never run, never markup."""

from __future__ import annotations

import pytest
from flame_page import Show
from made_flames import MAIN, known, made_profile, named
from tachograph import Frame

NAMES = [
    "<lambda>",
    '<b onclick="alert(1)">bold</b>',
    "</title></svg><script>alert(1)</script>",
    "]]></script><script>alert(1)</script>",
    '<image href="nowhere.png" onerror="alert(1)"/>',
    "a & b &amp; c &#60;",
    "say \"hello\" and 'bye'",
    "naïve_über",
    "数据加载",
    "שלום",
    "🐍_snake",
]


def test_names_are_shown_letter_by_letter_and_never_become_markup(show: Show) -> None:
    profile = made_profile(
        [(10, (MAIN, Frame(name, f"of {name}.py", line))) for line, name in enumerate(NAMES, 1)]
    )
    tags = "() => [...document.querySelectorAll('*')].map(one => one.localName)"
    harmless = set(show(known()).page.evaluate(tags))
    flame = show(profile)

    for line, name in enumerate(NAMES, 1):
        flame.box(name).click()
        flame.page.mouse.move(640, 700)
        flame.box(name).hover()
        assert flame.tip()[:2] == [name, f"of {name}.py:{line} · your code"]
        assert flame.label(flame.box(name)) == f"{name}of {name}.py"
        assert flame.search(name) == "matched 100 ms · 100.0 %"
        flame.reset_button().click()

    assert set(flame.page.evaluate(tags)) == harmless
    assert flame.page.locator("script").count() == 1
    attributes = "() => [...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())"
    assert not [one for one in flame.page.evaluate(attributes) if one.startswith("on")]


@pytest.mark.parametrize("letters", ["vector<pair<int, ", "字", "🐍"])
def test_a_long_name_is_whole_in_the_tooltip_and_cut_in_its_box(show: Show, letters: str) -> None:
    name = (letters * 300)[:300]
    flame = show(named(name, "plain"))

    flame.box(name).hover()
    assert "".join(flame.tip()).startswith(f"{name}app.py:1 · your code")
    assert flame.tip_is_in_the_window()

    label = flame.label(flame.box(name))
    assert label.endswith("…") and name.startswith(label[:-1])
    assert len(label) > 20
    assert label_fits(flame.box(name).locator("text").evaluate(ROOM))


def test_a_name_without_end_leaves_the_tooltip_in_the_window(show: Show) -> None:
    name = "endless_" * 1000
    flame = show(named(name))

    flame.box(name).hover()

    shown = "".join(flame.tip()[:-3])
    assert shown.endswith("…") and name.startswith(shown[:-1])
    assert len(shown) > 300
    assert flame.tip_is_in_the_window()


def test_a_long_name_fits_a_narrow_window(show: Show) -> None:
    name = "long_name_" * 20
    flame = show(named(name))
    flame.page.set_viewport_size({"width": 480, "height": 600})

    flame.box(name).hover()

    assert "".join(flame.tip()).startswith(name)
    assert flame.tip_is_in_the_window()


def test_a_letter_that_would_break_or_turn_the_text_is_made_visible(show: Show) -> None:
    shown = {
        "first\nsecond": "first second",
        "bell\x07": "bell\ufffd",
        "user\u202eresu": r"user\u{202e}resu",
        "arabic\u061cmark": r"arabic\u{61c}mark",
        "line\u2028end": "line end",
    }
    flame = show(named(*shown))

    for text in shown.values():
        flame.box(text).hover()
        assert flame.tip()[0] == text


# How wide a label is, and how much room its box has for it.
ROOM = "text => [text.getComputedTextLength(), text.parentNode.width.baseVal.value]"


def label_fits(measured: list[float]) -> bool:
    wide, room = measured
    # The box clips what sticks out; a few letters may when the reader's font is wide.
    return wide <= 1.1 * room
