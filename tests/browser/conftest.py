"""Starts one browser for all tests, and opens flame graphs in it.

A test whose page logs anything, opens a dialog or fetches more than the file
itself fails, whatever else it checks.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tachograph import Profile

sys.path.insert(0, str(Path(__file__).parent))

from flame_page import FlamePage, Show, Theme

WINDOW: ViewportSize = {"width": 1280, "height": 800}
# Nothing but the pages under test may reach for the network.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's chromium, headless and with an empty profile folder."""
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("the browser tests need chromium; install it with: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Page:
    """The tab that flame graphs open in, one after the other."""
    return browser.new_page()


@pytest.fixture
def show(tab: Page, tmp_path: Path) -> Iterator[Show]:
    """Open flame graphs; afterwards none may have complained or fetched anything."""
    pages: list[FlamePage] = []

    def show(profile: Profile, *, theme: Theme = "light") -> FlamePage:
        path = tmp_path / f"flame-{len(pages)}.svg"
        profile.save(path)
        if pages:
            pages[-1].leave()
        # A tab behind another one draws seldom, and waits for it.
        tab.bring_to_front()
        tab.set_viewport_size(WINDOW)
        tab.mouse.move(0, 0)
        tab.emulate_media(color_scheme=theme)
        pages.append(FlamePage(tab, path))
        return pages[-1]

    yield show

    if pages:
        pages[-1].leave()
    assert [page.complaints for page in pages] == [[] for _ in pages]
    assert [page.fetched for page in pages] == [[page.path.as_uri()] for page in pages]
