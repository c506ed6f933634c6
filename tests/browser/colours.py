"""Colours as the browser draws them, and how well they can be told apart.

The contrast ratio is that of the Web Content Accessibility Guidelines; small
text needs 4.5.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

Colour = tuple[float, float, float]

READABLE = 4.5

# Every visible piece of text with its own colour and the shapes behind it,
# undermost first; all as [r, g, b, alpha].
TEXTS = """() => {
  const parse = (colour, opacity) => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a * opacity];
  };
  const filled = (element) => {
    const style = getComputedStyle(element);
    return parse(style.fill, Number(style.fillOpacity));
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at.parentElement; at = at.parentElement) {
      if (getComputedStyle(at).opacity !== "1") throw new Error("an opacity is not reckoned with");
      const before = [...at.parentElement.children];
      const shapes = before.slice(0, before.indexOf(at)).filter((one) => one.localName === "rect");
      layers.unshift(...shapes.map(filled));
    }
    return layers;
  };
  const seen = (element) => element.checkVisibility() && element.textContent.trim() !== "";
  const texts = [...document.querySelectorAll("text, tspan")].filter(seen).map((element) =>
    ({ text: element.textContent, ink: filled(element), layers: behind(element) }));
  for (const element of document.querySelectorAll(".tools > *")) {
    const style = getComputedStyle(element);
    const layers = [...behind(element.closest("foreignObject")), parse(style.backgroundColor, 1)];
    texts.push({ text: element.title, ink: parse(style.color, 1), layers });
    if (element.localName !== "input") continue;
    const hint = getComputedStyle(element, "::placeholder");
    texts.push({ text: element.placeholder, ink: parse(hint.color, Number(hint.opacity)), layers });
  }
  return texts;
}"""

# The colours at some points of a picture.
POINTS = """async ([picture, points]) => {
  const image = new Image();
  image.src = "data:image/png;base64," + picture;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  const brush = canvas.getContext("2d");
  brush.drawImage(image, 0, 0);
  const { data } = brush.getImageData(0, 0, canvas.width, canvas.height);
  return points.map(([x, y]) => {
    const at = 4 * (y * canvas.width + x);
    return [data[at], data[at + 1], data[at + 2]];
  });
}"""


@dataclass(frozen=True)
class Text:
    """A piece of text on the page, and how well it can be read."""

    text: str
    contrast: float


def texts(page: Page) -> list[Text]:
    """Return every visible text of a flame graph with its contrast."""
    found = []
    for one in page.evaluate(TEXTS):
        ground: Colour = (255, 255, 255)
        for layer in one["layers"]:
            ground = over(layer, ground)
        found.append(Text(one["text"], contrast(over(one["ink"], ground), ground)))
    return found


def over(layer: list[float], ground: Colour) -> Colour:
    """Return the colour of a layer with red, green, blue and alpha on `ground`."""
    *upper, alpha = layer
    red, green, blue = (
        alpha * above + (1 - alpha) * below for above, below in zip(upper, ground, strict=True)
    )
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: Colour) -> float:
    """Return how bright a colour looks, from 0 to 1."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colours_at(browser: Browser, picture: bytes, points: list[tuple[int, int]]) -> list[Colour]:
    """Return the colours of some points of a PNG picture."""
    tab = browser.new_page()
    try:
        encoded = base64.b64encode(picture).decode()
        found = tab.evaluate(POINTS, [encoded, [list(point) for point in points]])
    finally:
        tab.close()
    return [(red, green, blue) for red, green, blue in found]
