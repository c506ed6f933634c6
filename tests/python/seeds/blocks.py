"""The code blocks of the seed documents, found and numbered as they stand.

The documents describe programs people already have. Their text is kept
unchanged in `tests/data/seeds`; only the import root is rewritten.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DOCUMENTS = Path(__file__).parents[2] / "data" / "seeds"

# The package each document calls by its own name, as it is imported here.
ROOTS = {
    "smonitor": "tachograph",
    "cookbook": "tachograph",
    "spprof": "tachograph",
    "refunc": "tachograph",
    "kitsune": "tachograph",
}


@dataclass(frozen=True)
class Block:
    """One code block: `name` is document and position, such as `002.07`."""

    name: str
    language: str
    line: int
    text: str

    @property
    def code(self) -> str:
        """The block with the import roots of this package."""
        text = self.text.replace('\\"', '"')
        for old, new in ROOTS.items():
            text = re.sub(rf"^(\s*)import {old}$", rf"\1import {new} as {old}", text, flags=re.M)
            text = re.sub(rf"^(\s*)(import|from) {old}\.", rf"\1\2 {new}.", text, flags=re.M)
        return text


@cache
def all_blocks() -> dict[str, Block]:
    """Return every block of the five documents by its name."""
    found: dict[str, Block] = {}
    for path in sorted(DOCUMENTS.glob("*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        is_markdown = any(line.lstrip().startswith("```") for line in lines)
        blocks = fenced(lines) if is_markdown else indented(lines)
        for number, (language, line, text) in enumerate(blocks, start=1):
            name = f"{path.stem}.{number:02}"
            found[name] = Block(name, language, line, text)
    return found


def fenced(lines: list[str]) -> list[tuple[str, int, str]]:
    """Return the blocks between Markdown fences: language, first line, text."""
    blocks = []
    opened: int | None = None
    for number, line in enumerate(lines):
        if not line.lstrip().startswith("```"):
            continue
        if opened is None:
            opened = number
        else:
            language = lines[opened].strip().strip("`") or "text"
            text = textwrap.dedent("\n".join(lines[opened + 1 : number]))
            blocks.append((language, opened + 2, text))
            opened = None
    return blocks


def indented(lines: list[str]) -> list[tuple[str, int, str]]:
    """Return the blocks that reStructuredText marks with `::`: language, first line, text."""
    blocks = []
    for number, line in enumerate(lines):
        directive = re.fullmatch(r"\.\. code-block:: (\w+)", line.strip())
        if directive is None and not line.rstrip().endswith("::"):
            continue
        first = next(n for n in range(number + 1, len(lines)) if lines[n].strip())
        last = first
        while last < len(lines) and (not lines[last].strip() or lines[last].startswith(" ")):
            last += 1
        text = textwrap.dedent("\n".join(lines[first:last])).rstrip()
        blocks.append((directive[1] if directive else "literal", first + 1, text))
    return blocks
