"""Makes the virtual environments that builds, checks and tests run in.

They live in `.venvs/`. Only the one with the tools has pip; it installs into
the others, so an interpreter without `ensurepip`, such as a Debian one without
`python3-venv`, serves as well. An environment that already holds what is asked
for is left as it is.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from interpreters import Interpreter
from steps import ROOT, StepFailed, run

ENVIRONMENTS = ROOT / ".venvs"
TOOL_REQUIREMENTS = ROOT / "tools" / "requirements.txt"
TEST_REQUIREMENTS = ROOT / "tests" / "requirements.txt"


def tool_environment(interpreter: Interpreter) -> Path:
    """Return the Python that has pip, maturin, ruff and mypy."""
    folder = ENVIRONMENTS / "tools"
    python = folder / "bin" / "python"
    content = contents(interpreter, TOOL_REQUIREMENTS)
    if is_filled_with(folder, content):
        return python
    shutil.rmtree(folder, ignore_errors=True)
    run(interpreter.program, "-m", "venv", folder, quiet=True)
    install = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*install, "--upgrade", "-r", TOOL_REQUIREMENTS)
    note_filled_with(folder, content)
    return python


def test_environment(interpreter: Interpreter, tools: Path, wheel: Path) -> Path:
    """Return a Python of `interpreter` with the test requirements and `wheel`."""
    folder = ENVIRONMENTS / interpreter.name
    python = folder / "bin" / "python"
    content = contents(interpreter, TEST_REQUIREMENTS)
    if not is_filled_with(folder, content):
        shutil.rmtree(folder, ignore_errors=True)
        run(interpreter.program, "-m", "venv", "--without-pip", folder, quiet=True)
        install_tests(tools, python)
        note_filled_with(folder, content)
    install_wheel(python, tools, wheel)
    return python


def install_wheel(python: Path, tools: Path, wheel: Path) -> None:
    """Put `wheel` into the environment of `python`, unless it is the one there."""
    mark = python.parent.parent / ".wheel"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == digest:
        return
    mark.unlink(missing_ok=True)
    run(*pip(tools, python), "--force-reinstall", "--no-deps", "--no-index", wheel)
    mark.write_text(digest)


def install_tests(tools: Path, python: Path) -> None:
    """Install the test requirements, from wheels only.

    A requirement without a wheel for this interpreter would be compiled for
    many minutes; it is left out, and the tests that need it skip themselves.
    """
    wanted = requirements(TEST_REQUIREMENTS)
    if pip_error(tools, python, *wanted) is None:
        return
    for requirement in wanted:
        error = pip_error(tools, python, requirement)
        if error is None:
            continue
        if "No matching distribution" not in error or requirement.startswith("pytest"):
            raise StepFailed(f"cannot install {requirement} for {python}:\n{error}")
        print(f"no wheel of {requirement} for {python}: tests that need it are skipped", flush=True)


def pip_error(tools: Path, python: Path, *wanted: str) -> str | None:
    """Install from wheels; return what pip said if it could not."""
    command = [*pip(tools, python), "--only-binary", ":all:", *wanted]
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    return None if result.returncode == 0 else result.stderr


def pip(tools: Path, python: Path) -> list[str | Path]:
    """Return the start of a command that installs into the environment of `python`."""
    options = ["install", "-q", "--disable-pip-version-check"]
    return [tools, "-m", "pip", "--python", python, *options]


def requirements(path: Path) -> list[str]:
    """Return the requirements a file lists, without its comments."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def contents(interpreter: Interpreter, requirement_file: Path) -> str:
    """Return a text that changes when an environment has to be made anew."""
    return f"{interpreter.program} {interpreter.release}\n{requirement_file.read_text()}"


def is_filled_with(folder: Path, content: str) -> bool:
    """Tell whether the environment was completed with just this content."""
    mark = folder / ".content"
    return mark.exists() and mark.read_text() == content


def note_filled_with(folder: Path, content: str) -> None:
    """Mark the environment as complete."""
    (folder / ".content").write_text(content)
