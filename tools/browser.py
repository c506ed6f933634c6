"""Makes a browser ready and runs the tests of the flame graph in it.

The browser is Debian's chromium. Where apt-get may install it, it is installed;
elsewhere the tests fail and say how to get it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from environments import pip
from steps import ROOT, run
from suite import CLEAN

BROWSER_TESTS = ROOT / "tests" / "browser"


def install_chromium() -> None:
    """Install chromium when it is missing and this process may do so."""
    if shutil.which("chromium") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    silent = {"DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", environment=silent, quiet=True)
    install = ("apt-get", "install", "--yes", "--no-install-recommends", "chromium")
    run(*install, environment=silent, quiet=True)


def run_browser_tests(tools: Path, python: Path) -> None:
    """Run the browser tests with `python`, whose environment has the wheel under test."""
    install_chromium()
    requirements = BROWSER_TESTS / "requirements.txt"
    run(*pip(tools, python), "--only-binary", ":all:", "-r", requirements)
    run(python, "-m", "pytest", "-q", BROWSER_TESTS.relative_to(ROOT), environment=CLEAN)
