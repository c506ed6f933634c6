"""Finds every CPython this machine offers that the package supports.

The tests run one built wheel on all of them, because the sampler reads the
interpreter's own memory and every version lays it out anew. Looks in the
version manager, in the search path and at the system's own interpreter; each
program counts once, under its real path.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from newer_interpreters import built_interpreters

OLDEST = (3, 11)
NEWEST_LOOKED_FOR = 20

# What the build variables say of a shared library is not what runs: Debian
# ships one, and links its own interpreter statically. The mappings tell.
QUESTIONS = """
import json, platform, sys, sysconfig
print(json.dumps({
    "implementation": platform.python_implementation(),
    "version": list(sys.version_info[:3]),
    "release": platform.python_version(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "shared": any("/libpython3" in line for line in open("/proc/self/maps")),
    "virtual": sys.prefix != sys.base_prefix,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """One CPython installation, as it describes itself."""

    program: Path
    version: tuple[int, int, int]
    release: str
    free_threaded: bool
    shared: bool
    origin: str

    @property
    def minor(self) -> tuple[int, int]:
        """The two numbers that decide the memory layout, such as `(3, 12)`."""
        return self.version[:2]

    @property
    def short_name(self) -> str:
        """The minor version as people write it, such as `3.12` or `3.14t`."""
        return f"{self.version[0]}.{self.version[1]}{'t' if self.free_threaded else ''}"

    @property
    def name(self) -> str:
        """A name that is also a good folder name, such as `3.11.2-static`."""
        free_threaded = "t" if self.free_threaded else ""
        return f"{self.release}{free_threaded}{'' if self.shared else '-static'}"


def find_interpreters(
    *, newer: bool = False, oldest: tuple[int, int] = OLDEST
) -> list[Interpreter]:
    """Return the supported CPythons of this machine, oldest first.

    Two installations of the same release and build kind are one: testing both
    would test the same thing twice.

    Args:
        newer: Also list the ones `newer_interpreters.py` has built.
        oldest: The oldest minor version; programs are read from outside since 3.9.
    """
    found: dict[str, Interpreter] = {}
    seen: set[Path] = set()
    for origin, candidate in candidates(newer=newer):
        program = candidate.resolve()
        if program in seen:
            continue
        seen.add(program)
        interpreter = ask(program, origin, oldest)
        if interpreter is not None:
            found.setdefault(interpreter.name, interpreter)
    return sorted(found.values(), key=lambda one: (one.version, one.free_threaded, one.shared))


def candidates(*, newer: bool) -> Iterator[tuple[str, Path]]:
    """Yield programs that may be a CPython, with where they were found."""
    for root in version_manager_roots():
        for program in sorted(root.glob("versions/*/bin/python3")):
            yield "version manager", program
    for minor in range(OLDEST[1], NEWEST_LOOKED_FOR):
        for folder in search_path():
            for name in (f"python3.{minor}", f"python3.{minor}t"):
                if (folder / name).exists():
                    yield "search path", folder / name
    yield "system", Path("/usr/bin/python3")
    if newer:
        for program in built_interpreters().values():
            yield "built here", program


def version_manager_roots() -> Iterator[Path]:
    """Yield the folders where a version manager keeps its installations."""
    named = os.environ.get("PYENV_ROOT")
    if named:
        yield Path(named)
    manager = shutil.which("pyenv")
    if manager:
        answer = subprocess.run([manager, "root"], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            yield Path(answer.stdout.strip())
    yield Path.home() / ".pyenv"


def search_path() -> Iterator[Path]:
    """Yield the folders of the search path that hold programs, not shims.

    A version manager's shim is a script that starts whichever version is
    selected; the versions themselves are found in the manager.
    """
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if folder and Path(folder).name != "shims":
            yield Path(folder)


def ask(program: Path, origin: str, oldest: tuple[int, int] = OLDEST) -> Interpreter | None:
    """Return what `program` says about itself; None if we cannot use it."""
    if not os.access(program, os.X_OK):
        return None
    try:
        answer = subprocess.run(
            [program, "-I", "-c", QUESTIONS],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        facts = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    version = tuple(facts["version"])
    if facts["implementation"] != "CPython" or version[:2] < oldest or facts["virtual"]:
        return None
    return Interpreter(
        program=program,
        version=version,
        release=facts["release"],
        free_threaded=facts["free_threaded"],
        shared=facts["shared"],
        origin=origin,
    )


def missing_minors(found: list[Interpreter], wanted: list[tuple[int, int]]) -> list[str]:
    """Return the wanted minor versions that are not among `found`, as text."""
    present = {interpreter.minor for interpreter in found}
    return [f"{major}.{minor}" for major, minor in wanted if (major, minor) not in present]


def table(found: list[Interpreter]) -> str:
    """Return the interpreters as lines of text for a person."""
    lines = [f"{'version':12} {'threads':15} {'libpython':10} {'found in':16} program"]
    lines += [
        f"{one.release:12} {'free-threaded' if one.free_threaded else 'GIL':15} "
        f"{'shared' if one.shared else 'static':10} {one.origin:16} {one.program}"
        for one in found
    ]
    return "\n".join(lines)


def main() -> int:
    """Print the interpreters of this machine."""
    parser = argparse.ArgumentParser(description="List the CPythons the tests can use.")
    parser.add_argument(
        "--newer", action="store_true", help="include the ones built into the cache"
    )
    options = parser.parse_args()
    print(table(find_interpreters(newer=options.newer)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
