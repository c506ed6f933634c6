"""A flame graph that is open in a browser, as a reader sees and uses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol
from xml.etree import ElementTree

from playwright.sync_api import Dialog, Locator, Page
from tachograph import Profile

SVG = "{http://www.w3.org/2000/svg}"
MARGIN = 16

# Whether a shape lies in the window and in the picture, which cuts off what sticks out.
INSIDE = """shape => {
  const own = shape.getBoundingClientRect();
  const picture = document.documentElement.getBoundingClientRect();
  return own.left >= Math.max(0, picture.left) && own.top >= Math.max(0, picture.top)
    && own.right <= Math.min(innerWidth, picture.right)
    && own.bottom <= Math.min(innerHeight, picture.bottom);
}"""

Theme = Literal["light", "dark"]

# The edges of a shape without its outline, which pointing at it draws.
EDGES = """rect => {
  const box = rect.getBBox(), to = rect.getScreenCTM();
  return [to.e + to.a * box.x, to.e + to.a * (box.x + box.width)];
}"""


@dataclass(frozen=True)
class StillBox:
    """A box as the file has it, before any script has run."""

    name: str
    place: str
    style: str
    left: float
    top: float
    width: float
    height: float
    label: str


def still_boxes(path: Path) -> list[StillBox]:
    """Return the boxes of the still picture, callers first."""
    root = ElementTree.parse(path).getroot()
    chart = next(group for group in root.iter(f"{SVG}g") if group.get("class") == "chart")
    return [still_box(box) for box in chart.findall(f"{SVG}svg")]


def still_box(box: ElementTree.Element) -> StillBox:
    """Return one box of the file."""
    title = (box.findtext(f"{SVG}title") or "").split("\n")
    label = box.find(f"{SVG}text")
    left, top, width, height = (float(box.get(key, "")) for key in ("x", "y", "width", "height"))
    return StillBox(
        name=title[0],
        place=title[1],
        style=box.get("class", ""),
        left=left,
        top=top,
        width=width,
        height=height,
        label="" if label is None else "".join(label.itertext()),
    )


class FlamePage:
    """One flame graph in one tab; keeps what the browser complained about or fetched."""

    def __init__(self, page: Page, path: Path, *, shown_as: Path | None = None) -> None:
        """Open the flame graph `path`, or a page it is pasted into."""
        self.page = page
        self.path = path
        self.complaints: list[str] = []
        self.fetched: list[str] = []
        self._watching: dict[Any, Callable[[Any], None]] = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "dialog": self._refuse,
            "request": lambda request: self.fetched.append(request.url),
            "websocket": lambda socket: self.fetched.append(socket.url),
        }
        for event, note in self._watching.items():
            page.on(event, note)
        page.goto((shown_as or path).as_uri())
        self.names = [box.name for box in still_boxes(path)]

    def leave(self) -> None:
        """Stop watching the tab, because another flame graph is to open in it."""
        for event, note in self._watching.items():
            self.page.remove_listener(event, note)

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog said {dialog.message!r}")
        dialog.dismiss()

    def box(self, name: str, nth: int = 0) -> Locator:
        """Return the box of the function `name`; the heaviest first when it has several."""
        found = [index for index, one in enumerate(self.names) if one == name]
        return self.page.locator(".chart > svg").nth(found[nth])

    def span(self, box: Locator) -> tuple[float, float]:
        """Return the left and right edge of a box, in pixels of the window."""
        left, right = box.locator("rect").evaluate(EDGES)
        return left, right

    def full_span(self) -> tuple[float, float]:
        """Return the edges of a box that is as wide as the chart."""
        window = self.page.viewport_size
        assert window is not None
        # The last pixel is the gap between neighbours.
        return MARGIN, window["width"] - MARGIN - 1

    def label(self, box: Locator) -> str:
        """Return the text in a box: name, then file."""
        return box.locator("text").text_content() or ""

    def tip(self) -> list[str]:
        """Return the lines of the tooltip; none when there is no tooltip."""
        return self.page.locator(".tip > text").all_text_contents()

    def tip_is_in_the_window(self) -> bool:
        """Tell whether every edge of the tooltip can be seen."""
        inside: bool = self.page.locator(".tip > rect").evaluate(INSIDE)
        return inside

    def search(self, text: str) -> str:
        """Type `text` into the search field; return what the page then says."""
        self.page.get_by_role("searchbox").fill(text)
        return self.matched()

    def matched(self) -> str:
        """Return what the page says about the search."""
        return self.page.locator(".matched").text_content() or ""

    def found(self) -> list[str]:
        """Return the names of the highlighted boxes, sorted."""
        marks: list[bool] = self.page.locator(".chart > svg").evaluate_all(
            "boxes => boxes.map(box => box.classList.contains('found'))"
        )
        return sorted(name for name, mark in zip(self.names, marks, strict=True) if mark)

    def reset_button(self) -> Locator:
        """Return the button that shows everything again."""
        return self.page.get_by_role("button", name="Reset")


class Show(Protocol):
    """Saves a profile as a flame graph and opens it, in place of the one before."""

    def __call__(self, profile: Profile, *, theme: Theme = "light") -> FlamePage:
        """Return the open page."""
