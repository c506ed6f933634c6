"""Writes the table of CPython's memory layouts that the stack reader uses.

For every interpreter given, compiles `offsets.c` against its headers, runs
`asyncio_probe.py` under it, and writes one constant per version and build kind
to the reader's source. A version that is already in the table and not given
again stays as it is, so one machine need not have them all.

    python tools/layouts/generate.py PYTHON...
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "crates" / "tachograph-probe" / "src" / "layout" / "table"

HEADER = """\
//! Where each CPython keeps what the reader follows, one file per minor version
//! and build kind.
//!
//! Written by `tools/layouts/generate.py`, which asks the compiler; do not edit.

"""

FILE_HEADER = """\
//! Written by `tools/layouts/generate.py`; do not edit.

use crate::layout::Layout;

"""

NAME = re.compile(r"const (\w+): Layout")

QUESTIONS = """
import sysconfig
print(sysconfig.get_path("include"))
print(sysconfig.get_config_var("VERSION"))
print(int(bool(sysconfig.get_config_var("Py_GIL_DISABLED"))))
"""


def ask(python: str) -> tuple[Path, str, bool]:
    """Return the headers, the minor version and the build kind of `python`."""
    answer = subprocess.run(
        [python, "-I", "-c", QUESTIONS], check=True, capture_output=True, text=True
    )
    include, version, free_threaded = answer.stdout.split("\n")[:3]
    return Path(include), version, free_threaded == "1"


def offsets(python: str, include: Path) -> dict[str, int]:
    """Return the fields of `python`'s structs and where they lie."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "offsets"
        compiler = os.environ.get("CC", sysconfig.get_config_var("CC") or "cc").split()[0]
        headers = [f"-I{include}", f"-I{include / 'internal'}"]
        command = [compiler, *headers, str(HERE / "offsets.c"), "-o", str(program)]
        subprocess.run(command, check=True)
        compiled = subprocess.run([program], check=True, capture_output=True, text=True)
    probe = [python, "-I", str(HERE / "asyncio_probe.py")]
    probed = subprocess.run(probe, check=True, capture_output=True, text=True)
    lines = (compiled.stdout + probed.stdout).splitlines()
    return {name: int(value) for name, value in (line.split() for line in lines)}


def constant(version: str, free_threaded: bool, fields: dict[str, int]) -> str:
    """Return the Rust constant of one interpreter."""
    minor = version.split(".")[1].rstrip("t")
    name = f"CPYTHON_3_{minor}" + ("T" if free_threaded else "")
    kind = "free-threaded" if free_threaded else "with the GIL"
    lines = [
        f"/// CPython 3.{minor}, {kind}.",
        f"pub(in crate::layout) const {name}: Layout = Layout {{",
        f"    minor: {minor},",
        f"    free_threaded: {str(free_threaded).lower()},",
        *(f"    {field}: {value}," for field, value in fields.items() if field != "version"),
        "};",
    ]
    return FILE_HEADER + "\n".join(lines) + "\n"


def known_constants() -> dict[str, str]:
    """Return the constants the table holds now, by name."""
    texts = [path.read_text() for path in TABLE.glob("cpython_*.rs")]
    return {match.group(1): text for text in texts if (match := NAME.search(text))}


def place(name: str) -> tuple[int, bool]:
    """Return where a constant stands among the others: by version, then by kind."""
    return int(name.split("_")[2].rstrip("T")), name.endswith("T")


def main() -> int:
    """Add the given interpreters to the table."""
    parser = argparse.ArgumentParser(description="Write the table of CPython's memory layouts.")
    parser.add_argument("python", nargs="+", help="a CPython 3.9 or newer with its headers")
    options = parser.parse_args()
    constants = known_constants()
    for python in options.python:
        include, version, free_threaded = ask(python)
        block = constant(version, free_threaded, offsets(python, include))
        match = NAME.search(block)
        assert match is not None
        constants[match.group(1)] = block
    ordered = sorted(constants, key=place)
    modules = [f"mod {name.lower()};\n" for name in sorted(name.lower() for name in ordered)]
    names = ["".join(f"pub(super) use {name.lower()}::{name};\n" for name in ordered)]
    (TABLE / "mod.rs").write_text(HEADER + "".join(modules) + "\n" + "".join(names))
    for name, text in constants.items():
        (TABLE / f"{name.lower()}.rs").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
